"""The semantic retriever: exact search against a slow twin, approximate indexes, encoding with the packaged model, cache keys."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import semantic
from harness.analyzers import analyze_simple
from harness.blocks import PACKAGED_MODEL, Semantic
from harness.errors import HarnessError
from harness.files import read_corpus
from harness.progress import Silence
from harness.semantic import (
    Encoded,
    Model,
    check_index,
    encode,
    encoding_key,
    find_model,
    hash_folder,
    load_encoded,
    load_model,
    rank_semantic,
    save_encoded,
    wants_prompts,
)
from harness.types import Vectors


def make_vectors(rows: Sequence[Sequence[float]]) -> Vectors:
    return np.array(rows, dtype=np.float32)


def make_unit(vectors: Vectors) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def draw_unit(n: int, dimension: int, seed: int) -> Vectors:
    return make_unit(np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32))


def rank_slowly(documents: Vectors, query: Vectors, depth: int) -> tuple[list[int], list[float]]:
    """By inner product in double precision, then row."""
    scores = [float(np.sum(doc.astype(np.float64) * query.astype(np.float64))) for doc in documents]
    rows = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:depth]
    return rows, [scores[row] for row in rows]


# --- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["Flat", "HNSW32"])
def test_f1_three_vectors_at_depth_five_give_three_finite_hits(factory: str) -> None:
    """F1: FAISS pads with -1 and ±3.4e38; none of it comes through."""
    documents = draw_unit(3, 4, seed=1)
    lists, recall = rank_semantic(documents, draw_unit(2, 4, seed=2), depth=5, factory=factory)
    assert lists.rows.shape == lists.scores.shape == (2, 5)
    assert np.sort(lists.rows[:, :3], axis=1).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert np.isfinite(lists.scores[:, :3]).all()
    assert (np.abs(lists.scores[:, :3]) < 1.001).all()
    assert lists.rows[:, 3:].tolist() == [[-1, -1], [-1, -1]]
    assert np.isnan(lists.scores[:, 3:]).all()
    assert recall == 1.0


def test_f1_an_index_that_finds_fewer_than_depth_pads_behind_what_it_found() -> None:
    """F1: an inverted file looks into one of eight cells here and fills the rest with -1."""
    documents, queries = draw_unit(200, 8, seed=22), draw_unit(6, 8, seed=23)
    lists, recall = rank_semantic(documents, queries, depth=100, factory="IVF8,Flat")
    assert recall < 1
    for rows, scores in zip(lists.rows, lists.scores, strict=True):
        found = int((rows >= 0).sum())
        assert 0 < found < 100
        assert (rows[:found] >= 0).all()
        assert len(set(rows[:found].tolist())) == found
        assert np.isnan(scores[found:]).all()
        assert np.isfinite(scores[:found]).all()


@pytest.mark.parametrize("factory", ["Flat", "HNSW32"])
def test_f2_order_and_cosines_of_three_documents(factory: str) -> None:
    documents = make_unit(make_vectors([(1, 0), (0, 1), (3, 4)]))
    lists, _ = rank_semantic(documents, make_vectors([(1, 0)]), depth=3, factory=factory)
    assert lists.rows.tolist() == [[0, 2, 1]]
    assert lists.scores[0].tolist() == pytest.approx([1, 3 / 5, 0], abs=5e-7)


def test_f2_a_cosine_may_pass_1_by_a_little() -> None:
    longer = np.float32(1 + 2.5e-7)
    documents = make_vectors([(longer, 0), (0, 1)])
    lists, _ = rank_semantic(documents, make_vectors([(longer, 0)]), depth=2)
    assert lists.rows.tolist() == [[0, 1]]
    assert 1 < lists.scores[0, 0] < 1 + 1e-6


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=80),
    st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=3),
    st.integers(1, 90),
)
def test_exact_lists_are_by_score_then_row_however_many_tie(
    documents: list[list[int]], queries: list[list[int]], depth: int
) -> None:
    """Small whole numbers: nearly everything ties, also across the cut and across what FAISS was asked for."""
    lists, recall = rank_semantic(make_vectors(documents), make_vectors(queries), depth=depth)
    assert recall == 1.0
    for i, query in enumerate(queries):
        rows, scores = rank_slowly(make_vectors(documents), make_vectors([query])[0], depth)
        assert lists.rows[i].tolist() == rows + [-1] * (depth - len(rows))
        assert lists.scores[i, : len(rows)].tolist() == scores


@pytest.mark.parametrize("depth", [1, 7, 100])
def test_exact_lists_equal_a_slow_search_of_random_vectors(depth: int) -> None:
    documents, queries = draw_unit(900, 24, seed=3), draw_unit(8, 24, seed=4)
    lists, _ = rank_semantic(documents, queries, depth=depth)
    for i, query in enumerate(queries):
        rows, scores = rank_slowly(documents, query, depth)
        assert lists.rows[i].tolist() == rows
        assert lists.scores[i].tolist() == pytest.approx(scores, abs=1e-15)


def test_a_thousand_equal_vectors_come_back_in_row_order() -> None:
    documents = np.repeat(draw_unit(2, 8, seed=5), 1000, axis=0)
    better = int(np.argmax(documents[[0, 1000]] @ documents[0]))
    lists, _ = rank_semantic(documents, documents[:1], depth=5)
    assert better == 0
    assert lists.rows.tolist() == [[0, 1, 2, 3, 4]]
    assert len(set(lists.scores[0].tolist())) == 1


def test_exact_lists_are_exact_where_single_precision_cannot_tell() -> None:
    """Four hundred neighbours, each one float32 step off in one coordinate: FAISS's own order among them is noise."""
    draw = np.random.default_rng(24)
    base, query = draw_unit(1, 64, seed=25), draw_unit(1, 64, seed=26)
    documents = np.repeat(base, 400, axis=0)
    column = draw.integers(0, 64, 400)
    documents[np.arange(400), column] = np.nextafter(base[0, column], np.float32(np.inf))
    lists, _ = rank_semantic(documents, query, depth=20)
    rows, scores = rank_slowly(documents, query[0], 20)
    assert 0 < scores[0] - scores[-1] < 1e-7
    assert lists.rows[0].tolist() == rows
    assert lists.scores[0].tolist() == pytest.approx(scores, abs=1e-15)


def test_a_list_does_not_depend_on_the_other_queries_of_its_batch() -> None:
    documents, queries = draw_unit(300, 16, seed=6), draw_unit(30, 16, seed=7)
    together, _ = rank_semantic(documents, queries, depth=20)
    for i in range(len(queries)):
        alone, _ = rank_semantic(documents, queries[i : i + 1], depth=20)
        assert np.array_equal(alone.rows[0], together.rows[i])
        assert np.array_equal(alone.scores[0], together.scores[i])


@pytest.mark.parametrize("factory", ["Flat", "HNSW32"])
def test_only_the_rows_given_are_searched_and_returned(factory: str) -> None:
    documents, queries = draw_unit(40, 8, seed=8), draw_unit(3, 8, seed=9)
    searched = np.array([1, 5, 6, 30], dtype=np.int32)
    lists, _ = rank_semantic(documents, queries, depth=6, factory=factory, rows=searched)
    for i, query in enumerate(queries):
        rows, _ = rank_slowly(documents[searched], query, 6)
        assert lists.rows[i].tolist() == [*(int(searched[row]) for row in rows), -1, -1]


@pytest.mark.parametrize("factory", ["Flat", "HNSW32"])
def test_no_document_with_text_gives_empty_lists(factory: str) -> None:
    """B4 on the semantic side: a corpus of empty documents, of which no row is searched."""
    lists, _ = rank_semantic(
        np.zeros((2, 4), dtype=np.float32), draw_unit(2, 4, seed=10), depth=3, factory=factory, rows=np.zeros(0, dtype=np.int32)
    )
    assert lists.rows.tolist() == [[-1] * 3] * 2
    assert np.isnan(lists.scores).all()


def test_search_leaves_its_inputs_unchanged() -> None:
    documents, queries, rows = draw_unit(50, 8, seed=11), draw_unit(3, 8, seed=12), np.arange(0, 50, 2, dtype=np.int32)
    before = [array.copy() for array in (documents, queries, rows)]
    for factory in ("Flat", "HNSW32"):
        rank_semantic(documents, queries, depth=10, factory=factory, rows=rows)
    assert all(np.array_equal(a, b) for a, b in zip((documents, queries, rows), before, strict=True))


# --- approximate indexes --------------------------------------------------------------------------------------------

APPROXIMATE = "HNSW4"  # few links, so that it misses much on random vectors


def test_f9_recall_against_exact_is_measured_on_every_query() -> None:
    documents, queries = draw_unit(3000, 32, seed=13), draw_unit(20, 32, seed=14)
    lists, recall = rank_semantic(documents, queries, depth=50, factory=APPROXIMATE)
    shared = [len(set(lists.rows[i].tolist()) & set(rank_slowly(documents, q, 50)[0])) for i, q in enumerate(queries)]
    assert recall == pytest.approx(sum(shared) / (50 * len(queries)), abs=1e-12)
    assert 0 < recall < 0.9, "the index must miss something for this to say anything"


def test_f9_an_approximate_list_is_ordered_by_exact_scores() -> None:
    documents, queries = draw_unit(2000, 32, seed=15), draw_unit(5, 32, seed=16)
    lists, _ = rank_semantic(documents, queries, depth=20, factory=APPROXIMATE)
    for i, query in enumerate(queries):
        rows = [row for row in lists.rows[i].tolist() if row >= 0]
        scores = [float(np.sum(documents[row].astype(np.float64) * query.astype(np.float64))) for row in rows]
        assert lists.scores[i, : len(rows)].tolist() == pytest.approx(scores, abs=1e-15)
        assert rows == [row for _, row in sorted((-score, row) for score, row in zip(scores, rows, strict=True))]


@pytest.mark.parametrize("factory", [APPROXIMATE, "HNSW32", "IVF8,Flat"])
@pytest.mark.filterwarnings("ignore")
def test_f9_building_an_index_is_deterministic(factory: str) -> None:
    documents, queries = draw_unit(1500, 16, seed=17), draw_unit(20, 16, seed=18)
    first, recall = rank_semantic(documents, queries, depth=20, factory=factory)
    second, again = rank_semantic(documents, queries, depth=20, factory=factory)
    assert np.array_equal(first.rows, second.rows)
    assert np.array_equal(first.scores, second.scores, equal_nan=True)
    assert recall == again


def test_f9_the_default_is_exact() -> None:
    assert Semantic().index == "Flat"


def test_an_index_that_faiss_does_not_know_is_refused_before_anything_is_encoded() -> None:
    check_index("HNSW32")
    with pytest.raises(HarnessError, match=r"semantic\.index.*'HSNW32'"):
        check_index("HSNW32")


def test_an_index_that_does_not_fit_the_vectors_is_refused() -> None:
    with pytest.raises(HarnessError, match=r"semantic\.index"):
        rank_semantic(draw_unit(3, 4, seed=19), draw_unit(1, 4, seed=20), depth=2, factory="IVF100,Flat")


# --- cache keys -----------------------------------------------------------------------------------------------------

TEXTS = ["a cat sat", "a dog ran", "rain in London"]
MODEL = Model("some-model", "some-model", "0" * 64)


def key_of(texts: Sequence[str] = TEXTS, *, model: Model = MODEL, kind: str = "document", **options: object) -> str:
    return encoding_key(model, Semantic(**options), kind, texts)


def test_f12_the_same_inputs_hit_the_cache() -> None:
    assert key_of() == key_of(list(TEXTS))
    assert key_of() == key_of(device="cpu", index="HNSW32")  # neither changes a vector


@pytest.mark.parametrize(
    "changed",
    [
        key_of(["a cat sat", "a dog ran!", "rain in London"]),
        key_of(["a dog ran", "a cat sat", "rain in London"]),
        key_of(["a cat sata dog ran", "", "rain in London"]),
        key_of(TEXTS[:2]),
        key_of(model=Model("some-model", "some-model", "1" * 64)),
        key_of(document_prompt="passage: "),
        key_of(document_prompt=""),
        key_of(max_seq_length=128),
        key_of(normalize=False),
        key_of(kind="query"),
    ],
    ids=["text", "rows", "borders", "fewer", "model", "prompt", "empty prompt", "max_seq_length", "normalize", "kind"],
)
def test_f12_a_change_misses_the_cache(changed: str) -> None:
    assert changed != key_of()


def test_f12_the_query_prompt_belongs_to_the_queries_alone() -> None:
    assert key_of(query_prompt="query: ") == key_of()
    assert key_of(kind="query", query_prompt="query: ") != key_of(kind="query")
    assert key_of(kind="query", document_prompt="passage: ") == key_of(kind="query")


def test_f12_the_order_of_the_corpus_file_is_no_change(tmp_path: Path) -> None:
    lines = [json.dumps({"_id": f"d{i}", "text": text}) for i, text in enumerate(TEXTS)]
    keys = []
    for name, order in (("one", lines), ("other", lines[::-1])):
        (tmp_path / name).write_text("\n".join(order))
        keys.append(key_of(read_corpus(tmp_path / name)[1]))
    assert keys[0] == keys[1] == key_of()


def test_f12_a_model_folder_is_told_apart_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"one")
    before = hash_folder(tmp_path)
    assert hash_folder(tmp_path) == before
    (tmp_path / "model.safetensors").write_bytes(b"two")
    assert hash_folder(tmp_path) != before
    assert find_model(Semantic(model=str(tmp_path))).fingerprint == hash_folder(tmp_path)


def test_f12_a_hub_model_is_told_apart_by_its_revision() -> None:
    prints = {find_model(Semantic(model="org/some-model", revision=revision)).fingerprint for revision in (None, "a", "b")}
    assert len(prints) == 3


@pytest.mark.parametrize("name", ["/nowhere/model", "./nowhere", "~/nowhere"])
def test_a_model_path_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(HarnessError, match=r"semantic\.model"):
        find_model(Semantic(model=name))


def test_encoded_vectors_read_back_the_same_and_damaged_ones_are_made_anew(tmp_path: Path) -> None:
    encoded = Encoded(draw_unit(3, 4, seed=21), {"cut": 1, "prompt": "é"})
    save_encoded(encoded, tmp_path / "vectors.npz")
    read = load_encoded(tmp_path / "vectors.npz", 3)
    assert read is not None
    assert np.array_equal(read.vectors, encoded.vectors)
    assert read.facts == encoded.facts
    assert load_encoded(tmp_path / "vectors.npz", 4) is None
    assert load_encoded(tmp_path / "missing.npz", 3) is None
    (tmp_path / "vectors.npz").write_bytes((tmp_path / "vectors.npz").read_bytes()[:-40])
    assert load_encoded(tmp_path / "vectors.npz", 3) is None


def test_vectors_that_are_not_finite_are_not_taken_from_the_cache(tmp_path: Path) -> None:
    save_encoded(Encoded(make_vectors([(1, np.nan)]), {}), tmp_path / "vectors.npz")
    assert load_encoded(tmp_path / "vectors.npz", 1) is None


# --- prompts, with a model that only notes what it was asked ---------------------------------------------------------


class NotingModel:
    """Stands in for a SentenceTransformer: a vector that says which call and which prompt it came from."""

    def __init__(self, prompts: dict[str, str]) -> None:
        self.prompts, self.device, self.max_seq_length = prompts, "cpu", 8
        self.tokenizer: Any = None
        self.calls: list[tuple[str, str | None, tuple[str, ...], bool]] = []

    def preprocess(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("not reached: this model does not tokenize")

    def get_embedding_dimension(self) -> int:
        return 2

    def _encode(self, call: str, texts: list[str], prompt: str | None, normalize_embeddings: bool) -> Vectors:
        self.calls.append((call, prompt, tuple(texts), normalize_embeddings))
        return np.array([(len(text), call == "query") for text in texts], dtype=np.float32)

    def encode_query(self, texts: list[str], *, prompt: str | None, normalize_embeddings: bool, **_: Any) -> Vectors:
        return self._encode("query", texts, prompt, normalize_embeddings)

    def encode_document(self, texts: list[str], *, prompt: str | None, normalize_embeddings: bool, **_: Any) -> Vectors:
        return self._encode("document", texts, prompt, normalize_embeddings)


def test_s1_queries_and_documents_are_encoded_each_by_its_own_method_and_prompt() -> None:
    options = Semantic(query_prompt="query: ", document_prompt="passage: ", normalize=False)
    model = NotingModel({})
    assert encode(model, ["one"], "query", options).facts["prompt"] == "query: "
    assert encode(model, ["two", "three"], "document", options).facts["prompt"] == "passage: "
    assert [(call, prompt, sorted(texts), norm) for call, prompt, texts, norm in model.calls] == [
        ("query", "query: ", ["one"], False),
        ("document", "passage: ", ["three", "two"], False),
    ]


def test_s1_without_a_prompt_in_the_config_the_models_own_is_used_and_reported() -> None:
    model = NotingModel({"query": "Represent this: ", "document": ""})
    assert encode(model, ["one"], "query", Semantic()).facts["prompt"] == "Represent this: "
    assert encode(model, ["one"], "document", Semantic()).facts["prompt"] == ""
    assert [prompt for _, prompt, _, _ in model.calls] == [None, None]  # None: encode_query takes the model's own


def test_s1_an_empty_prompt_in_the_config_turns_the_models_own_off() -> None:
    model = NotingModel({"query": "Represent this: "})
    assert encode(model, ["one"], "query", Semantic(query_prompt="")).facts["prompt"] == ""
    assert model.calls[0][1] == ""


@pytest.mark.parametrize(
    "name", ["intfloat/e5-small-v2", "BAAI/bge-base-en-v1.5", "Snowflake/snowflake-arctic-embed-m", "models/e5"]
)
def test_s1_a_known_family_without_its_prompt_is_warned_about(name: str) -> None:
    model = Model(name, name, "0" * 64)
    assert wants_prompts(model.name, "")
    assert not wants_prompts(model.name, "query: ")


@pytest.mark.parametrize("name", [PACKAGED_MODEL, "sentence-transformers/all-mpnet-base-v2", "org/somebge5-model"])
def test_s1_a_family_without_prompts_is_not_warned_about(name: str) -> None:
    assert not wants_prompts(name, "")


def test_equal_texts_are_encoded_once_and_empty_ones_never() -> None:
    model = NotingModel({})
    encoded = encode(model, ["same", "", "same", "other one"], "document", Semantic())
    assert sorted(text for _, _, texts, _ in model.calls for text in texts) == ["other one", "same"]
    assert encoded.vectors.tolist() == [[4, 0], [0, 0], [4, 0], [9, 0]]
    assert encoded.facts["texts"] == 3


def test_s2_texts_that_are_equal_as_far_as_the_model_reads_are_encoded_once() -> None:
    model = NotingModel({})
    model.tokenizer = lambda texts, **_: {"input_ids": [["<s>", *text.split(), "</s>"] for text in texts]}
    six = "one two three four five six"  # with both marks, the eight tokens that the model reads
    texts = [f"{six} seven", f"{six} eight nine", six, "one two"]
    encoded = encode(model, texts, "document", Semantic())
    assert sum(len(texts) for _, _, texts, _ in model.calls) < len(texts)
    assert np.array_equal(encoded.vectors[0], encoded.vectors[1])
    assert encoded.facts["cut"] == 2


def test_no_text_at_all_gives_vectors_of_the_models_dimension() -> None:
    assert encode(NotingModel({}), ["", ""], "document", Semantic()).vectors.tolist() == [[0, 0], [0, 0]]


def test_vectors_with_nan_are_refused() -> None:
    model = NotingModel({})
    model._encode = lambda *args: np.array([[np.nan, 1.0]])  # type: ignore[method-assign]
    with pytest.raises(HarnessError, match=r"semantic\.model.*NaN"):
        encode(model, ["one"], "query", Semantic())


def test_progress_counts_every_text_that_is_encoded() -> None:
    seen: list[tuple[str, int]] = []
    advanced: list[int] = []

    @contextlib.contextmanager
    def progress(title: str, total: int) -> Any:
        seen.append((title, total))
        yield advanced.append

    texts = [f"text {i}" for i in range(70)]
    encode(NotingModel({}), texts, "document", Semantic(), progress)
    assert seen == [("encoding document texts", 70)]
    assert sum(advanced) == 70


# --- with the packaged model ----------------------------------------------------------------------------------------

LONG = "the river rose slowly over the old stone bridge "  # nine tokens
DOCUMENTS = [
    "The cat sleeps on the sofa.",
    "Our refund policy allows returns within thirty days.",
    LONG * 36 + "and then came penguins",
    LONG * 36 + "and then came volcanoes",
    "",
    "Restart the router when the network is down.",
]


@pytest.fixture(scope="module")
def model() -> Any:
    """The packaged model, loaded once."""
    return load_model(find_model(Semantic()), Semantic())


@pytest.fixture(scope="module")
def documents(model: Any) -> Encoded:
    return encode(model, DOCUMENTS, "document", Semantic())


def test_the_packaged_model_gives_unit_vectors_and_zeros_for_an_empty_text(documents: Encoded) -> None:
    lengths = np.linalg.norm(documents.vectors.astype(np.float64), axis=1)
    assert documents.vectors.shape == (6, 384)
    assert documents.vectors.dtype == np.float32
    assert lengths.tolist() == pytest.approx([1, 1, 1, 1, 0, 1], abs=1e-6)


def test_the_packaged_model_finds_the_passage_that_answers(model: Any, documents: Encoded) -> None:
    queries = encode(model, ["can I send back what I bought?", "my wifi does not work"], "query", Semantic())
    filled = np.array([0, 1, 2, 3, 5], dtype=np.int32)
    lists, _ = rank_semantic(documents.vectors, queries.vectors, depth=6, rows=filled)
    assert lists.rows[:, 0].tolist() == [1, 5]
    assert lists.rows[:, 5].tolist() == [-1, -1]
    assert (lists.rows != 4).all()  # D16: the empty document is never returned


def test_s2_documents_that_differ_behind_the_cut_have_one_vector_and_are_counted(model: Any, documents: Encoded) -> None:
    """S2: equal for more than 320 tokens, max_seq_length 256; the keyword side sees the whole text."""
    assert len(model.tokenizer(LONG * 36)["input_ids"]) > 320
    assert documents.facts["max_seq_length"] == 256
    assert documents.facts["cut"] == 2
    assert documents.facts["texts"] == 5
    assert np.array_equal(documents.vectors[2], documents.vectors[3])
    assert "penguins" in analyze_simple(DOCUMENTS[2])
    assert "penguins" not in analyze_simple(DOCUMENTS[3])


def test_s2_a_shorter_max_seq_length_cuts_more(model: Any) -> None:
    before = model.max_seq_length
    try:
        model.max_seq_length = 16
        encoded = encode(
            model, ["word " * 10, "word " * 14, "word " * 15 + "then one", "word " * 15 + "or other"], "document", Semantic()
        )
    finally:
        model.max_seq_length = before
    assert encoded.facts["cut"] == 2  # two of the sixteen tokens are marks
    assert np.array_equal(encoded.vectors[1], encoded.vectors[2])
    assert np.array_equal(encoded.vectors[2], encoded.vectors[3])
    assert not np.array_equal(encoded.vectors[0], encoded.vectors[1])


def test_a_vector_follows_from_the_texts_and_not_from_their_order(model: Any, documents: Encoded) -> None:
    backwards = encode(model, DOCUMENTS[::-1], "document", Semantic())
    assert np.array_equal(backwards.vectors[::-1], documents.vectors)


def test_encoding_again_gives_the_same_bits(model: Any, documents: Encoded) -> None:
    again = encode(model, DOCUMENTS, "document", Semantic())
    assert np.array_equal(again.vectors, documents.vectors)
    assert again.facts == documents.facts


def test_vectors_are_what_sentence_transformers_gives(model: Any, documents: Encoded) -> None:
    for i in (0, 1, 2, 5):
        theirs = model.encode_document([DOCUMENTS[i]], normalize_embeddings=True, show_progress_bar=False)[0]
        assert documents.vectors[i].tolist() == pytest.approx(theirs.tolist(), abs=2e-6)


def test_s1_a_query_prompt_is_part_of_what_the_model_reads(model: Any) -> None:
    options = Semantic(query_prompt="query: ")
    prompted = encode(model, ["my wifi does not work"], "query", options)
    spelled = encode(model, ["query: my wifi does not work"], "query", Semantic())
    plain = encode(model, ["my wifi does not work"], "query", Semantic())
    assert prompted.facts["prompt"] == "query: "
    assert prompted.vectors[0].tolist() == pytest.approx(spelled.vectors[0].tolist(), abs=1e-6)
    assert np.abs(prompted.vectors[0] - plain.vectors[0]).max() > 1e-3


def test_encoding_leaves_the_model_as_it_was(model: Any) -> None:
    before = dict(vars(model))
    encode(model, ["one more text"], "document", Semantic())
    assert dict(vars(model)) == before


def test_without_normalisation_the_vectors_keep_the_models_own_length(model: Any) -> None:
    """This model normalises by itself, so the two agree; the choice reaches the model either way (see the prompts)."""
    one = encode(model, DOCUMENTS[:2], "document", Semantic(normalize=False))
    other = encode(model, DOCUMENTS[:2], "document", Semantic(normalize=True))
    assert np.abs(one.vectors - other.vectors).max() < 1e-6


# --- vectors in blocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, np.arange(3, 90, dtype=np.int32)])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_of_any_size_find_the_same(size: int, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from a file that is mapped into memory, and where equal documents lie in different blocks."""
    documents, queries = draw_unit(90, 6, seed=31), draw_unit(5, 6, seed=32)
    documents[[10, 40, 80]] = documents[3]
    documents[60:75] = queries[0]
    expected, _ = rank_semantic(documents, queries, depth=9, rows=rows)
    np.save(tmp_path / "vectors.npy", documents)
    monkeypatch.setattr(semantic, "SEARCHED_TOGETHER", size)
    monkeypatch.setattr(semantic, "MARGIN", 2)
    steps: list[int] = []

    class Seen(Silence):
        @contextlib.contextmanager
        def __call__(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
            assert (description, total) == ("semantic search", 90 if rows is None else 87)
            yield steps.append

    found, _ = rank_semantic(np.load(tmp_path / "vectors.npy", mmap_mode="r"), queries, depth=9, rows=rows, progress=Seen())
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.scores, expected.scores)
    assert sum(steps) == (90 if rows is None else 87), "each vector counts once, however often ties ask again"
    assert expected.rows[0].tolist() == list(range(60, 69))


def test_an_exact_search_copies_no_vectors() -> None:
    documents = draw_unit(50, 4, seed=33)
    assert np.shares_memory(semantic.build_vector_index(documents).searched, documents)


def test_vectors_that_are_not_finite_are_seen_in_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "SEARCHED_TOGETHER", 3)
    vectors = draw_unit(8, 4, seed=34)
    assert semantic.is_finite(vectors)
    vectors[7, 2] = np.nan
    assert not semantic.is_finite(vectors)
