"""import-run: responses of OpenSearch and Elasticsearch as a TREC run, in the engine's order; nothing partial is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.cli import run
from harness.commands.import_run import count_lowered, count_ties, import_run
from harness.errors import HarnessError
from harness.files import read_run
from harness.record import strictly_decreasing

# A response as the engines' manuals show it; Elasticsearch's and OpenSearch's have the same keys here.
MANUAL: dict[str, Any] = {
    "took": 5,
    "timed_out": False,
    "_shards": {"total": 5, "successful": 5, "skipped": 1, "failed": 0},
    "hits": {
        "total": {"value": 20, "relation": "eq"},
        "max_score": 1.3862942,
        "hits": [
            {
                "_index": "my-index-000001",
                "_id": "0",
                "_score": 1.3862942,
                "_ignored": ["message"],
                "_source": {"@timestamp": "2099-11-15T14:12:12", "doc_id": "a b", "parent": {"id": 7}, "user": {"id": "kimchy"}},
                "fields": {"sku": ["S-1"], "tags": ["x", "y"]},
                "highlight": {"message": ["<em>GET</em> /search"]},
            },
            {
                "_index": "my-index-000001",
                "_id": "1",
                "_score": 1.3862942,
                "_source": {"doc_id": "c", "parent": {"id": 8}, "user": {"id": "kimchy"}},
                "fields": {"sku": ["S-2"], "tags": ["x"]},
            },
            {
                "_index": "my-index-000001",
                "_id": "02",
                "_score": 0.5,
                "_source": {"doc_id": "d", "parent": {"id": 8}, "parent.id": 9, "user": {}},
                "fields": {"sku": ["S-3"], "tags": ["y"]},
            },
        ],
    },
}


def answer(*hits: tuple[str, Any], **changes: Any) -> dict[str, Any]:
    """A complete response with these hits."""
    listed = [{"_index": "i", "_id": doc, "_score": score} for doc, score in hits]
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    return {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": listed}, **changes}


def named(query_id: str, *hits: tuple[str, Any], **changes: Any) -> dict[str, Any]:
    """A search in the wrapped shape."""
    return {"query_id": query_id, "response": answer(*hits, **changes)}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.jsonl").write_text(lines({"_id": "q2", "text": "two"}, {"_id": "q1", "text": "one"}))
    return tmp_path


@pytest.fixture
def refuse(place: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Import responses that must be refused: exit 2, nothing on stdout, nothing written; the lines on stderr."""

    def ask(responses: Any, *options: str) -> list[str]:
        text = responses if isinstance(responses, str) else lines(*responses)
        (place / "r.jsonl").write_text(text, encoding="utf-8")
        before = {path: path.read_bytes() for path in place.iterdir() if path.is_file()}
        code = run(["import-run", "r.jsonl", "--out", "new/out.trec", *options])
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), err
        assert {path: path.read_bytes() for path in place.iterdir() if path.is_file()} == before
        assert not (place / "new").exists()
        return err.splitlines()

    return ask


# ---- shapes ---------------------------------------------------------------------------------------------------------

ONE, TWO = answer(("a", 3.5), ("b", 1)), answer(("c", 0.25))
LISTS = {"q2": ["a", "b"], "q1": ["c"]}
SHAPES = {
    "wrapped": lines({"query_id": "q2", "response": ONE}, {"query_id": "q1", "response": TWO}),
    "beside": lines({"query_id": "q2", **ONE}, {"query_id": "q1", **TWO}),
    "_id": lines({**ONE, "_id": "q2"}, {**TWO, "_id": "q1"}),
    "qid": lines({**ONE, "qid": "q2"}, {**TWO, "qid": "q1"}),
    "id": lines({**ONE, "id": "q2"}, {**TWO, "id": "q1"}),
    "first of the keys": lines({**ONE, "id": "x", "qid": "y", "_id": "z", "query_id": "q2"}, {**TWO, "id": "x", "qid": "q1"}),
    "array": json.dumps([named("q2", ("a", 3.5), ("b", 1)), {"qid": "q1", **TWO}]),
    "indented array": "\n\n" + json.dumps([{"qid": "q2", **ONE}, {"qid": "q1", **TWO}], indent=1) + "\n",
    "one array a file, windows": json.dumps([{"qid": "q2", **ONE}, {"qid": "q1", **TWO}], indent=1).replace("\n", "\r\n"),
    "named msearch": json.dumps({"took": 3, "responses": [{"qid": "q2", **ONE}, {"qid": "q1", **TWO}]}),
    "byte-order mark": "\ufeff" + lines({"query_id": "q2", **ONE}, {"query_id": "q1", **TWO}),
    "blank lines": "\n" + lines({"query_id": "q2", **ONE}) + "\n \r\n" + lines({"query_id": "q1", **TWO}),
    "asynchronous": lines(
        {"id": "FmRk", "query_id": "q2", "is_partial": False, "is_running": False, "start_time_in_millis": 1, "response": ONE},
        {"id": "FmRl", "query_id": "q1", "is_partial": False, "is_running": False, "start_time_in_millis": 1, "response": TWO},
    ),
}
IN_ORDER = {
    "msearch": json.dumps({"took": 3, "responses": [{**ONE, "status": 200}, {**TWO, "status": 200}]}),
    "indented msearch": json.dumps({"took": 3, "meta": {"responses": [1]}, "responses": [ONE, TWO]}, indent=2),
    "several msearch": lines({"responses": [ONE]}, {"responses": [TWO]}),
    "raw lines": lines(ONE, TWO),
    "raw array": json.dumps([ONE, TWO]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("queries", [None, "queries.jsonl"])
def test_every_shape_that_names_its_prompts_is_read(shape: str, queries: str | None, place: Path) -> None:
    (place / "r.jsonl").write_text(SHAPES[shape], encoding="utf-8", newline="")
    made = harness.import_run("r.jsonl", out="out.trec", queries=queries)
    assert read_run(place / "out.trec") == LISTS
    assert [listed.query_id for listed in made.lists] == ["q2", "q1"] and made.not_searched == ()


@pytest.mark.parametrize("shape", IN_ORDER)
def test_every_shape_without_names_takes_the_prompts_in_their_order(shape: str, place: Path) -> None:
    (place / "r.jsonl").write_text(IN_ORDER[shape])
    harness.import_run("r.jsonl", out="out.trec", queries="queries.jsonl")
    assert read_run(place / "out.trec") == LISTS


def test_the_run_is_the_one_of_the_manuals_response(place: Path) -> None:
    (place / "r.jsonl").write_text(lines({"query_id": "q 1", "response": MANUAL}))
    assert run(["import-run", "r.jsonl", "--out", "out.trec"]) == 0
    below = np.nextafter(np.float32(1.3862942), np.float32(0))
    assert (place / "out.trec").read_text() == (
        f"q%201 Q0 0 1 {np.float32(1.3862942):.9g} out\nq%201 Q0 1 2 {below:.9g} out\nq%201 Q0 02 3 0.5 out\n"
    )


@pytest.mark.parametrize(
    ("field", "ids"),
    [
        ("doc_id", ["a%20b", "c", "d"]),
        ("sku", ["S-1", "S-2", "S-3"]),
        ("parent.id", ["7", "8", "9"]),  # the full name comes before the steps
    ],
)
def test_a_field_of_the_source_or_of_the_fields_can_name_the_documents(field: str, ids: list[str], place: Path) -> None:
    (place / "r.jsonl").write_text(lines({"query_id": "q1", "response": MANUAL}))
    harness.import_run("r.jsonl", out="out.trec", field=field)
    assert read_run(place / "out.trec") == {"q1": ids}


def test_depth_cuts_every_list_and_says_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "r.jsonl").write_text(lines(named("q1", ("a", 3), ("b", 2), ("c", 1)), named("q2", ("a", 3))))
    assert run(["import-run", "r.jsonl", "--out", "our.run", "--depth", "2", "--tag", "prod"]) == 0
    out = capsys.readouterr().out
    assert "depth: 2; 1 prompts have fewer; --depth left out 1 hits behind it" in out
    assert "ties: none" in out and "tag prod" in out
    assert (place / "our.run").read_text() == "q1 Q0 a 1 3 prod\nq1 Q0 b 2 2 prod\nq2 Q0 a 1 3 prod\n"


# ---- what is said ---------------------------------------------------------------------------------------------------


def test_counts_ties_empty_lists_and_the_next_command_are_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = lines(
        named("q1", ("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 1.0)),
        named("q3"),
        {"query_id": "q4", "hits": {"hits": [{"_id": "a", "_score": 1}]}},
        {"query_id": "q5", "timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 0}}},  # by filter_path
    )
    (place / "r.jsonl").write_text(text)
    (place / "p.jsonl").write_text(lines(*({"_id": f"q{i}", "text": "x"} for i in range(1, 8))))
    assert run(["import-run", "r.jsonl", "--out", "our run.trec", "--queries", "p.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "4 prompts, tag our%20run" in out
    assert "documents a prompt: 0 at least, 0.5 in the median, 4 at most" in out
    assert "ties: 2 hits of 1 prompts have the score of the one before them" in out
    assert "2 prompts have no results" in out and ": q3, q5." in out
    assert "3 prompts of --queries were not searched" in out and ": q2, q6, q7." in out
    assert "1 responses lack timed_out or _shards" in out
    assert "python -m harness evaluate CONFIG --run 'our run.trec'" in out
    assert 'keyword: {run: "our run.trec"} or semantic: {run: "our run.trec"}' in out


def test_json_holds_the_same(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "r.jsonl").write_text(lines(named("q1", ("a", 2.0), ("b", 2.0)), named("q2")))
    assert run(["import-run", "r.jsonl", "--out", "out.trec", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": "out.trec",
        "tag": "out",
        "prompts": 2,
        "documents": {"min": 0, "median": 1.0, "max": 2},
        "depth": 2,
        "shorter": 1,
        "left_out": 0,
        "ties": {"hits": 1, "prompts": 1, "lowered": 1},
        "without_results": ["q2"],
        "not_searched": [],
        "not_known_to_be_complete": 0,
        "next": ["python -m harness evaluate CONFIG --run out.trec"],
        "config": ["keyword: {run: out.trec}", "semantic: {run: out.trec}"],
    }


def test_in_a_notebook_it_is_a_row_a_prompt(place: Path) -> None:
    (place / "r.jsonl").write_text(lines(named("q1", ("a", 2.0), ("b", 2.0)), named("q2")))
    made = harness.import_run("r.jsonl", out="out.trec")
    assert made.to_frame().to_dict("records")[0] == {"query_id": "q1", "documents": 2, "best": 2.0, "last": 2.0, "ties": 1}
    assert "2 prompts in out.trec" in made._repr_html_()


# ---- the order, by foreign readers ----------------------------------------------------------------------------------

numbers = st.floats(float(np.float32(-9e37)), float(np.float32(9e37)), width=32)
alike = st.sampled_from([0.0, -0.0, 1.0, 1e-45, 0.1, 0.1000000001])
scores_ = st.lists(numbers | alike, min_size=1, max_size=12).map(lambda values: sorted(values, reverse=True))


@given(scores_)
def test_ties_are_parted_by_the_smallest_steps_in_the_order_of_the_response(scores: list[float]) -> None:
    written = list(strictly_decreasing(np.asarray(scores)))
    single = np.asarray(scores, dtype=np.float32)
    lowered = 0
    for i, (ours, theirs) in enumerate(zip(written, single, strict=True)):
        assert np.isfinite(ours) and (i == 0 or ours < written[i - 1])
        if ours != theirs:
            lowered += 1
            assert ours == np.nextafter(written[i - 1], np.float32(-np.inf)) and theirs >= written[i - 1]
    assert count_lowered(scores) == lowered
    assert count_ties(scores) == sum(a == b for a, b in zip(single[1:], single[:-1], strict=True)) <= lowered


@given(st.lists(scores_, min_size=1, max_size=4))
def test_every_reader_finds_the_order_of_the_responses(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[float]]
) -> None:
    place = tmp_path_factory.mktemp("order")
    ids = [[f"d{(7 * i) % 13:02}" for i in range(len(scores))] for scores in lists]  # neither in nor against the order of ids
    records = [named(f"q{i}", *zip(docs, scores, strict=True)) for i, (docs, scores) in enumerate(zip(ids, lists, strict=True))]
    (place / "r.jsonl").write_text(lines(*records))
    harness.import_run(place / "r.jsonl", out=place / "out.trec")
    wanted = {f"q{i}": docs for i, docs in enumerate(ids)}
    for ties in ("doc_id", "trec_eval", "rank"):
        assert read_run(place / "out.trec", ties=ties) == wanted
    with (place / "out.trec").open() as file:
        parsed = pytrec_eval.parse_run(file)
    for query_id, docs in wanted.items():
        for rank, doc in enumerate(docs, 1):  # trec_eval's own order, seen through reciprocal ranks
            judged = pytrec_eval.RelevanceEvaluator({query_id: {doc: 1}}, {"recip_rank"})
            found = judged.evaluate({query_id: parsed[query_id]})[query_id]["recip_rank"]
            assert found == pytest.approx(1 / rank)
    found = sorted(ir_measures.read_trec_run(str(place / "out.trec")), key=lambda line: -line.score)
    assert {q: [line.doc_id for line in found if line.query_id == q] for q in wanted} == wanted


# ---- refusals: partial results --------------------------------------------------------------------------------------

FAILED = {"shard": 0, "index": "i", "node": "n", "reason": {"type": "query_shard_exception", "reason": "no such field"}}
PARTIAL = [
    ({"timed_out": True}, "timed_out: true"),
    ({"terminated_early": True}, "terminate_after"),
    ({"is_partial": True}, "is_partial: true"),
    ({"is_running": True}, "is_running: true"),
    ({"_shards": {"total": 5, "successful": 4, "skipped": 0, "failed": 1}}, "1 of 5 shards failed"),
    (
        {"_shards": {"total": 5, "successful": 3, "failed": 1, "failures": [FAILED]}},
        "2 of 5 shards failed (query_shard_exception",
    ),
    ({"_shards": {"total": 5, "successful": 4, "skipped": 0, "failed": 0}}, "1 of 5 shards failed"),
    ({"_shards": {"failed": 2}}, "2 of its shards failed"),
    ({"_clusters": {"total": 2, "successful": 1, "skipped": 1}}, "clusters that are skipped"),
    ({"_clusters": {"total": 3, "successful": 1, "skipped": 0, "running": 0, "partial": 1, "failed": 1}}, "partial and failed"),
    ({"status": 429}, "status 429"),
    (
        {"error": {"root_cause": [], "type": "index_not_found_exception", "reason": "no such index [x]"}, "status": 404},
        "no such index",
    ),
    ({"error": "boom"}, "the error 'boom'"),
]


@pytest.mark.parametrize(("changes", "said"), PARTIAL, ids=[said for _, said in PARTIAL])
def test_partial_results_are_refused_with_their_line(
    changes: dict[str, Any], said: str, refuse: Callable[..., list[str]]
) -> None:
    (line,) = refuse([named("q1", ("a", 1)), named("q2", ("a", 1), **changes)])
    assert line.startswith("r.jsonl:2: must be ") and said in line and ("repeat" in line or "fetch" in line)
    (line,) = refuse([{"query_id": "q1", **changes, "response": answer(("a", 1))}])  # said around the response
    assert line.startswith("r.jsonl:1: must be ") and said in line
    (line,) = refuse(json.dumps({"responses": [ONE, {**ONE, **changes}]}, indent=1), "--queries", "queries.jsonl")
    number = json.dumps({"responses": [ONE, None]}, indent=1).split("null")[0].count("\n") + 1
    assert line.startswith(f"r.jsonl:{number}: responses[1]: must be ") and said in line


def test_an_msearch_that_failed_as_a_whole_is_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse(
        [{"error": {"type": "security_exception", "reason": "missing"}, "status": 401}], "--queries", "queries.jsonl"
    )
    assert line.startswith("r.jsonl:1: ") and "security_exception: missing" in line


# ---- refusals: lists ------------------------------------------------------------------------------------------------

WRONG_LISTS = [
    ([("a", None), ("b", None)], ["must be a finite number, got null at rank 1 (and 1 more)", "`sort`"]),
    ([("a", "1.5")], ["got '1.5' at rank 1"]),
    ([("a", True)], ["got True at rank 1"]),
    ([("a", 1e39)], ["finite number, got 1e+39"]),
    ([("a", 2), ("b", 2.5), ("c", 3)], ["must not rise", "2.0 at rank 1 and 2.5 at rank 2"]),
    ([("a", 2), ("b", 1), ("a", 1)], ["'a' at ranks 1 and 3;", "--id FIELD"]),
    ([("a", 2), ("b", 2), ("b", 1), ("a", 1)], ["'b' at ranks 2 and 3 and 1 more documents"]),
    ([("", 1)], ["an _id", "got '' at rank 1"]),
    ([("  ", 1)], ["an _id"]),
    ([("\ud800", 1)], ["an _id"]),
    ([(None, 1)], ["an _id", "got null"]),
    ([({"x": 1}, 1)], ["an _id"]),
    ([("a", -9.549512e9), ("a", -4.4224404e9), ("b", 1.0), ("a", -9.549512e9)], ["search_pipeline=NAME"]),
]


@pytest.mark.parametrize(("hits", "said"), WRONG_LISTS)
def test_a_wrong_list_is_refused_with_its_line(hits: list[Any], said: list[str], refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([named("q1", ("a", 1)), named("q2", *hits)])
    assert line.startswith("r.jsonl:2: ") and all(part in line for part in said), line


def test_every_kind_of_problem_of_every_list_is_said_at_once(refuse: Callable[..., list[str]]) -> None:
    records = [named("q1", ("a", 1), ("a", None)), named("q1", ("a", 1), ("b", 2)), named("q3", ("", 1)), {"query_id": " "}]
    said = refuse([*records, 7, {"hits": {"hits": []}}])
    assert sorted(line.split(" ")[0] for line in said) == [f"r.jsonl:{i}:" for i in (1, 1, 2, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("nothing", ["one value of nothing", "got none at rank 1 (and 2 more)", "@timestamp", '"_source": ["nothing"]']),
        ("tags", ["one value of tags", "got none at rank 1,"]),
        ("user", ["one value of user", "got none at rank 1 (and 2 more)"]),
        ("user.id", ["one value of user.id", "got none at rank 3,"]),
        ("_id", ["one value of _id"]),
    ],
)
def test_a_field_that_names_no_document_is_refused(field: str, said: list[str], refuse: Callable[..., list[str]]) -> None:
    line, *_ = refuse([{"query_id": "q1", "response": MANUAL}], "--id", field)
    assert line.startswith("r.jsonl:1: ") and all(part in line for part in said), line


def test_chunks_of_one_document_are_refused_with_what_to_do(refuse: Callable[..., list[str]]) -> None:
    response = json.loads(json.dumps(MANUAL))
    response["hits"]["hits"][2]["_source"]["doc_id"] = "c"
    (line,) = refuse([{"query_id": "q1", "response": response}], "--id", "doc_id")
    assert "'c' at ranks 2 and 3" in line and '"collapse": {"field": "doc_id"}' in line


# ---- refusals: shapes -----------------------------------------------------------------------------------------------

WRONG_SHAPES = [
    ("", "r.jsonl: must hold at least one search"),
    ("[]", "r.jsonl: must hold at least one search"),
    ('{"responses": []}', "r.jsonl: must hold at least one search"),
    ("no json", "r.jsonl:1: must be one search as a JSON object, got: "),
    ("[1]", "r.jsonl:1: must be one search as a JSON object, got 1"),
    ('"text"', "r.jsonl:1: must be one search as a JSON object, got 'text'"),
    ('{"query_id": "q1", "query_id": "q2", "hits": {"hits": []}}', "r.jsonl:1: must be one search as a JSON object, got: a key"),
    ('{"query_id": "q1", "hits": {"hits": [{"_id": "a", "_score": NaN}]}}', "r.jsonl:1: "),
    ('{"query_id": "q1", "response": null}', "r.jsonl:1: must be one search as a JSON object, got {'query_id'"),
    ('{"query_id": "q1"}', "r.jsonl:1: must have hits.hits, a list of objects, got the keys query_id"),
    ('{"query_id": "q1", "response": {}}', "r.jsonl:1: must have hits.hits"),
    ('{"query_id": "q1", "hits": {"total": {"value": 3}}}', "r.jsonl:1: must have hits.hits"),
    ('{"query_id": "q1", "hits": [{"_id": "a", "_score": 1}]}', "r.jsonl:1: must have hits.hits"),
    ('{"query_id": "q1", "hits": {"hits": ["a"]}}', "r.jsonl:1: must have hits.hits"),
    ('{"query_id": "", "hits": {"hits": []}}', "r.jsonl:1: query_id must be text or a number, not blank, got ''"),
    (
        '{"query_id": null, "qid": "q1", "hits": {"hits": []}}',
        "r.jsonl:1: query_id must be text or a number, not blank, got null",
    ),
    ('{"responses": {"a": 1}}', "r.jsonl:1: responses must be a list"),
    ('{"hits": {"hits": []}}', "r.jsonl:1: a search must name its prompt by query_id, _id, qid or id"),
    (
        '{"id": "F", "is_running": false, "start_time_in_millis": 1, "response": {"hits": {"hits": []}}}',
        "r.jsonl:1: a search must",
    ),
    ('{"query_id": "q1", "hits": {"hits": []}}', "r.jsonl: must hold at least one hit, got none in 1 searches"),
    (lines({"query_id": "q1", **ONE}) + '{"query_id": "q2", "hits"\n', "r.jsonl:2: must be one search as a JSON object, got: "),
    (
        json.dumps({"query_id": "q1", **ONE}, indent=1) + json.dumps({"query_id": "q2", **ONE}, indent=1),
        "r.jsonl: must be JSON lines",
    ),
    ("[" * 100_000, "r.jsonl:1: "),
]


@pytest.mark.parametrize(("text", "said"), WRONG_SHAPES)
def test_a_file_of_another_shape_is_refused(text: str, said: str, refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse(text)
    assert line.startswith(said), line


def test_searches_without_a_name_among_named_ones_are_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([{"query_id": "q1", **ONE}, TWO])
    assert line.startswith("r.jsonl:2: must name its prompt as other searches of this file do")


def test_a_prompt_that_is_searched_twice_is_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([{"query_id": "q1", **ONE}, {"query_id": "q2", **ONE}, {"qid": "q1", **TWO}])
    assert line == "r.jsonl:3: a prompt must be searched once, 'q1' is at r.jsonl:1 already"


def test_searches_and_prompts_must_be_of_one_number(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse(json.dumps({"responses": [ONE]}), "--queries", "queries.jsonl")
    assert line.startswith("r.jsonl: must have one search for each prompt") and "1 searches for 2 prompts" in line


def test_a_prompt_that_the_prompts_file_lacks_is_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([{"query_id": "q1", **ONE}, {"query_id": "q9", **ONE}], "--queries", "queries.jsonl")
    assert line == "r.jsonl:2: the prompt must be in --queries, got 'q9'"


def test_ids_that_become_one_are_refused(refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([named("q1", ("a b", 2), ("a%20b", 1))])
    assert line.startswith("r.jsonl: ids 'a b' and 'a%20b' must differ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--depth", "0"], "--depth: must be at least 1, got 0"),
        (["--tag", ""], "--tag: must be a name without white space, got ''"),
        (["--tag", "a b"], "--tag: must be a name without white space"),
        (["--tag", "a\x00"], "--tag: must be a name without white space"),
        (["--queries", "none.jsonl"], "none.jsonl: must be a file, got nothing at this path"),
        (["--out", "."], ".: must be a file to write the run to, got a folder"),
        (["--out", "r.jsonl"], "r.jsonl: must not be the file that is read"),
        (["--out", "./queries.jsonl", "--queries", "queries.jsonl"], "queries.jsonl: must not be the file that is read"),
    ],
)
def test_options_that_do_not_go_are_refused(options: list[str], said: str, refuse: Callable[..., list[str]]) -> None:
    (line,) = refuse([{"query_id": "q1", **ONE}], *options)
    assert line.startswith(said)


@pytest.mark.parametrize(("content", "said"), [("", "must hold at least one prompt"), ("[]\n", "must be one JSON object")])
def test_a_wrong_prompts_file_is_refused(content: str, said: str, place: Path, refuse: Callable[..., list[str]]) -> None:
    (place / "p.jsonl").write_text(content)
    (line,) = refuse(json.dumps({"responses": [ONE]}), "--queries", "p.jsonl")
    assert line.startswith("p.jsonl") and said in line


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_responses_that_are_missing_or_a_folder_are_refused(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import-run", name, "--out", "out.trec"]) == 2
    assert capsys.readouterr().err.startswith(f"{name}: must be a file")
    assert not (place / "out.trec").exists()


def test_a_run_that_was_there_stays_where_the_import_is_refused(place: Path) -> None:
    (place / "out.trec").write_text("old")
    (place / "r.jsonl").write_text(lines(named("q1", ("a", None))))
    assert run(["import-run", "r.jsonl", "--out", "out.trec"]) == 2
    assert (place / "out.trec").read_text() == "old"
    (place / "r.jsonl").write_text(lines(named("q1", ("a", 1))))
    assert run(["import-run", "r.jsonl", "--out", "out.trec"]) == 0
    assert (place / "out.trec").read_text() == "q1 Q0 a 1 1 out\n"


def test_text_from_a_response_cannot_steer_the_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "r.jsonl").write_text(lines(named("q1", ("a", 1)), named("q\x1b[31m2")))
    assert run(["import-run", "r.jsonl", "--out", "out.trec"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_an_error_that_cannot_be_printed_is_escaped(tmp_path: Path) -> None:
    """A find of benchmarks/fuzz.py."""
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "response": {"error": {"type": "x", "reason": "a\nb\x08"}}}) + "\n")
    with pytest.raises(HarnessError) as refused:
        import_run(path, out=tmp_path / "out.trec")
    said = r"must be a search that went well, got the error x: a\nb\x08; repeat it"
    assert refused.value.problems == (f"{path}:1: {said}",)


def test_keys_that_cannot_be_printed_are_escaped(tmp_path: Path) -> None:
    """A find of benchmarks/fuzz.py."""
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "a\nb": 1}) + "\n")
    with pytest.raises(HarnessError) as refused:
        import_run(path, out=tmp_path / "out.trec")
    (line,) = refused.value.problems
    assert r"got the keys query_id, a\nb" in line and line.isprintable()
