"""Weights of fields in the keyword index: BM25 over a text that repeats a field, from every kind of corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rank_bm25
from conftest import DOCUMENTS, PROMPTS

import harness
from harness.analyzers import ANALYZERS, make_analyzer
from harness.blocks import Fields, Keyword
from harness.collection import Source
from harness.config import Config, parse_config, read_config
from harness.errors import HarnessError
from harness.fields import content_to_index, read_titles, texts_to_index
from harness.files import read_arrays
from harness.prepare import read_data

Write = Callable[..., Path]
FIELDS = {"title": 3, "text": 1}


def weighed(write_config: Write, fields: dict[str, int] | None, **changes: Any) -> Path:
    keyword = {"analyzer": "english", **({"fields": fields} if fields is not None else {})}
    return write_config(keyword=keyword, **changes)


def tuned(config: Path, name: str) -> Path:
    return harness.tune(config, name=name).folder


@pytest.mark.parametrize(("title", "text"), [(3, 1), (1, 2), (0, 1), (2, 0)])
def test_scores_are_rank_bm25s_over_the_repeated_tokens(write_config: Write, title: int, text: int) -> None:
    folder = tuned(weighed(write_config, {"title": title, "text": text}), f"w{title}{text}")
    analyze = make_analyzer("english")
    documents = [analyze(DOCUMENTS[d][0]) * title + analyze(DOCUMENTS[d][1]) * text for d in sorted(DOCUMENTS)]
    stored = read_arrays(folder / "candidates.npz")
    rows, ranks, scores = (stored[name] for name in ("rows", "keyword_ranks", "keyword_scores"))
    compared = 0
    for i, query_id in enumerate(sorted(PROMPTS)):
        expected = rank_bm25.BM25Okapi(documents).get_scores(analyze(PROMPTS[query_id][0]))
        for column in np.flatnonzero(ranks[i] > 0):
            assert scores[i, column] == pytest.approx(expected[rows[i, column]], abs=1e-9)
            compared += 1
    assert compared >= 5


def test_once_each_is_the_plain_index(write_config: Write) -> None:
    plain, once, thrice = (tuned(weighed(write_config, f), n) for f, n in ((None, "a"), ({"text": 1}, "b"), (FIELDS, "c")))
    for file in ("trials.csv", "per_query.csv"):
        assert (plain / file).read_bytes() == (once / file).read_bytes()
    assert (plain / "runs/keyword.trec").read_bytes() == (once / "runs/keyword.trec").read_bytes()
    assert (plain / "runs/keyword.trec").read_bytes() != (thrice / "runs/keyword.trec").read_bytes()
    assert (plain / "runs/semantic.trec").read_bytes() == (thrice / "runs/semantic.trec").read_bytes()
    assert "fields" not in (plain / "config.yaml").read_text()
    assert json.loads((thrice / "summary.json").read_text())["index"]["keyword"]["fields"] == FIELDS


def test_every_command_weighs_alike(write_config: Write) -> None:
    path = weighed(write_config, FIELDS, held_out=0.25)
    folder = tuned(path, "study")
    assert harness.reproduce(folder, from_scratch=True).outcome == "OK"
    assert harness.watch(folder, latency=False).ok
    assert "title (3 times) and text (1 times)" in harness.export(folder, to="json").text
    run = [line.split() for line in (folder / "runs/keyword.trec").read_text().splitlines()]
    query_id, best = run[0][0], run[0]
    found = harness.search(path, PROMPTS[query_id][0]).results
    (first,) = [result for result in found if result.keyword_rank == 1]
    assert (first.doc_id, first.keyword_score) == (best[2], pytest.approx(float(best[4]), rel=1e-6))
    evaluated = {system.name: system.means() for system in harness.evaluate(path).systems}
    assert evaluated["keyword"]["MAP@5"] == json.loads((folder / "summary.json").read_text())["systems"]["keyword"]["MAP@5"]
    with pytest.raises(HarnessError, match=r"keyword\.fields"):  # another question
        harness.tune(weighed(write_config, {"title": 2}, held_out=0.25), name="study")


@pytest.mark.parametrize("name", sorted(ANALYZERS))
def test_a_repeated_text_has_the_repeated_tokens_by_every_analyzer(name: str) -> None:
    analyze = make_analyzer(name)
    for title in ("L'été, Don't STOP's", "東京都の天気", "snake_case fooBar2", "e\u0301", ""):
        for text in ("\u0301 Running; the 3.5 Äpfel", "京都 data", "l'", ""):
            assert analyze(" ".join([title] * 3 + [text])) == analyze(title) * 3 + analyze(text)


def corpora(folder: Path) -> dict[str, Any]:
    """One corpus in three forms; the last document has no title, and white space at odd places."""
    rows = [("a", "Red  ", " apples keep"), ("b", " Green", "pears rot "), ("c", "", "plain words")]
    lines = [{"_id": i, "title": t, "text": x} if t else {"_id": i, "text": x} for i, t, x in rows]
    (folder / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "c.csv").write_text("nr,head,body\n" + "".join(f"{i},{t},{x}\n" for i, t, x in rows))
    (folder / "pages").mkdir()
    for i, t, x in rows:
        (folder / f"pages/{i}.md").write_text(f"---\ntitle: {t.strip() or 'none'}\n---\n{x}\n")
    (folder / "q.csv").write_text("id,text,answers\nq1,red,apples\n")
    table = {"path": "c.csv", "id": "nr", "text": "body", "title": "head"}
    return {"jsonl": "c.jsonl", "table": table, "chunks": "pages"}


def config_over(corpus: Any, fields: dict[str, int] | None = None, **more: Any) -> Config:
    collection = {"corpus": corpus, "queries": "q.csv"}
    return parse_config({"name": "x", "collection": collection, "keyword": {"fields": fields} if fields else {}, **more})


@pytest.mark.parametrize("form", ["jsonl", "table", "chunks"])
def test_titles_from_every_kind_of_corpus(workdir: Path, form: str) -> None:
    dataset = read_data(config_over(corpora(workdir)[form], {"title": 2, "text": 1}))
    untitled = "none" if form == "chunks" else ""
    assert dataset.titles == ("Red", "Green", untitled)
    texts = [" ".join(text.split()) for text in texts_to_index(dataset, Keyword(fields=Fields(title=2, text=1)))]
    assert texts == ["Red Red apples keep", "Green Green pears rot", f"{untitled} {untitled} plain words".strip()]
    assert read_data(config_over(corpora_of(form))).titles == ()


def corpora_of(form: str) -> Any:
    table = {"path": "c.csv", "id": "nr", "text": "body", "title": "head"}
    return {"jsonl": "c.jsonl", "table": table, "chunks": "pages"}[form]


def test_the_key_knows_weights_and_where_a_title_ends(workdir: Path) -> None:
    (workdir / "q.csv").write_text("id,text,answers\nq1,red,keep\n")
    datasets = []
    for title, text in (("Red", "apples keep"), ("Red apples", "keep")):
        (workdir / "c.csv").write_text(f"id,title,text\na,{title},{text}\n")
        datasets.append(read_data(config_over("c.csv", {"title": 2})))
    one, other = datasets
    assert one.hashes.corpus == other.hashes.corpus and (one.titles, other.titles) == (("Red",), ("Red apples",))
    weights = [Keyword(fields=Fields(title=n, text=1)) for n in (2, 3)]
    keys = {content_to_index(data, options) for data in datasets for options in weights}
    assert len(keys) == 4 and one.hashes.corpus not in keys
    assert content_to_index(one, Keyword()) == one.hashes.corpus


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"abstract": 2}, "keyword.fields.abstract: must be a known key, got 'abstract'; known: title, text"),
        ({"titel": 2}, "keyword.fields.titel: must be a known key, got 'titel'; nearest: title"),
        ({"title": 1.5}, "keyword.fields.title: must be a whole number from 0 to 100, got 1.5"),
        ({"title": -1}, "keyword.fields.title: must be a whole number from 0 to 100, got -1"),
        ({"text": True}, "keyword.fields.text: must be a whole number from 0 to 100, got true"),
        ({"title": 0, "text": 0}, "keyword.fields: must have a field above 0, got 0 for title and text"),
        (3, "keyword.fields: must be a mapping of keys to values, got 3"),
    ],
)
def test_weights_that_are_none(write_config: Write, fields: Any, expected: str) -> None:
    with pytest.raises(HarnessError) as refused:
        read_config(write_config(keyword={"fields": fields}))
    (line,) = refused.value.problems
    assert expected in line


def test_a_corpus_without_titles(workdir: Path) -> None:
    (workdir / "c.csv").write_text("id,text\na,apples\nb,pears\n")
    (workdir / "q.csv").write_text("id,text,answers\nq1,red,apples\n")
    for command in (harness.tune, harness.check):
        with pytest.raises(
            HarnessError, match=r"keyword\.fields\.title: must be a field of the corpus, and no document of c\.csv"
        ):
            command(config_over("c.csv", {"title": 2}))
    assert read_data(config_over("c.csv", {"title": 0, "text": 2})).titles == ("", "")


def test_a_published_corpus_is_one_text() -> None:
    with pytest.raises(HarnessError, match=r"keyword\.fields: must be left out over ir_datasets vaswani"):
        read_titles(Source(ir_datasets="vaswani"))


def test_weights_beside_a_run_do_nothing(write_config: Write) -> None:
    with pytest.raises(HarnessError, match=r"keyword\.fields: must be left out beside keyword\.run, where it does nothing"):
        read_config(write_config(keyword={"run": "r.trec", "fields": FIELDS}))
