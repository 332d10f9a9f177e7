"""Search engines that answer while a study is made: one client a kind, by the scheme of the connection. Home of psycopg.

A client asks for every list in one go and never changes anything. PostgreSQL is asked in one read-only transaction that sees
one moment of the database (REPEATABLE READ), and every value is bound by the server. Nothing is prepared by name and no setting
of the session is touched, so that a pooler in front of it does no harm and the plans are those of a single query.
"""

from __future__ import annotations

import decimal
import itertools
import math
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import HarnessError, Problems, SurroundingsError
from harness.progress import Progress
from harness.statements import client_of, read_statement
from harness.types import Listed, Query, Vectors

APPLICATION = "hybrid-search-harness"
DEFAULTS = {  # of the connection, where the string says nothing: a server that is gone is noticed within a minute
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "fallback_application_name": APPLICATION,
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
}
SHOWN = 3  # rows of one prompt in a message
LARGEST = 1e100  # a score beyond is none, as in a run


@dataclass(frozen=True)
class Questions:
    """What a server is asked: a statement a side, each for every prompt. `vectors` are (n_prompts, dimension), or None."""

    connection: str
    timeout: float
    statements: dict[str, str]
    prompts: Sequence[Query]
    vectors: Vectors | None
    depth: int


@dataclass(frozen=True)
class Answers:
    """The server's name and versions, and for each side the prompts' lists, best first, with the seconds that each took."""

    server: dict[str, str]
    lists: dict[str, list[Listed]]
    seconds: dict[str, list[float]]


def ask(questions: Questions, progress: Progress) -> Answers:
    """Every list of every prompt, by the client of the connection's scheme.

    HarnessError for what the user can mend in a statement, with the prompt and the server's words; SurroundingsError where the
    server is not there, goes away or takes too long.
    """
    return CLIENTS[client_of(questions.connection) or ""](questions, progress)


def ask_postgresql(questions: Questions, progress: Progress) -> Answers:
    """The lists from PostgreSQL, all of one moment; the transaction is rolled back whatever happens."""
    psycopg = _psycopg()
    with _connect(psycopg, questions.connection) as connection:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.prepare_threshold = None
        asker = Asker(psycopg, connection, questions)
        try:
            server = asker.versions()
            answered = {side: asker.ask_side(side, progress) for side in questions.statements}
        finally:
            if not connection.closed:
                connection.rollback()
    return Answers(
        server,
        {side: [listed for listed, _ in found] for side, found in answered.items()},
        {side: [seconds for _, seconds in found] for side, found in answered.items()},
    )


CLIENTS: dict[str, Callable[[Questions, Progress], Answers]] = {"postgresql": ask_postgresql}


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        reason = str(error).splitlines()[0]
        raise HarnessError(
            f"live.connection: PostgreSQL needs psycopg, got: {reason}; install the extra: pip install"
            " 'hybrid-search-harness[postgresql]'"
        ) from None
    return psycopg


def _connect(psycopg: Any, text: str) -> Any:
    try:
        settings = {**DEFAULTS, **psycopg.conninfo.conninfo_to_dict(text)}
    except psycopg.ProgrammingError as error:
        raise HarnessError(f"live.connection: must be a connection string of libpq, got: {_said(error)}") from None
    try:
        return psycopg.connect(**settings)
    except psycopg.Error as error:
        raise SurroundingsError(
            f"live.connection: the server must let us in, got: {_said(error)}; see that it runs and that the name of the host,"
            " the database and the user are right; a password comes from ~/.pgpass, PGPASSFILE or a service file"
        ) from None


def _said(error: Exception) -> str:
    """The server's words, or libpq's, on one line."""
    diagnosis = getattr(error, "diag", None)
    primary = getattr(diagnosis, "message_primary", None)
    if primary is None:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " ".join(lines)[:300] or type(error).__name__
    hint = getattr(diagnosis, "message_hint", None)
    return f"{primary} (hint: {hint})" if hint else str(primary)


@dataclass(frozen=True)
class Asker:
    """An open connection to PostgreSQL, and what to ask it."""

    psycopg: Any
    connection: Any
    questions: Questions

    def versions(self) -> dict[str, str]:
        """The versions of the server and of pgvector; the transaction begins here, and with it the moment that is seen."""
        milliseconds = max(1, math.ceil(self.questions.timeout * 1000))
        try:
            self.connection.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
            found = self.connection.execute("SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'").fetchone()
        except self.psycopg.Error as error:
            raise SurroundingsError(f"live.connection: the server must answer, got: {_said(error)}") from None
        number = str(self.connection.info.parameter_status("server_version")).split()[0]
        return {"server": f"PostgreSQL {number}", **({"pgvector": str(found[0])} if found else {})}

    def ask_side(self, side: str, progress: Progress) -> list[tuple[Listed, float]]:
        """Each prompt's list from one side's statement, with the seconds that it took."""
        questions, found = self.questions, []
        statement = read_statement(questions.statements[side])
        with progress(f"asking for the {side} lists", len(questions.prompts)) as advance:
            for number, prompt in enumerate(questions.prompts):
                values = {"prompt": prompt.text, "vector": self.literal(number), "depth": questions.depth}
                where = f"live.{side}: prompt {prompt.query_id!r}" if prompt.query_id else f"live.{side}"
                started = time.perf_counter()
                columns, rows = self.execute(statement.sql, {name: values[name] for name in statement.names}, where)
                seconds = time.perf_counter() - started
                found.append((check_list(columns, rows, where, questions.depth), seconds))
                advance(1)
        return found

    def literal(self, number: int) -> str | None:
        """A prompt's vector as pgvector writes one; the digits are those that give the same 32 bits again."""
        if self.questions.vectors is None:
            return None
        return f"[{','.join(map(str, self.questions.vectors[number]))}]"

    def execute(self, sql: str, values: dict[str, Any], where: str) -> tuple[list[str], list[Sequence[Any]]]:
        """The names of the columns, and the rows."""
        errors = self.psycopg.errors
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, values)
                if cursor.description is None:
                    raise HarnessError(f"{where}: must select an id and a score, got {cursor.statusmessage}")
                return [column.name for column in cursor.description], cursor.fetchall()
        except errors.QueryCanceled as error:
            raise SurroundingsError(
                f"{where}: the server must answer within live.timeout, {self.questions.timeout:g} seconds, got: {_said(error)};"
                " see whether an index serves the statement (EXPLAIN), or give it more time"
            ) from None
        except errors.ReadOnlySqlTransaction as error:
            raise HarnessError(f"{where}: must only read, since nothing is ever written here, got: {_said(error)}") from None
        except (errors.OperationalError, errors.InterfaceError) as error:
            raise SurroundingsError(
                f"{where}: the server must answer, got: {_said(error)}; see that it runs, and start again: every list is asked"
                " for anew"
            ) from None
        except self.psycopg.Error as error:
            raise HarnessError(f"{where}: must be a statement that the server takes, got: {_said(error)}") from None


def check_list(columns: Sequence[str], rows: Sequence[Sequence[Any]], where: str, depth: int) -> Listed:
    """Ids and scores of one prompt's rows, by score, descending, equal scores by id; HarnessError lists all that does not hold.

    The rows must come with falling scores: where they rise they are distances, or the order is another one than the scores'.
    """
    if len(columns) != 2:
        raise HarnessError(f"{where}: must give two columns, id and score, got {len(columns)}: {', '.join(columns)[:120]}")
    if len(rows) > depth:
        raise HarnessError(f"{where}: must give at most :depth rows, {depth}, got {len(rows)}; end it with LIMIT :depth")
    problems, listed = Problems(), []
    for number, (doc_id, score) in enumerate(rows, 1):
        try:
            listed.append((_id(doc_id), _score(score)))
        except ValueError as error:
            if len(problems.lines) < SHOWN:
                problems.add(f"{where}, row {number}", str(error))
    problems.raise_any()
    _check_once([doc_id for doc_id, _ in listed], where, problems)
    _check_falling(listed, where, problems)
    problems.raise_any()
    return tuple(sorted(listed, key=lambda pair: (-pair[1], pair[0])))


def _id(value: Any) -> str:
    """A document's id as text; ValueError for what has no one way to be written."""
    if isinstance(value, bool) or not isinstance(value, (str, int, uuid.UUID)):
        shown = "NULL" if value is None else f"{type(value).__name__} {str(value)!r:.40}"
        raise ValueError(f"the id must be text, a whole number or a uuid, got {shown}" + ("" if value is None else "; cast it"))
    text = str(value)
    if not text.strip():
        raise ValueError(f"the id must not be empty, got {text!r}")
    return text


def _score(value: Any) -> float:
    """A finite score; ValueError for anything else."""
    number = isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"the score must be a finite number, got {'NULL' if value is None else repr(str(value))[:40]}")
    return float(value) + 0.0  # no -0.0


def _check_once(ids: Sequence[str], where: str, problems: Problems) -> None:
    twice = sorted(doc_id for doc_id, group in itertools.groupby(sorted(ids)) if len(list(group)) > 1)
    if twice:
        shown = ", ".join(map(repr, twice[:SHOWN])) + (f" and {len(twice) - SHOWN} more" if len(twice) > SHOWN else "")
        problems.add(
            where, f"a document must stand once, got {shown} more than once; take each document's best row (DISTINCT ON, max)"
        )


def _check_falling(listed: Listed | list[tuple[str, float]], where: str, problems: Problems) -> None:
    for number, ((_, better), (_, worse)) in enumerate(itertools.pairwise(listed), 1):
        if worse > better:
            problems.add(
                where,
                f"scores must fall from row to row, got {better!r} and then {worse!r} in row {number + 1}; where less is better,"
                " as with distances, negate them, and order by the score",
            )
            return
