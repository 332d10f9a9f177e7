"""A search engine's query as a person writes it into the config: its placeholders, and what may not stand in it. Pure.

`:prompt`, `:vector` and `:depth` stand for values that the server binds as parameters; they are never pasted into the text.
What stands in a quoted string, a quoted name, a comment or a `$$` body is text, and `::` is a cast. The rules of quoting are
PostgreSQL's (its manual, "Lexical Structure"), with standard_conforming_strings on.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass

CLIENT_OF = {"postgresql": "postgresql", "postgres": "postgresql", "": "postgresql"}  # scheme of a connection → its client
TYPES = {"prompt": "text", "vector": "vector", "depth": "integer"}  # each placeholder with its type, so that nothing is guessed
SECRETS = ("password", "sslpassword", "oauth_client_secret")  # libpq's names
SECRETS_ELSEWHERE = (
    "the config is kept in the study's folder; put it into ~/.pgpass, a file that PGPASSFILE names, or a service file"
    " (service=NAME), and change it if this file was shared"
)
STORAGES = ("postgresql+psycopg", "grpc")  # schemes of what several workers may share
PROXY = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
SETTING = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)", re.DOTALL)  # of libpq's `name=value` form
TOKEN = re.compile(
    r"""
      (?P<text>   (?<![\w$]) [eE]' (?: [^'\\] | \\. | '' )* '  |  ' (?: [^'] | '' )* '  |  " (?: [^"] | "" )* " )
    | (?P<dollar> (?<![\w$]) \$ (?P<tag> (?: [^\W\d] \w* )? ) \$ .*? \$ (?P=tag) \$ )
    | (?P<open>   (?<![\w$]) [eE]' | ' | " | (?<![\w$]) \$ (?: [^\W\d] \w* )? \$ )
    | (?P<line>   -- [^\n]* )
    | (?P<block>  /\* )
    | (?P<number> (?<![\w$]) \$ \d+ )
    | (?P<cast>   :: )
    | (?P<name>   : (?P<key> [^\W\d] \w* ) )
    | (?P<end>    ; )
    """,
    re.DOTALL | re.VERBOSE,
)
COMMENT_MARK = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Statement:
    """A statement in psycopg's notation (`%(prompt)s`, each `%` of its own doubled), and the placeholders that it names."""

    sql: str
    names: frozenset[str]


def read_statement(text: str) -> Statement:
    """The statement with its placeholders marked, each cast to its type; ValueError says what does not hold."""
    parts: list[str] = []
    names: set[str] = set()
    at, ended = 0, -1  # ended: where the statement's semicolon is
    if "\0" in text:
        raise ValueError("must be SQL, got a NUL character in it")
    while (token := TOKEN.search(text, at)) is not None:
        between, kind = text[at : token.start()], token.lastgroup
        at = _end_of(text, token)
        if ended >= 0 and (between.strip() or kind not in ("line", "block")):
            raise _more(text, ended)
        parts.append(_escape(between))
        if kind == "end":
            ended = at
        elif kind == "name":
            parts.append(_placeholder(token["key"]))
            names.add(token["key"])
        elif kind == "number":
            raise ValueError(f"must name its parameters ({_known()}), got {token[0]}")
        else:
            parts.append(_escape(text[token.start() : at]))
    if ended >= 0 and text[at:].strip():
        raise _more(text, ended)
    _check_names(names)
    return Statement("".join(parts) + _escape(text[at:]), frozenset(names))


def _more(text: str, ended: int) -> ValueError:
    return ValueError(f"must be one statement, got more behind a semicolon: {_excerpt(text[ended:])}")


def _end_of(text: str, token: re.Match[str]) -> int:
    """Where this token ends; a block comment is followed into the comments in it."""
    if token["open"] is not None:
        raise ValueError(f"must close what it opens, got no end of {_excerpt(text[token.start() :])}")
    if token["block"] is None:
        return token.end()
    depth, at = 1, token.end()
    while depth:
        mark = COMMENT_MARK.search(text, at)
        if mark is None:
            raise ValueError(f"must close what it opens, got no end of {_excerpt(text[token.start() :])}")
        depth, at = depth + (1 if mark[0] == "/*" else -1), mark.end()
    return at


def _placeholder(key: str) -> str:
    if key not in TYPES:
        raise ValueError(f"must have no placeholder but {_known()}, got :{key} (in a slice put a space behind the colon)")
    return f"(%({key})s::{TYPES[key]})"


def _check_names(names: set[str]) -> None:
    if not names & {"prompt", "vector"}:
        raise ValueError("must name :prompt or :vector, or every prompt gets the same list; got neither")
    if "depth" not in names:
        raise ValueError("must name :depth, how many documents are wanted, as in LIMIT :depth; got nothing")


def _escape(text: str) -> str:
    return text.replace("%", "%%")


def _known() -> str:
    return ", ".join(f":{name}" for name in TYPES)


def _excerpt(text: str) -> str:
    return repr(" ".join(text.split())[:40])


def client_of(connection: str) -> str | None:
    """The client for this connection string, by its scheme; None where there is none."""
    scheme, separator, _ = connection.partition("://")
    return CLIENT_OF.get(scheme.strip().lower() if separator else "")


def check_connection(connection: str) -> str:
    """The connection string; ValueError where no client takes it, or where it holds a secret, which is not repeated."""
    if client_of(connection) is None:
        scheme = connection.partition("://")[0]
        raise ValueError(f"must be a connection string of PostgreSQL (postgresql://host/database), got the scheme {scheme!r:.40}")
    found = _secrets_of(connection)
    if found:
        raise ValueError(f"must not hold a secret, got one ({', '.join(found)}): {SECRETS_ELSEWHERE}")
    return connection


def check_storage(text: str) -> str:
    """Where the workers of a study share its trials; ValueError where no storage takes it, or where it holds a secret.

    PostgreSQL as SQLAlchemy writes it, or Optuna's gRPC proxy.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in STORAGES:
        raise ValueError(
            f"must be postgresql+psycopg://USER@HOST/DATABASE or grpc://HOST:PORT, got {'the scheme ' + repr(scheme)[:40]}"
            if separator
            else "must be postgresql+psycopg://USER@HOST/DATABASE or grpc://HOST:PORT, got no scheme"
        )
    if scheme == "grpc" and not PROXY.fullmatch(rest):
        raise ValueError("must name the proxy as grpc://HOST:PORT, and nothing else")
    found = _secrets_of(text)
    if found:
        raise ValueError(f"must not hold a secret, got one ({', '.join(found)}): {SECRETS_ELSEWHERE}")
    return text


def proxy_of(storage: str) -> tuple[str, int] | None:
    """Host and port of a storage behind Optuna's gRPC proxy; None for a database."""
    found = PROXY.fullmatch(storage.removeprefix("grpc://")) if storage.startswith("grpc://") else None
    return (found["host"], int(found["port"])) if found is not None else None


def _secrets_of(connection: str) -> list[str]:
    """The names of the secrets in a connection string; an empty one is none."""
    if "://" not in connection:
        return [name for name, value in SETTING.findall(connection) if name.lower() in SECRETS and value.strip("'")]
    user, _, _ = connection.partition("://")[2].partition("?")[0].rpartition("@")
    query = urllib.parse.parse_qsl(connection.partition("?")[2])
    return [*(["password"] if user.partition(":")[2] else []), *(name for name, _ in query if name.lower() in SECRETS)]
