"""`report` without a browser: one file that fetches nothing and takes text as text, from any study folder, or a plain refusal."""

from __future__ import annotations

import base64
import contextlib
import copy
import csv
import gzip
import json
import math
import os
import random
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import yaml
from conftest import DOCUMENTS, PROMPTS, ROOT, write_collection
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness import page
from harness.cli import run
from harness.commands import tune as tuning
from harness.commands.report import find
from harness.commands.reproduce import COMPARED, OK
from harness.decide import cross_fit, stock_shelf, units_of
from harness.errors import HarnessError
from harness.folder import read_prepared, read_study
from harness.measures import score_queries
from harness.notebook import as_html
from harness.page import LONGEST_ID, LONGEST_TEXT, embed
from harness.progress import Silence
from harness.sentences import describe, verdict_sentences
from harness.study import params_of
from harness.types import FloatArray, Params

SPACE = {"semantic_weight": {"low": 0.0, "high": 1.0}, "top_k": {"low": 2, "high": 8}, "fusion": ["minmax", "rrf"]}
FIGURES = ["curve", "difference", "trade_off", "precision", "recall", "swings", "groups"]
HOSTILE = {
    "tag": "<img src=x onerror='window.pwned=1'><b>bold</b>",
    "script": "</script><script>window.pwned=2</script>",
    "comment": "<!-- <script> --><!--",
    "quotes": '" onmouseover="window.pwned=3" \' &quot; &lt;i&gt;',
    "template": "{{7*7}}{% raw %}${7*7}#{7*7}",
    "formula": "=cmd|' /C calc'!A0",
    "bidi": "abc \u202egnp.exe \u2066x",
    "separators": "line\u2028para\u2029end\u0085",
    "control": "a\x00b\x07c\x1bd\x7f",
    "emoji": "👩‍👩‍👧‍👦 𝔘𝔫𝔦 é ﷽",
    "long": "long " * 2000,
    "title": "</title></textarea></style><svg onload=alert(1)>",
}


class Page(HTMLParser):
    """A page's elements, attributes, the text outside of scripts, and the scripts by id."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = path.read_bytes().decode("utf-8")
        self.tags: Counter[str] = Counter()
        self.attributes: set[tuple[str, str]] = set()
        self.values: list[tuple[str, str, str]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self._within: list[str] = []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {(tag, name) for name, _ in attrs}
        self.values += [(tag, name, value or "") for name, value in attrs]
        if tag in ("script", "style"):
            self._within = [dict(attrs).get("id") or tag]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._within = []

    def handle_data(self, data: str) -> None:
        if self._within:
            self.scripts[self._within[0]] = self.scripts.get(self._within[0], "") + data
        else:
            self.text += data

    @property
    def data(self) -> Any:
        return json.loads(self.scripts["data"])

    @property
    def figures(self) -> Any:
        return json.loads(self.scripts["figures"])


def configure(name: str, collection: dict[str, str], cache: Path, **changes: Any) -> Path:
    data: dict[str, Any] = {"name": name, "seed": 7, "collection": collection, "cache": str(cache)}
    data |= {"keyword": {"analyzer": "simple"}, "depth": 10, "objective": "MAP@5", "report_at": [1, 3, 5]}
    data["search"] = {"trials": 12, "space": SPACE}
    path = Path(f"{name}.yaml")
    path.write_text(yaml.safe_dump({**data, **changes}))
    return path


def searching(**space: Any) -> dict[str, Any]:
    return {"trials": 8, "space": SPACE | space}


def tune(name: str, collection: dict[str, str], cache: Path, **changes: Any) -> Any:
    return harness.tune(configure(name, collection, cache, **changes))


def write_hostile(folder: Path, words: dict[str, str]) -> dict[str, str]:
    """The garden with these words in every place that takes text: ids, titles, texts, prompts, groups, clusters."""
    folder.mkdir()
    names = list(words)

    def word(i: int) -> str:
        return words[names[i % len(names)]]

    documents = {doc: f"{doc} {word(i)}" if len(word(i)) < 1000 else doc for i, doc in enumerate(DOCUMENTS)}
    corpus = [
        {"_id": documents[doc], "title": f"{title} {word(i)}", "text": f"{text} {word(i)} {word(i + 1)}"}
        for i, (doc, (title, text)) in enumerate(DOCUMENTS.items())
    ]
    queries, qrels = [], []
    for i, (query, (text, _, labels)) in enumerate(PROMPTS.items()):
        query_id = f"{query} {word(i)}" if len(word(i)) < 1000 else query
        queries.append({"_id": query_id, "text": f"{text} {word(i)}", "group": word(i // 2), "cluster": word(i)})
        qrels += [{"query": query_id, "doc": documents[doc], "grade": grade} for doc, grade in labels.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    lines = [f"{q['query']}\t{q['doc']}\t{q['grade']}\n" for q in qrels]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8")
    return {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl"), "qrels": str(folder / "qrels.tsv")}


LIMIT = "N" + "-._9" * 24 + "zzz"  # a name of 100 characters, the most that a config takes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> dict[str, Any]:
    """The studies of these tests, each made once: a folder with studies/, and the results by name."""
    place = tmp_path_factory.mktemp("report")
    some = write_collection(place / "some")
    lines = Path(some["queries"]).read_text().splitlines()[3:]
    Path(some["queries"]).write_text("".join(f"{line}\n" for line in lines))
    kept = {json.loads(line)["_id"] for line in lines}
    labels = Path(some["qrels"]).read_text().splitlines()
    Path(some["qrels"]).write_text("".join(f"{line}\n" for line in labels if line.split("\t")[0] in {"query-id", *kept}))
    corpus = Path(some["corpus"]).read_text().splitlines()[:-1]
    Path(some["corpus"]).write_text("".join(f"{line}\n" for line in corpus))
    other = {name: str(place / "other" / Path(path).name) for name, path in write_collection(place / "other").items()}
    for name in ("queries", "qrels"):
        Path(other[name]).write_text(re.sub(r"\bq(?=\d\d)", "p", Path(other[name]).read_text()))
    benign = {name: f"plain {name}" for name in HOSTILE}
    with contextlib.chdir(place):
        results = {
            "first": tune("first", garden, cache),
            "second": tune("second", garden, cache, search=searching(top_k=[2], semantic_weight={"low": 0.0, "high": 0.1})),
            "third": tune("third", some, cache, objective="nDCG@5", engine="qdrant", search=searching(top_k=10, fusion="rrf")),
            "stranger": tune("stranger", other, cache),
            "pareto": tune("pareto", garden, cache, objective=["MAP@5", "Recall@3"], search={**searching(), "sampler": "nsgaii"}),
        }  # fmt: skip
        for name, words in (("hostile", HOSTILE), ("benign", benign)):
            collection = {**write_hostile(place / f"{name}-data", words)}
            results[name] = tune(LIMIT if name == "hostile" else "benign", collection, cache)
    return {"place": place, **results}


@pytest.fixture
def place(made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder of studies, and in it."""
    left_out = {LIMIT, "benign", "hostile-data", "benign-data"}

    def ignore(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name in left_out or (name == "report.html" and Path(folder).name != "first")}

    shutil.copytree(made["place"], tmp_path / "place", ignore=ignore)
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the chart library, which takes most of the time; it decides nothing here."""
    monkeypatch.setattr(page, "plotly_library", lambda: "H4sI")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.strip()]

    @property
    def line(self) -> str:
        (line,) = self.lines
        return line


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The command line's `report`: never a traceback, and nothing on both streams for a refusal."""

    def answer(*arguments: str | Path) -> Said:
        capsys.readouterr()
        code = run(["report", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and code in (0, 2, 3), err
        return Said(code, out, err)

    return answer


# ---- one file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first", "pareto", "hostile"])
def test_a_report_is_one_file_that_fetches_nothing(name: str, made: dict[str, Any]) -> None:
    path = made[name].folder
    path = made["place"] / path / "report.html"
    shown = Page(path)
    assert path.stat().st_size < 10e6
    assert shown.source.startswith("<!doctype html>") and shown.source.rstrip().endswith("</html>")
    for tag in ("link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "source", "frame"):
        assert tag not in shown.tags
    addresses = [
        value for _, attribute, value in shown.values if attribute in ("src", "href", "srcset", "action", "data", "poster")
    ]
    assert addresses and all(value.startswith("#") for value in addresses)
    assert not re.search(r"url\(|@import", shown.scripts["style"])
    (policy,) = [v for tag, attribute, v in shown.values if tag == "meta" and attribute == "content" and "default-src" in v]
    assert "default-src 'none'" in policy and "connect-src" not in policy
    assert not re.search(r"https?:|\*|'self'|unsafe-eval", policy)
    assert not any(attribute.startswith("on") for _, attribute in shown.attributes)
    library = gzip.decompress(base64.b64decode(shown.scripts["library"])).decode()
    assert "Plotly" in library[:2000] or "plotly.js" in library[:2000]


@pytest.mark.parametrize("name", ["first", "pareto"])
def test_every_chart_has_its_place_and_every_place_its_chart(name: str, made: dict[str, Any]) -> None:
    shown = Page(made["place"] / made[name].folder / "report.html")
    places = {
        value.removeprefix("figure-")
        for tag, attribute, value in shown.values
        if attribute == "id" and value.startswith("figure-")
    }
    expected = set(FIGURES) if name == "first" else {"objectives", "trade_off", "precision", "recall", "groups"}
    assert places == set(shown.figures) == expected
    labels = [value for tag, attribute, value in shown.values if tag == "div" and attribute == "aria-label"]
    assert all(label.strip() for label in labels)


def test_the_page_says_what_the_summary_says(made: dict[str, Any]) -> None:
    result = made["first"]
    shown = Page(made["place"] / result.folder / "report.html")
    summary, text = result.summary, " ".join(shown.text.split())
    assert f"{summary['collection']['documents']} documents, {summary['collection']['queries_used']} labelled prompts" in text
    for means in summary["systems"].values():
        assert (
            f"{means['objective']:.4f}" in text and f"{means['Precision@3']:.4f}" in text and f"{means['Recall@5']:.4f}" in text
        )
    for reason in summary["verdict"]["reasons"]:
        assert reason in text
    for group, values in summary["groups"].items():
        assert group in text and f"{values['best_weight']:.4f}" in text
    for definition in summary["definitions"].values():
        assert definition in text
    for warning in summary["warnings"]:
        assert warning in text
    manifest = json.loads((made["place"] / result.folder / "manifest.json").read_text())
    assert manifest["config_sha256"] in text and manifest["sha256"]["model"] in text
    with (made["place"] / result.folder / "to_judge.csv").open(newline="") as file:
        for row in [*csv.DictReader(file)][:10]:
            assert f"{row['query_id']}{row['doc_id']}" in text.replace(" ", "")


def test_the_data_of_the_page_are_the_findings(made: dict[str, Any]) -> None:
    with contextlib.chdir(made["place"]):
        _, findings, prepared = find("first")
    data = Page(made["place"] / made["first"].folder / "report.html").data
    with (made["place"] / made["first"].folder / "per_query.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [p["id"] for p in data["prompts"]] == [row["query_id"] for row in rows]
    ids = prepared.dataset.doc_ids
    for q, (prompt, row) in enumerate(zip(data["prompts"], rows, strict=True)):
        assert prompt["text"] == PROMPTS[row["query_id"]][0] and prompt["group"] == row["group"]
        assert prompt["relevant"] == int(row["relevant"])
        assert (prompt["pick"], prompt["kept"]) == pytest.approx((float(row["pick"]), float(row["equal"])), abs=1e-6)
        assert prompt["difference"] == pytest.approx(float(row["difference"]), abs=1e-6)
        labels = PROMPTS[row["query_id"]][2]
        for lists, side in zip(prompt["lists"], ("kept", "pick"), strict=True):
            found = findings.prompts.lists[side]
            assert [data["documents"][entry[0]][0] for entry in lists] == [ids[r] for r in found.rows[q] if r >= 0]
            for i, (document, grade, keyword, semantic) in enumerate(lists):
                doc_id, snippet = data["documents"][document]
                assert grade == labels.get(doc_id)
                assert (keyword, semantic) == (found.keyword_ranks[q, i], found.semantic_ranks[q, i])
                assert snippet == " ".join(DOCUMENTS[doc_id]) or snippet.startswith(DOCUMENTS[doc_id][0])


# ---- texts are text -------------------------------------------------------------------------------------------------


LEAVES = st.text() | st.integers() | st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.recursive(LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3), max_leaves=8))
def test_what_is_embedded_comes_back_and_ends_no_element(value: Any) -> None:
    text = embed(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0, -math.inf]])
def test_what_is_not_finite_is_not_embedded(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        embed(value)


def test_hostile_texts_make_no_element(made: dict[str, Any]) -> None:
    hostile, benign = (Page(made["place"] / made[name].folder / "report.html") for name in ("hostile", "benign"))
    assert set(hostile.tags) == set(benign.tags)
    for tag in ("script", "style", "meta", "title", "a", "h1", "h2", "button", "input", "select", "section", "figure"):
        assert hostile.tags[tag] == benign.tags[tag], tag
    assert hostile.attributes == benign.attributes
    assert set(hostile.scripts) == set(benign.scripts) == {"style", "figures", "data", "library", "script"}
    assert hostile.scripts["script"] == benign.scripts["script"]
    assert "49" not in [word for word in hostile.text.split() if "7" in word]


def test_hostile_texts_are_there(made: dict[str, Any]) -> None:
    shown = Page(made["place"] / made["hostile"].folder / "report.html")
    data = shown.data
    assert LIMIT in shown.text and len(LIMIT) == 100
    texts = [prompt["text"] for prompt in data["prompts"]]
    for name, word in HOSTILE.items():
        full = [text for text in texts if (word if name != "long" else word[:100]) in text]
        assert full or word.strip() in " ".join(texts), name
        snippets = [snippet for _, snippet in data["documents"]]
        assert any(word[:60].strip() in snippet for snippet in snippets), name
    for name, word in HOSTILE.items():
        if name != "long":
            assert any(word in prompt["id"] for prompt in data["prompts"]), name
            assert any(word in document for document, _ in data["documents"]), name
    assert max(map(len, texts)) <= LONGEST_TEXT
    assert max(len(prompt["id"]) for prompt in data["prompts"]) <= LONGEST_ID
    groups = {prompt["group"] for prompt in data["prompts"]}
    assert HOSTILE["script"] in groups and HOSTILE["tag"] in groups
    assert HOSTILE["tag"] in shown.text and HOSTILE["script"] in shown.text  # the table of groups
    ticks = shown.figures["groups"]["layout"]["yaxis"]["ticktext"]
    assert not any("<" in tick for tick in ticks)


# ---- where the texts are not there ----------------------------------------------------------------------------------


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture
def own(place: Path, quick: None, cache: Path) -> Path:
    """A study whose data can be changed: the third one's files lie in this copy."""
    edit(place / "studies/third/config.yaml", lambda text: re.sub(r"/\S*/some/", f"{place}/some/", text))
    return place / "studies/third"


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_without_a_data_file_ids_stand_alone(missing: str, own: Path, place: Path, report: Callable[..., Said]) -> None:
    (place / "some" / missing).unlink()
    said = report("third")
    assert said.code == 0 and missing in said.out and "Only ids are shown, no texts" in said.out
    shown = Page(own / "report.html")
    assert missing in shown.text and "Only ids are shown" in shown.text
    assert {prompt["text"] for prompt in shown.data["prompts"]} == {""} == {snippet for _, snippet in shown.data["documents"]}
    assert "onion seed" not in shown.source
    assert "seed" in [document for document, _ in shown.data["documents"]]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("corpus.jsonl", "Brown blotches", "Blue blotches", "the corpus of"),
        ("queries.jsonl", "silver leaf", "gold leaf", "the queries of"),
    ],
)
def test_changed_files_give_no_texts(
    file: str, old: str, new: str, said: str, own: Path, place: Path, report: Callable[..., Said]
) -> None:
    assert report("third").code == 0 and "Brown blotches" in Page(own / "report.html").source
    edit(place / "some" / file, lambda text: text.replace(old, new))
    assert f"Only ids are shown, no texts: {said}" in " ".join(report("third").out.split())
    shown = Page(own / "report.html")
    assert "no longer those that it was made on" in " ".join(shown.text.split())
    assert "Brown blotches" not in shown.source and new not in shown.source


def test_other_judgements_give_no_texts(own: Path, place: Path, report: Callable[..., Said]) -> None:
    edit(place / "some/qrels.tsv", lambda text: "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("q05")))
    assert "the judgements of the study's config" in report("third").out


def test_a_changed_order_of_lines_changes_nothing(own: Path, place: Path, report: Callable[..., Said]) -> None:
    report("third")
    before = (own / "report.html").read_bytes()
    edit(place / "some/corpus.jsonl", lambda text: "".join(f"{line}\n" for line in reversed(text.splitlines())))
    assert "Only ids" not in report("third").out and (own / "report.html").read_bytes() == before


def test_a_folder_from_elsewhere(own: Path, tmp_path: Path, report: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    edit(own / "config.yaml", lambda text: re.sub(r"/\S*/some/", "some/", text))
    report("third")
    whole = Page(own / "report.html")
    shutil.copytree(own, tmp_path / "elsewhere" / "from a colleague")
    monkeypatch.chdir(tmp_path / "elsewhere")
    said = report("from a colleague", "--out", "page.html")
    assert said.code == 0 and "some/corpus.jsonl" in said.out
    shown = Page(tmp_path / "elsewhere/page.html")
    assert shown.figures == whole.figures
    strip = ("id", "group", "kept", "pick", "difference", "relevant", "missed")
    assert [{k: p[k] for k in strip} for p in shown.data["prompts"]] == [{k: p[k] for k in strip} for p in whole.data["prompts"]]


def test_a_study_without_a_report_gets_one(place: Path, report: Callable[..., Said]) -> None:
    path = place / "studies/first/report.html"
    before = path.read_bytes()
    path.unlink()
    said = report("first")
    assert said.out == f"report of first written to studies/first/report.html ({len(before) / 1e6:.1f} MB)\n"
    assert path.read_bytes() == before


# ---- damage ---------------------------------------------------------------------------------------------------------

READ = ["config.yaml", "summary.json", "trials.csv", "candidates.npz"]  # no report without these
BESIDE = ["manifest.json", "to_judge.csv", "per_query.csv", "profile.csv", "weights.yaml", "timings.json"]
DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "half": lambda data: data[: max(data.find(b":", len(data) // 2), len(data) // 2)],  # within a key, where there are any
    "bytes": lambda data: b"\xff\xfe\x00\x80" + data,
    "a list": lambda data: b"[1, 2, 3]\n",
    "NaN": lambda data: re.sub(rb"\b0\.\d+", b"NaN", data),
    "huge": lambda data: re.sub(rb"\b0\.\d+", b"1e999", data),
    "huge but finite": lambda data: re.sub(rb"\b0\.\d+", b"1e308", data),
    "text": lambda data: re.sub(rb"\b0\.\d+", b'"</script>"', data),
    "deep": lambda data: b"[" * 200,
    "columns": lambda data: data.replace(b",", b";"),
    "wide": lambda data: data.replace(b"\n", b",1,2,3\n"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*READ, *BESIDE])
def test_a_damaged_file(name: str, damage: str, place: Path, quick: None, report: Callable[..., Said]) -> None:
    folder = place / "studies/first"
    old, before = (folder / name).read_bytes(), (folder / "report.html").read_bytes()
    new = DAMAGE[damage](old)
    if new == old:
        pytest.skip("this damage does not change this file")
    (folder / name).unlink()
    if new is not None:
        (folder / name).write_bytes(new)
    said = report("first")
    if said.code == 0:
        shown = Page(folder / "report.html")
        assert shown.figures and shown.data["prompts"] and "</html>" in shown.source
        assert not re.search(r"\b(nan|inf|None)\b", shown.text)
        assert name in BESIDE or damage in ("huge but finite", "NaN", "wide")
    else:
        assert (said.code, said.out) == (2, "")
        assert name in [*READ, "to_judge.csv"] and said.lines and all(name in line for line in said.lines)
        assert len(said.lines) == 1 or name == "config.yaml"  # there every key has its line
        assert (folder / "report.html").read_bytes() == before
    assert {p.name for p in folder.iterdir() if p.name.startswith(".")} == set()


def paths_of(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, below in inner:
        yield from paths_of(below, (*at, key))


WRONG = {"gone": None, "null": None, "text": "<b>x", "NaN": math.nan, "huge": 1e308, "list": []}


@pytest.mark.parametrize("wrong", WRONG)
def test_no_value_of_the_summary_breaks_a_report(
    wrong: str, place: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every entry of summary.json in turn gone, or of another kind: a page, or one line that names the file."""
    folder = place / "studies/first"
    summary = json.loads((folder / "summary.json").read_text())
    paths = [*paths_of(summary)]
    chosen = [path for path in paths if len(path) == 1] + random.Random(wrong).sample([p for p in paths if len(p) > 1], 8)
    broken = {}
    for path in chosen:
        changed = copy.deepcopy(summary)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        if wrong == "gone":
            del inner[path[-1]]
        else:
            inner[path[-1]] = WRONG[wrong]
        (folder / "summary.json").write_text(json.dumps(changed))
        code = run(["report", "first"])
        err = capsys.readouterr().err
        lines = [line for line in err.splitlines() if line.strip()]
        if code not in (0, 2) or (code == 2 and (len(lines) != 1 or "summary.json" not in lines[0])):
            broken[".".join(map(str, path))] = lines[-2:] if code == 70 else lines
    assert broken == {}


@pytest.mark.parametrize("row", ["1,COMPLETE", "x", "1,DONE,.5,3,minmax,.5", "-1,COMPLETE,,,,,,,,,,,", "1e5,COMPLETE,NaN"])
def test_a_wrong_row_of_trials_is_named(row: str, place: Path, quick: None, report: Callable[..., Said]) -> None:
    path = place / "studies/first/trials.csv"
    edit(path, lambda text: text + row + "\n")
    said = report("first")
    assert said.code == 2 and "trials.csv:14: must be a trial as tune writes it" in said.line


def test_a_trial_that_failed_is_in_no_chart(place: Path, quick: None, report: Callable[..., Said]) -> None:
    path = place / "studies/first/trials.csv"
    rows = path.read_text().splitlines()
    fields = rows[1].split(",")
    fields[1] = "FAIL"
    path.write_text("\n".join([rows[0], ",".join(fields), *rows[2:]]) + "\n")
    assert report("first").code == 0
    assert len(Page(place / "studies/first/report.html").figures["trade_off"]["data"][0]["x"]) == len(rows) - 2


def test_to_judge_of_another_kind_is_left_out(place: Path, quick: None, report: Callable[..., Said]) -> None:
    path = place / "studies/first/to_judge.csv"
    assert report("first").code == 0 and "Judge these first" in Page(place / "studies/first/report.html").text
    path.write_text("a,b\n1,2\n")
    assert report("first").code == 0
    assert "Judge these first" not in Page(place / "studies/first/report.html").text


# ---- where it is written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("study", "said"),
    [
        ("nothing", "nothing: must be a study's folder, or its name under studies/, got nothing there; studies here: "),
        ("first.yaml", "first.yaml: must be a study's folder, got a file"),
        ("some", "some: must hold a finished study, got no config.yaml and no summary.json"),
        ("../place/studies", "got no config.yaml and no summary.json"),
    ],
)
def test_what_is_no_study_is_refused(study: str, said: str, place: Path, report: Callable[..., Said]) -> None:
    answer = report(study)
    assert (answer.code, answer.out) == (2, "") and said in answer.line


def test_an_unfinished_study_is_refused(place: Path, report: Callable[..., Said]) -> None:
    (place / "studies/first/summary.json").unlink()
    assert "got no summary.json; run tune first" in report("first").line


def test_the_page_goes_where_it_is_asked_for(place: Path, quick: None, report: Callable[..., Said]) -> None:
    before = {path: path.read_bytes() for path in (place / "studies/first").rglob("*") if path.is_file()}
    said = report("first", "--out", "new/deep/page.html")
    if said.code == 0:
        assert Page(place / "new/deep/page.html").data["prompts"]
    else:
        assert said.code in (2, 3) and "new/deep" in said.line and not (place / "new").exists()
    assert {path: path.read_bytes() for path in (place / "studies/first").rglob("*") if path.is_file()} == before


def test_a_folder_in_the_pages_place_is_refused(place: Path, quick: None, report: Callable[..., Said]) -> None:
    said = report("first", "--out", "studies")
    assert said.code in (2, 3) and said.out == "" and "studies" in said.line
    assert not [*place.glob(".*.part")] and (place / "studies/first").is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_place_that_cannot_be_written_is_said(place: Path, quick: None, report: Callable[..., Said]) -> None:
    (place / "closed").mkdir()
    (place / "closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
    said = report("first", "--out", "closed/page.html")
    assert said.code in (2, 3) and "closed" in said.line


def test_a_disk_that_refuses_is_said(place: Path, quick: None, report: Callable[..., Said]) -> None:
    said = report("first", "--out", "/proc/page.html")
    assert said.code in (2, 3) and "/proc" in said.line and said.out == ""


def test_json(place: Path, quick: None, report: Callable[..., Said]) -> None:
    data = json.loads(report("first", "--json").out)
    path = place / "studies/first/report.html"
    assert data == {"path": "studies/first/report.html", "studies": ["first"], "bytes": path.stat().st_size}
    edit(place / "studies/first/config.yaml", lambda text: re.sub(r"corpus: \S+", "corpus: gone.jsonl", text))
    assert "gone.jsonl" in json.loads(report("first", "--json").out)["note"]
    both = json.loads(report("first", "second", "--json").out)
    assert both == {
        "path": "comparison.html",
        "studies": ["first", "second"],
        "bytes": (place / "comparison.html").stat().st_size,
    }


# ---- the verdict in two sentences -----------------------------------------------------------------------------------

PICK, KEPT = Params(semantic_weight=0.7, top_k=5, fusion="rrf", rrf_k=10), Params(top_k=5)


def summarize(decision: str, **changes: Any) -> dict[str, Any]:
    against = {"mean": 0.025, "interval": [0.01, 0.04], "wins": 30, "ties": 15, "losses": 5, **changes.pop("against", {})}
    return {
        "verdict": {"decision": decision, "compared_with": "equal", "reasons": ["one prompt proves nothing"]},
        "labels": {"prompts": 50, **changes.pop("labels", {})},
        "pick": {"interval": [0.61, 0.8]},
        "cross_fitted": {"baselines": {"equal": against}},
        **changes,
    }


def test_a_setting_in_a_few_words() -> None:
    for part in ("rrf", "constant 10", "semantic weight 0.7000", "K = 5", "depth 100"):
        assert part in describe(PICK)
    assert "constant" not in describe(KEPT) and "minmax" in describe(KEPT) and "0.5000" in describe(KEPT)


def test_adopt_in_two_sentences() -> None:
    assert verdict_sentences(summarize("adopt"), "MAP@5", PICK, KEPT) == (
        f"Adopt the pick ({describe(PICK)}): against equal weights MAP@5 changes by +0.0250 (95 % interval +0.0100 to +0.0400) on"
        " prompts that it was not chosen on.",
        "It wins on 30, ties on 15 and loses on 5 prompts; these 50 prompts cannot tell weights 0.61 to 0.80 apart.",
    )


def test_keep_in_two_sentences() -> None:
    first, second = verdict_sentences(summarize("keep", against={"mean": -0.03, "interval": [-0.05, -0.01]}), "MAP@5", PICK, KEPT)
    assert first.startswith(f"Keep equal weights ({describe(KEPT)}): with the pick ({describe(PICK)}) MAP@5 changes")
    assert first.endswith("MAP@5 changes by -0.0300 (95 % interval -0.0500 to -0.0100) on prompts that it was not chosen on.")
    assert second.startswith("It wins on 30, ties on 15 and loses on 5 prompts")


@pytest.mark.parametrize(
    ("needed", "said"), [(400, "About 400 prompts would prove"), (40, "It wins on 30"), (None, "It wins on 30")]
)
def test_undecided_in_two_sentences(needed: int | None, said: str) -> None:
    labels = {} if needed is None else {"prompts_to_prove_the_observed_gain": needed}
    first, second = verdict_sentences(summarize("undecided", labels=labels), "MAP@5", PICK, KEPT)
    assert first.startswith(
        f"Undecided between equal weights and the pick ({describe(PICK)}): with it MAP@5"
    ) and second.startswith(said)


def test_one_prompt_in_two_sentences() -> None:
    summary = summarize("undecided")
    del summary["cross_fitted"]
    assert verdict_sentences(summary, "MAP@5", PICK, KEPT) == (
        f"Undecided between the pick ({describe(PICK)}) and equal weights.",
        "One prompt proves nothing.",
    )
    fitted = summarize("undecided")
    del fitted["cross_fitted"]["baselines"]["equal"]["interval"]
    assert "changes by +0.0250 on prompts" in verdict_sentences(fitted, "MAP@5", PICK, KEPT)[0]


# ---- several studies ------------------------------------------------------------------------------------------------


def at_pick(name: str, first: str = "first") -> tuple[list[str], FloatArray]:
    """A study's prompts, and each one's score at its own pick by the first study's objective at the first one's K."""
    stored, lead = read_study(name), read_study(first)
    top_k = lead.summary["top_k"]
    params = {**vars(Params()), **stored.summary["pick"]["params"], "top_k": top_k}
    prepared = read_prepared(stored)
    ranking = prepared.hybrid.rank(Params(**params)).cut(top_k)
    scores = score_queries(lead.config.objectives[0].at(top_k), ranking, prepared.hybrid.judgements)
    return [query.query_id for query in prepared.dataset.queries], scores


def rows_of(text: str, caption: str) -> list[str]:
    return [line for line in text.splitlines() if caption in line]


def compare(*names: str) -> Any:
    from harness.commands.report import read_fitted, read_manifest
    from harness.sidebyside import check_picks, compare_one, contender, put_together

    stored = [read_study(name) for name in names]
    parts = [
        contender(read_prepared(one), one.summary, read_fitted(one.folder), read_manifest(one.folder)["content"])
        for one in stored
    ]
    check_picks(parts)
    return put_together(parts[0], [compare_one(part, parts[0], Silence()) for part in parts])


def paired(d: FloatArray) -> tuple[float, tuple[float, float], tuple[int, int, int]]:
    interval = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.95)
    return (
        float(d.mean()),
        (interval.low, interval.high),
        (int((d > 1e-12).sum()), int((abs(d) <= 1e-12).sum()), int((d < -1e-12).sum())),
    )


@pytest.mark.parametrize("name", ["second", "third"])
def test_the_difference_between_studies_by_hand(name: str, place: Path) -> None:
    (mine, scores), (theirs, others) = at_pick(name), at_pick("first")
    shared = [query for query in mine if query in theirs]
    d = np.asarray([scores[mine.index(q)] - others[theirs.index(q)] for q in shared])
    assert np.abs(d).max() > 0
    first, row = compare("first", name).rows
    mean, interval, counts = paired(d)
    got = row.difference
    assert (got.mean, got.interval) == (pytest.approx(mean, abs=1e-12), pytest.approx(interval, abs=1e-9))
    assert (got.wins, got.ties, got.losses) == counts
    assert (row.shared, row.prompts, first.prompts) == (len(shared), len(mine), len(theirs))
    assert (row.score, first.score) == pytest.approx((scores.mean(), others.mean()))
    assert first.difference is None and first.fitted is None


def test_the_cross_fitted_difference_where_k_differs(place: Path) -> None:
    first, second = read_study("first"), read_study("second")
    top_k = first.summary["top_k"]
    assert second.summary["top_k"] != top_k
    prepared = read_prepared(second)
    units = units_of([query.cluster for query in prepared.dataset.queries])
    again = cross_fit(prepared.hybrid, second.config, units, stock_shelf(prepared.hybrid, second.config, top_k), Silence())
    assert again is not None
    theirs = pd.read_csv("studies/first/per_query.csv")["cross_fitted"].to_numpy()
    mean, interval, counts = paired(again.objective - theirs)
    got = compare("first", "second").rows[1].fitted
    assert (got.mean, got.interval) == (pytest.approx(mean, abs=1e-12), pytest.approx(interval, abs=1e-9))
    assert (got.wins, got.ties, got.losses) == counts


def test_the_cross_fitted_difference_where_k_is_the_same(place: Path, garden: dict[str, str], cache: Path) -> None:
    top_k = read_study("first").summary["top_k"]
    tune("fourth", garden, cache, search=searching(top_k=[top_k], semantic_weight={"low": 0.0, "high": 0.1}))
    mine, theirs = (pd.read_csv(f"studies/{name}/per_query.csv")["cross_fitted"].to_numpy() for name in ("fourth", "first"))
    got = compare("first", "fourth").rows[1].fitted
    mean, interval, counts = paired(mine - theirs)
    assert (got.mean, got.interval) == (pytest.approx(mean, abs=1e-12), pytest.approx(interval, abs=1e-9))
    assert (got.wins, got.ties, got.losses) == counts


def test_what_is_not_alike_is_said(place: Path) -> None:
    rows = compare("first", "second", "third").rows
    assert rows[1].notes == ("its own K is 2",)
    third = " | ".join(rows[2].notes)
    for said in (
        "corpus (or its chunking)",
        "its prompts",
        "its judgements",
        "it was tuned on nDCG@5",
        "fused by the rules of qdrant",
    ):
        assert said in third
    assert rows[2].fitted is None  # tuned on another objective


def test_a_comparison_page(place: Path, report: Callable[..., Said]) -> None:
    said = report("first", "second", "third", "--out", "both.html")
    assert said.code == 0 and said.out.startswith("report of first, second, third written to both.html (")
    shown = Page(place / "both.html")
    text = " ".join(shown.text.split())
    rows = compare("first", "second", "third").rows
    for row in rows:
        assert row.name in text and f"{row.score:.4f}" in text and f"{row.kept_score:.4f}" in text
    for row in rows[1:]:
        assert page.signed_score(row.difference.mean) in text
        for note in row.notes:
            assert note in text
    assert set(shown.figures) == {"curves", "differences"}
    assert not any(attribute.startswith("on") for _, attribute in shown.attributes)
    assert (place / "both.html").stat().st_size < 10e6
    assert shown.figures["differences"]["data"][0]["x"][::-1] == [
        pytest.approx(row.fitted.mean if row.fitted else row.difference.mean, abs=1e-6) for row in rows[1:]
    ]


@pytest.mark.parametrize(
    ("studies", "said"),
    [
        (["first", "studies/first"], "must name different studies, got first more than once"),
        (["first", "stranger"], "stranger: must share prompts with first, got none with the same id"),
        (["first", "pareto"], "pareto: has two objectives, and so no pick to compare"),
        (["pareto", "first"], "pareto: has two objectives, and so no pick to compare"),
        (["first", "nothing"], "nothing: must be a study's folder"),
    ],
)
def test_studies_that_cannot_be_compared(studies: list[str], said: str, place: Path, report: Callable[..., Said]) -> None:
    answer = report(*studies)
    assert (answer.code, answer.out) == (2, "") and said in answer.line
    assert not (place / "comparison.html").exists()


@pytest.mark.parametrize("damage", ["missing", "half", "NaN", "huge but finite", "text", "bytes"])
@pytest.mark.parametrize("name", [*READ, "per_query.csv", "manifest.json"])
def test_a_damaged_file_in_a_comparison(name: str, damage: str, place: Path, quick: None, report: Callable[..., Said]) -> None:
    path = place / "studies/second" / name
    new = DAMAGE[damage](path.read_bytes())
    if new == path.read_bytes():
        pytest.skip("this damage does not change this file")
    path.unlink()
    if new is not None:
        path.write_bytes(new)
    said = report("first", "second")
    if said.code == 0:
        assert Page(place / "comparison.html").figures
    else:
        assert (said.code, said.out) == (2, "") and said.lines
        assert all("studies/second" in line and name in line for line in said.lines)
        assert not (place / "comparison.html").exists()


# ---- functions and notebooks ----------------------------------------------------------------------------------------


def test_the_function_is_the_command(place: Path, quick: None) -> None:
    made = harness.report("first", out="page.html")
    assert made.to_dict() == {"path": "page.html", "studies": ["first"], "bytes": Path("page.html").stat().st_size}
    assert harness.report(Path("studies/first"), "second").path == Path("comparison.html")
    with pytest.raises(HarnessError, match="must name at least one study"):
        harness.report()


def test_the_trials_as_a_frame(made: dict[str, Any]) -> None:
    for name in ("first", "pareto"):
        frame = made[name].to_frame()
        pd.testing.assert_frame_equal(frame, pd.read_csv(made["place"] / made[name].folder / "trials.csv"), check_dtype=False)


def test_every_figure_in_a_notebook(made: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made["place"])
    shown = Page(Path("studies/first/report.html")).figures
    assert set(shown) == set(FIGURES)
    for name in FIGURES:
        figure = json.loads(made["first"].figure(name).to_json())
        assert len(figure["data"]) == len(shown[name]["data"])
        assert [trace.get("name") for trace in figure["data"]] == [trace.get("name") for trace in shown[name]["data"]]
    with pytest.raises(HarnessError, match=f"figure: must be one of {', '.join(FIGURES)}, got 'swing'"):
        made["first"].figure("swing")
    with pytest.raises(HarnessError, match="must be one of objectives, trade_off"):
        made["pareto"].figure()


class Table(HTMLParser):
    """The cells of a notebook's table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.cells += [""]

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def test_a_notebooks_table_takes_text_as_text() -> None:
    rows = [{"<b>name": word, "score": 0.25, "none": None} for word in HOSTILE.values()]
    table = Table(as_html("<script>", rows))
    assert set(table.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td"}
    assert (
        table.tags["td"] == 3 * len(rows) and "<b>name" in table.cells and "0.2500" in table.cells and "<script>" in table.cells
    )
    for word in HOSTILE.values():
        assert word in table.cells
    assert "and 5 more rows" in as_html("", [{"a": i} for i in range(35)])
    assert "more rows" not in as_html("", [{"a": i} for i in range(30)])
    assert "text-align:right" not in as_html("", [{"a": "x"}, {"a": 1}])


def test_results_show_themselves(place: Path, garden: dict[str, str], cache: Path) -> None:
    config = configure("first", garden, cache)
    study = harness.tune(config)
    shown = study._repr_html_()
    assert "verdict" in shown and f"{study.summary['systems']['pick']['objective']:.4f}" in shown

    curve = harness.profile(config)
    frame = curve.to_frame()
    assert list(frame) == ["weight_from", "weight_to", "score"] and frame["weight_to"].iloc[-1] == 1
    assert [tuple(row) for row in frame.itertuples(index=False)] == [*curve.curve.rows()]
    assert "optimum" in curve._repr_html_() and curve.figure().data[0].name == "exact curve"

    scores = harness.evaluate(config)
    wide = scores.to_frame().pivot(index="measure", columns="system", values="mean")
    assert wide.loc["objective", "equal"] == pytest.approx(float(scores.systems[2].objective[0].mean()))
    assert "objective" in scores._repr_html_() and "Precision" not in scores._repr_html_()

    found = harness.search(config, "<b>frost</b> & fleece")
    assert list(found.to_frame()["rank"]) == list(range(1, len(found.results) + 1))
    assert "&lt;b&gt;frost&lt;/b&gt; &amp; fleece" in found._repr_html_() and "<b>" not in found._repr_html_()

    watched = harness.watch("first", latency=False)
    assert list(watched.to_frame()["check"]) == [check.name for check in watched.checks]
    assert all(check.status in watched._repr_html_() for check in watched.checks)

    again = harness.reproduce("first")
    assert again.to_frame().empty and again._repr_html_().startswith("<table><caption>OK: study first")


def test_a_hostile_studys_table_holds_no_element(made: dict[str, Any]) -> None:
    assert set(Table(made["hostile"]._repr_html_()).tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td"}


# ---- tune -----------------------------------------------------------------------------------------------------------


def test_tune_ends_with_the_report_and_changes_nothing_else(
    place: Path, garden: dict[str, str], cache: Path, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    folder = tune("with", garden, cache).folder
    assert (folder / "report.html").is_file() and "report.html" not in COMPARED
    stored = {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "report.html"}
    harness.report("with")
    assert {
        p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "report.html"
    } == stored
    monkeypatch.setattr(tuning, "report", lambda *_, **__: None)
    without = harness.tune("with.yaml", fresh=True)
    assert not (without.folder / "report.html").exists()
    for path, data in stored.items():
        if path.name not in ("manifest.json", "timings.json", "journal.log"):
            assert (without.folder / path).read_bytes() == data, path


def test_reproduce_does_not_look_at_the_report(place: Path) -> None:
    Path("studies/first/report.html").write_text("edited")
    assert harness.reproduce("first").outcome == OK
    assert Path("studies/first/report.html").read_text() == "edited"


def test_the_committed_study_has_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    made = harness.report("reference", out=tmp_path / "page.html")
    shown = Page(made.path)
    assert made.note == "" and made.bytes == made.path.stat().st_size
    assert len(shown.data["prompts"]) == 168 and all(prompt["lists"] for prompt in shown.data["prompts"])
    stored, findings, _ = find("reference")
    numbers = [row[0] for row in shown.figures["trade_off"]["data"][0]["customdata"]]
    assert numbers == [trial.number for trial in findings.trials] == list(range(40))
    weights = [row[1] for row in shown.figures["trade_off"]["data"][0]["customdata"]]
    assert weights == pytest.approx([params_of(t, stored.config).semantic_weight for t in findings.trials], abs=1e-6)
