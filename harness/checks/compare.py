"""What every check shares: read the fixture, ask the engine, say OK (exit 0) or show the first difference (exit 1).

Exit 2: the engine could not be asked. Needs nothing but Python.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent


def read_lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


DOCUMENTS = read_lines("documents.jsonl")
QUERIES = read_lines("queries.jsonl")
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def ranked(query_id: str, side: str) -> list[dict]:
    """The documents of one side's list ("keyword" or "semantic") for this query, best first."""
    held = [document for document in DOCUMENTS if document["query_id"] == query_id and document[side] is not None]
    return sorted(held, key=lambda document: (-document[side], document["id"]))


def stop(why: str) -> None:
    """End with 2: the engine was not asked."""
    print(why, file=sys.stderr)
    sys.exit(2)


def send(
    method: str, url: str, body: dict | list | str | None = None, headers: dict | None = None, missing_ok: bool = False
) -> dict:
    """One HTTP request with a JSON body (or text, for bulk); the answer as JSON."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
    kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
    request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": kind, **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        if missing_ok and error.code == 404:
            return {}
        stop(f"{method} {url}: {error.code}: {error.read().decode()[:500]}")
    except urllib.error.URLError as error:
        stop(f"{method} {url}: {error.reason}")
    return json.loads(text) if text.strip().startswith(("{", "[")) else {}


def difference(expected: list[dict], got: list[tuple[str, float | None]]) -> str | None:
    """The first difference, None where the order is the expected one; documents of equal expected score may swap."""
    if len(got) < len(expected):
        return f"{len(expected)} documents expected, {len(got)} came back"
    seen = set()
    for place, (wanted, (found, score)) in enumerate(zip(expected, got, strict=False), 1):
        tolerance = EXPECTED["tolerance"] * max(1e-9, abs(expected[0]["score"]))
        alike = [e["id"] for e in expected if abs(e["score"] - wanted["score"]) <= tolerance]
        if found in seen:
            return f"place {place}: {found} comes back a second time"
        seen.add(found)
        if found not in alike:
            at = next((i for i, e in enumerate(expected, 1) if e["id"] == found), None)
            where = f"expected at place {at}" if at else "not expected at all"
            return f"place {place}: expected {wanted['id']} ({wanted['score']:.7f}), got {found} ({score}), {where}"
        if score is not None and abs(score - wanted["score"]) > 100 * tolerance:
            return f"place {place}: {found} has the expected place, but score {score}, expected {wanted['score']:.7f}"
    return None


def check(ask) -> int:
    """Ask for every query's fused list (ids and scores, best first) and compare; 0 where all are as expected, else 1."""
    failed = 0
    for query in QUERIES:
        expected = EXPECTED["queries"][query["id"]]
        found = difference(expected, ask(query, len(expected)))
        if found is not None:
            failed += 1
            print(f"DIFFERENT {query['id']} ({query['case']}): {found}")
            break
    if not failed:
        print(f"OK: {EXPECTED['title']} orders {len(QUERIES)} queries as the harness does ({EXPECTED['fusion']})")
    return 1 if failed else 0
