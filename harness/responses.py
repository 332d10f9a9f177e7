"""Search responses of OpenSearch and Elasticsearch as ranked lists. Everything is checked, and nothing partial is taken.

A file holds JSON lines, one search a line, or one JSON array of them. A search is a response with the prompt's id beside
`hits`; an object that holds the id and the response under `response`; or an `_msearch` answer, whose `responses` are searches.
The id is the first of ID_KEYS that is there. A file that names no prompts takes them in the order of a prompts file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import Problems, plain_line
from harness.files import DECODER, HALF_PAIR, Digits, read_lines, read_text

ID_KEYS = ("query_id", "_id", "qid", "id")
LARGEST_SCORE = 1e38  # single precision holds it with room for the steps that part equal scores
BLANK = re.compile(r"[ \t\n\r]*")
NEWLINE = "\n"
SHOWN = 5  # names in a message

# What a hybrid query of OpenSearch puts between its lists where no search pipeline joins them (neural-search,
# HybridSearchResultFormatUtil), as single precision writes them.
MARKS = {-9.549512e9, -4.4224404e9}


@dataclass(frozen=True)
class Search:
    """One search of a file: where it stands, the prompt's id where it names one, and the engine's answer.

    The answer is None where something was found to be wrong with it.
    """

    where: str
    query_id: str | None
    answer: Mapping[str, Any] | None


@dataclass(frozen=True)
class Hits:
    """What one search returned, best first: documents and scores as the engine gave them.

    `says_complete` is False where the answer lacks `timed_out` or `_shards`, so that a part of it may be missing.
    """

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]
    says_complete: bool


def read_responses(path: Path, *, prompts: Sequence[str] | None = None, field: str | None = None) -> list[Hits]:
    """The searches of a file in its order, one a prompt; HarnessError lists every problem with its line.

    `prompts` are the ids of a prompts file: those of the searches in their order where the file names none, else all that it
    may name. A document is named by `_id`, or by the value of `field`.
    """
    problems = Problems()
    searches = list_searches(path, problems)
    named = name_prompts(path, searches, prompts, problems)
    read = []
    for search, query_id in zip(searches, named, strict=True):
        if search.answer is not None:
            read.append(read_hits(search.where, query_id, search.answer, field, problems))
    problems.raise_any()
    return read


# The shapes of a file


def list_searches(path: Path, problems: Problems) -> list[Search]:
    """Every search of the file; what is none goes into `problems`."""
    values = list(read_values(path, problems))
    if not values and not problems.lines:
        problems.add(str(path), "must hold at least one search, got none")
    found: list[Search] = []
    for where, value in values:
        found += searches_of(where, value, problems)
    return found


def read_values(path: Path, problems: Problems) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines, the elements of one array, or one value alone, each with the place where it begins."""
    text = read_text(path)
    start = skip(text, 0)
    try:
        whole = DECODER.decode(text.strip(" \t\n\r"))
    except (ValueError, RecursionError) as error:
        yield from read_json_lines(path, str(error), problems)
        return
    if isinstance(whole, list):
        yield from ((f"{path}:{line}", value) for line, value in elements(text, start))
    elif isinstance(whole, dict) and isinstance(whole.get("responses"), list):
        inner = elements(text, find_member(text, "responses"))
        yield from ((f"{path}:{line}: responses[{i}]", value) for i, (line, value) in enumerate(inner))
    else:
        yield f"{path}:{1 + text.count(NEWLINE, 0, start)}", whole


def read_json_lines(path: Path, said: str, problems: Problems) -> Iterator[tuple[str, Any]]:
    """One value a line; where not a single line is one, `said` tells what is wrong with the file as a whole."""
    broken: list[tuple[str, str]] = []
    lines = read_lines(path)
    for number, line in lines:
        try:
            yield f"{path}:{number}", DECODER.decode(line.strip())
        except (ValueError, RecursionError) as error:
            broken.append((f"{path}:{number}", f"must be one search as a JSON object, got: {error}"))
    if len(broken) == len(lines) > 1:
        broken = [(str(path), f"must be JSON lines, one search a line, or one JSON array, got: {said}; `jq -c .` makes lines")]
    for where, what in broken:
        problems.add(where, what)


def skip(text: str, at: int) -> int:
    """The place of the next character from `at` that is not blank."""
    found = BLANK.match(text, at)
    assert found is not None
    return found.end()


def elements(text: str, start: int) -> Iterator[tuple[int, Any]]:
    """The elements of the array that begins at `start`, each with its line; the text is known to be JSON."""
    line, seen, at = 1, 0, skip(text, start + 1)
    while text[at] != "]":
        line, seen = line + text.count("\n", seen, at), at
        value, at = DECODER.raw_decode(text, at)
        yield line, value
        at = skip(text, at)
        at = skip(text, at + 1) if text[at] == "," else at


def find_member(text: str, name: str) -> int:
    """Where the value of this key of the object begins; the text is known to be JSON, and the object to have the key."""
    at = skip(text, skip(text, 0) + 1)
    while True:
        key, at = DECODER.raw_decode(text, at)
        at = skip(text, skip(text, at) + 1)  # behind the colon
        if key == name:
            return at
        _, at = DECODER.raw_decode(text, at)
        at = skip(text, skip(text, at) + 1)  # behind the comma


def searches_of(where: str, value: Any, problems: Problems) -> list[Search]:
    """The searches that a value holds: its `responses`, or itself."""
    if isinstance(value, dict) and "responses" in value:
        if not isinstance(value["responses"], list):
            problems.add(where, f"responses must be a list, got {shown(value['responses'])}")
            return []
        return [search_of(f"{where}: responses[{i}]", entry, problems) for i, entry in enumerate(value["responses"])]
    return [search_of(where, value, problems)]


def search_of(where: str, record: Any, problems: Problems) -> Search:
    """One search; what speaks against it goes into `problems`."""
    answer = record.get("response", record) if isinstance(record, dict) else None
    if not isinstance(answer, dict):
        problems.add(where, f"must be one search as a JSON object, got {shown(record if answer is None else answer)}")
        return Search(where, None, None)
    said = [what for part in ([record] if answer is record else [record, answer]) for what in say_missing(part)]
    key = next((key for key in ID_KEYS if key in record and not (key == "id" and "start_time_in_millis" in record)), None)
    if key is not None and not is_id(record[key]):
        said.append(f"{key} must be text or a number, not blank, got {shown(record[key])}")
    for what in said:
        problems.add(where, what)
    return Search(where, str(record[key]) if key is not None else None, None if said else answer)


def say_missing(answer: Mapping[str, Any]) -> list[str]:
    """Why this answer, or what is wrapped around it, is an error or only a part of an answer."""
    if answer.get("error") is not None:
        return [f"must be a search that went well, got the error {describe_error(answer['error'])}; repeat it"]
    said = []
    status = answer.get("status")
    if isinstance(status, Digits) and not status.startswith("2"):
        said.append(f"must be a search that went well, got status {status}; repeat it")
    for flag, advice in FLAGS.items():
        if answer.get(flag) is True:
            said.append(f"must be complete, got {flag}: true; {advice}")
    lacking = count_failed(answer.get("_shards"))
    if lacking:
        said.append(f"must be complete, got {lacking}; repeat the search when all shards answer")
    clusters = answer.get("_clusters")
    kinds = [kind for kind in LACKING if isinstance(clusters, dict) and above_0(clusters, kind)]
    if kinds:
        said.append(f"must be complete, got clusters that are {' and '.join(kinds)}; repeat it when all clusters answer")
    return said


FLAGS = {
    "timed_out": "repeat the search with a longer timeout",
    "terminated_early": "repeat the search without terminate_after",
    "is_partial": "fetch the asynchronous search when it is over",
    "is_running": "fetch the asynchronous search when it is over",
}
LACKING = ("skipped", "partial", "failed", "running")  # kinds of clusters, counted in a search across clusters


def describe_error(error: Any) -> str:
    """An engine's error in a line: its type and reason where it has them."""
    if isinstance(error, dict) and ("type" in error or "reason" in error):
        return plain_line(f"{error.get('type', 'error')}: {error.get('reason', 'no reason given')}")
    return shown(error)


def count_failed(shards: Any) -> str:
    """What is missing by `_shards`; an empty text where nothing is."""
    if not isinstance(shards, dict):
        return ""
    total, successful = (number_of(shards.get(name)) for name in ("total", "successful"))
    missing = total - successful if total is not None and successful is not None else 0.0
    if not (missing > 0 or above_0(shards, "failed") or shards.get("failures")):
        return ""
    failures = shards.get("failures")
    reason = failures[0].get("reason") if isinstance(failures, list) and failures and isinstance(failures[0], dict) else None
    why = f" ({describe_error(reason)})" if reason else ""
    return f"{max(missing, number_of(shards.get('failed')) or 0.0):g} of {shards.get('total', 'its')} shards failed{why}"


def above_0(counts: Mapping[str, Any], name: str) -> bool:
    return (number_of(counts.get(name)) or 0.0) > 0


# Prompts


def name_prompts(path: Path, searches: Sequence[Search], prompts: Sequence[str] | None, problems: Problems) -> list[str]:
    """The prompt of each search: the one that it names, or that of its place; what does not hold goes into `problems`."""
    whole = [search for search in searches if search.answer is not None]
    if any(search.query_id is not None for search in searches) or not whole:
        check_names(searches, prompts, problems)
        return [search.query_id or "" for search in searches]
    if prompts is None:
        problems.add(
            whole[0].where,
            f"a search must name its prompt by {', '.join(ID_KEYS[:-1])} or {ID_KEYS[-1]} beside the response, got none in this"
            " file; add it, or give the prompts in the order of the searches with --queries",
        )
    elif len(prompts) != len(searches):
        problems.add(
            str(path),
            f"must have one search for each prompt, in the order of --queries, got {len(searches)} searches for"
            f" {len(prompts)} prompts",
        )
    else:
        return list(prompts)
    return [""] * len(searches)


def check_names(searches: Sequence[Search], prompts: Sequence[str] | None, problems: Problems) -> None:
    """Note the searches without a name among named ones, those of unknown prompts, and prompts that stand twice."""
    known = None if prompts is None else set(prompts)
    first: dict[str, str] = {}
    for search in searches:
        name = search.query_id
        if name is None:
            if search.answer is not None:
                problems.add(search.where, "must name its prompt as other searches of this file do, got none")
            continue
        if name in first:
            problems.add(search.where, f"a prompt must be searched once, {name!r} is at {first[name]} already")
        elif known is not None and name not in known:
            problems.add(search.where, f"the prompt must be in --queries, got {name!r}")
        first.setdefault(name, search.where)


# Hits


def read_hits(where: str, query_id: str, answer: Mapping[str, Any], field: str | None, problems: Problems) -> Hits:
    """The documents and scores of one answer; what does not hold goes into `problems`."""
    hits = find_hits(where, answer, problems)
    ids, scores = [document_of(hit, field) for hit in hits], [score_of(hit) for hit in hits]
    for what in say_wrong(hits, ids, scores, field):
        problems.add(where, what)
    complete = "timed_out" in answer and "_shards" in answer
    return Hits(query_id, tuple(map(str, ids)), tuple(score for score in scores if score is not None), complete)


def find_hits(where: str, answer: Mapping[str, Any], problems: Problems) -> list[Mapping[str, Any]]:
    """The hits of an answer. A list that `filter_path` has dropped because it was empty is known by a total of 0."""
    outer = answer.get("hits")
    hits = outer.get("hits") if isinstance(outer, dict) else None
    if isinstance(hits, list) and all(isinstance(hit, dict) for hit in hits):
        return hits
    if isinstance(outer, dict) and hits is None and number_of(total_of(outer)) == 0:
        return []
    got = f"the keys {plain_line(some(list(answer)))}" if outer is None else shown(outer)
    problems.add(where, f"must have hits.hits, a list of objects, got {got}; ask without filter_path, or keep it and hits.total")
    return []


def total_of(outer: Mapping[str, Any]) -> Any:
    total = outer.get("total")
    return total.get("value") if isinstance(total, dict) else total


def document_of(hit: Mapping[str, Any], field: str | None) -> str | None:
    """The hit's document: its `_id`, or the value of `field` in `_source`, else the one in `fields`; None where it has none."""
    if field is None:
        value = hit.get("_id")
    else:
        value = look_up(hit.get("_source"), field)
        listed = hit["fields"].get(field) if isinstance(hit.get("fields"), dict) else None
        if value is None and isinstance(listed, list) and len(listed) == 1:
            value = listed[0]
    return str(value) if is_id(value) else None


def look_up(source: Any, field: str) -> Any:
    """The value of a field in `_source`, under its full name or step by step along the dots; None where there is none."""
    if not isinstance(source, dict) or field in source:
        return source[field] if isinstance(source, dict) else None
    first, dot, rest = field.partition(".")
    return look_up(source.get(first), rest) if dot else None


def score_of(hit: Mapping[str, Any]) -> float | None:
    """The hit's score; None where it is no number that single precision can hold."""
    score = number_of(hit.get("_score"))
    return score if score is not None and abs(score) <= LARGEST_SCORE else None


def say_wrong(
    hits: Sequence[Mapping[str, Any]], ids: Sequence[str | None], scores: Sequence[float | None], field: str | None
) -> Iterator[str]:
    """What is wrong with a list: the first case of each kind, and how many more there are."""
    if any(score in MARKS for score in scores):
        yield (
            "must be one ranked list, got a hybrid query's lists with marks between them (scores of -9.549512E9); search with"
            " search_pipeline=NAME, whose processor joins them"
        )
        return
    without = [rank for rank, doc_id in enumerate(ids, 1) if doc_id is None]
    if without:
        yield say_no_document(hits[without[0] - 1], field, without)
    unscored = [rank for rank, score in enumerate(scores, 1) if score is None]
    if unscored:
        got = shown(hits[unscored[0] - 1].get("_score"))
        yield (
            f"every _score must be a finite number, got {got} at {places(unscored)}; a search with `sort` has no scores:"
            " search without it"
        )
    yield from say_twice(ids, field)
    rising = [i for i in range(1, len(scores)) if (scores[i] or 0.0) > (scores[i - 1] or 0.0)] if not unscored else []
    if rising:
        i = rising[0]
        yield (
            f"scores must not rise with the rank, got {scores[i - 1]!r} at rank {i} and {scores[i]!r} at rank {i + 1}; a run is"
            " ordered by its scores: search without `sort`, and rescore as many hits as are returned"
        )


def say_no_document(hit: Mapping[str, Any], field: str | None, without: Sequence[int]) -> str:
    """That hits name no document, and where the name was looked for."""
    if field is None:
        return f"every hit must have an _id (text, not blank), got {shown(hit.get('_id'))} at {places(without)}"
    source = hit.get("_source")
    has = [*(source if isinstance(source, dict) else ()), *(hit["fields"] if isinstance(hit.get("fields"), dict) else ())]
    return (
        f"every hit must have one value of {field} (text or a number, not blank) in _source or fields, got none at"
        f' {places(without)}, which has {some(has) if has else "no fields"}; ask for it with "_source": ["{field}"]'
    )


def say_twice(ids: Sequence[str | None], field: str | None) -> Iterator[str]:
    """Which documents stand more than once in a list, and what that means for ids of chunks."""
    first: dict[str, int] = {}
    twice: dict[str, int] = {}
    for rank, doc_id in enumerate(ids, 1):
        if doc_id is not None and first.setdefault(doc_id, rank) != rank:
            twice.setdefault(doc_id, rank)
    if not twice:
        return
    advice = (
        "where production's ids of chunks repeat (several indices), take a field that is unique with --id FIELD"
        if field is None
        else f'several chunks of one document: search with "collapse": {{"field": "{field}"}}, or take the chunk\'s own id'
    )
    doc_id, rank = next(iter(twice.items()))
    more = f" and {len(twice) - 1} more documents" if len(twice) > 1 else ""
    yield f"a document must stand once in a list, got {doc_id!r} at ranks {first[doc_id]} and {rank}{more}; {advice}"


# Values and how they are shown


def is_id(value: Any) -> bool:
    """Whether this is text or a number that can name a prompt or a document."""
    return isinstance(value, str) and bool(value.strip()) and HALF_PAIR.search(value) is None


def number_of(value: Any) -> float | None:
    """A JSON number; None for anything else, text with digits too."""
    return float(value) if isinstance(value, Digits) else None


def places(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" + (f" (and {len(ranks) - 1} more)" if len(ranks) > 1 else "")


def some(names: Sequence[str]) -> str:
    """The first few names."""
    return ", ".join(map(str, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "") or "none"


def shown(value: Any) -> str:
    """A JSON value as a message shows it: null and numbers as they are written, the rest cut short."""
    if value is None:
        return "null"
    return str(value) if isinstance(value, Digits) else repr(value)[:80]
