"""`check`: each trap planted in a small collection is found and placed; real collections give what is known of them.

Real collections are read from the folder that HARNESS_COLLECTIONS names, in BEIR layout; without it those tests skip.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import harness
from harness.blocks import PACKAGED_MODEL, Semantic
from harness.cli import run
from harness.commands.check import FEW_PROMPTS, Check, judge_size
from harness.config import parse_config
from harness.errors import HarnessError
from harness.prepare import Timings, prepare, read_data, warn
from harness.progress import Silence
from harness.retrieve import embeddings
from harness.semantic import NotCountedError, load_counter, locate_model
from harness.traps import plain_id

HANDBOOK = {
    "corpus": str(ROOT / "corpora/handbook/corpus.jsonl"),
    "queries": str(ROOT / "corpora/handbook/queries.jsonl"),
    "qrels": str(ROOT / "corpora/handbook/qrels/test.tsv"),
}
DOCUMENTS = {"d1": "open the window", "d2": "close the door", "d3": "walk on"}
PROMPTS: dict[str, Any] = {"q1": "window", "q2": "door"}
QRELS = [("q1", "d1", 1), ("q2", "d2", 1)]


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Check]:
    """Check a small collection written here; a prompt is a text, or a dict with more fields."""
    monkeypatch.chdir(tmp_path)

    def check(
        documents: dict[str, str] | None = None,
        prompts: dict[str, Any] | None = None,
        qrels: list[tuple[str, str, int]] | None = None,
        **config: Any,
    ) -> Check:
        docs = DOCUMENTS if documents is None else documents
        asked = PROMPTS if prompts is None else prompts
        judged = QRELS if qrels is None else qrels
        (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"_id": k, "text": v}) + "\n" for k, v in docs.items()))
        lines = [json.dumps({"_id": k, **(v if isinstance(v, dict) else {"text": v})}) + "\n" for k, v in asked.items()]
        (tmp_path / "queries.jsonl").write_text("".join(lines))
        (tmp_path / "qrels.tsv").write_text("".join(f"{q}\t{d}\t{g}\n" for q, d, g in judged))
        unmatched = config.pop("unmatched", "refuse")
        files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv", "unmatched": unmatched}
        return harness.check(parse_config({"name": "small", "collection": files, **config}))

    return check


def examples(result: Check, name: str) -> list[list[str]]:
    """The examples of a note, each as `id file:line`; [] where the note is not there."""
    found = [note for note in result.notes if note.name == name]
    return [[f"{place.id} {place.where}" for place in example] for note in found for example in note.examples]


def count_of(result: Check, name: str) -> int:
    return next((note.count for note in result.notes if note.name == name), 0)


# ---- one trap each --------------------------------------------------------------------------------------------------


def test_what_is_wrong_with_a_tiny_clean_collection_is_only_its_size(look: Callable[..., Check]) -> None:
    assert [note.name for note in look().notes] == ["few_prompts", "tiny_corpus", "single_relevant"]


@pytest.mark.parametrize(
    ("one", "other"), [("d1", "D1"), ("d1", "d 1"), ("caf\u00e9", "cafe\u0301"), ("d1", "d01"), ("x-7", "x-0007")]
)
def test_document_ids_that_are_nearly_the_same(one: str, other: str, look: Callable[..., Check]) -> None:
    documents = {one: "open the window", "d2": "close the door", other: "walk on"}
    result = look(documents, qrels=[("q1", one, 1), ("q2", "d2", 1)])
    assert examples(result, "ids_alike") == [sorted([f"{one} corpus.jsonl:1", f"{other} corpus.jsonl:3"])]


@pytest.mark.parametrize(("one", "other"), [("d1", "d10"), ("10", "1"), ("a0b", "ab"), ("0", ""), ("d-1", "d1")])
def test_ids_that_only_look_related_are_no_trap(one: str, other: str) -> None:
    assert plain_id(one) != plain_id(other)


def test_prompt_ids_that_are_nearly_the_same(look: Callable[..., Check]) -> None:
    result = look(prompts={"q1": "window", "Q1": "door"}, qrels=[("q1", "d1", 1), ("Q1", "d2", 1)])
    assert examples(result, "ids_alike") == [["Q1 queries.jsonl:2", "q1 queries.jsonl:1"]]


def test_ids_with_white_space_are_said_to_be_encoded(look: Callable[..., Check]) -> None:
    result = look({"d1": "open", "door 2": "close", "d3": "walk"}, qrels=[("q1", "d1", 1), ("q2", "door 2", 1)])
    assert examples(result, "ids_encoded") == [["door 2 corpus.jsonl:2"]]


def test_two_ids_that_are_one_when_encoded_are_refused_as_by_tune(look: Callable[..., Check]) -> None:
    with pytest.raises(HarnessError, match="must differ in the TREC files"):
        look({"a b": "one", "a%20b": "two"}, {"q1": "one"}, [("q1", "a b", 1)])


def test_ids_of_both_a_document_and_a_prompt(look: Callable[..., Check]) -> None:
    result = look({"q1": "open the window", "d2": "close the door"}, qrels=[("q1", "q1", 1), ("q2", "d2", 1)])
    assert examples(result, "ids_shared") == [["q1 queries.jsonl:1", "q1 corpus.jsonl:1"]]


def test_prompts_of_one_text_count_as_independent_unless_they_share_a_cluster(look: Callable[..., Check]) -> None:
    prompts = {
        "q1": "The  Window",
        "q2": {"text": "the window ", "cluster": "c"},
        "q3": {"text": "door", "cluster": "d"},
        "q4": {"text": "DOOR", "cluster": "d"},
    }
    result = look(prompts=prompts, qrels=[(q, "d1", 1) for q in prompts])
    assert examples(result, "same_prompts") == [["q1 queries.jsonl:1", "q2 queries.jsonl:2"]]
    assert examples(result, "same_prompts_in_cluster") == [["q3 queries.jsonl:3", "q4 queries.jsonl:4"]]
    assert result.facts["independent_prompts"] == 3  # q1, c, d
    assert result.facts["clusters"] == {"clusters": 2, "prompts_per_cluster": {"min": 1, "median": 1.5, "max": 2}}


def test_a_text_on_both_sides_of_the_split(look: Callable[..., Check]) -> None:
    prompts = {"q1": "window", "q2": "door", "q3": "Window"}
    result = look(prompts=prompts, qrels=[(q, "d1", 1) for q in prompts], held_out=["q3"])
    assert examples(result, "across_the_split") == [["q1 queries.jsonl:1", "q3 queries.jsonl:3"]]
    assert (result.facts["collection"]["queries_used"], result.facts["collection"]["queries_held_out"]) == (2, 1)


def test_a_text_on_both_sides_where_the_held_out_prompts_have_a_file_of_their_own(
    look: Callable[..., Check], tmp_path: Path
) -> None:
    (tmp_path / "later.jsonl").write_text('\n{"_id": "n1", "text": "WINDOW"}\n')
    (tmp_path / "later.tsv").write_text("n1\td1\t1\n")
    result = look(held_out={"queries": "later.jsonl", "qrels": "later.tsv"})
    assert examples(result, "across_the_split") == [["q1 queries.jsonl:1", "n1 later.jsonl:2"]]


def test_a_prompt_that_is_a_document(look: Callable[..., Check]) -> None:
    result = look(prompts={"q1": "Walk on", "q2": "door"})
    assert examples(result, "prompts_are_documents") == [["q1 queries.jsonl:1", "d3 corpus.jsonl:3"]]


def test_prompts_without_judgements_and_without_a_relevant_document(look: Callable[..., Check]) -> None:
    prompts = {"q1": "window", "q2": "door", "q3": "nobody judged this", "q4": "nothing helps"}
    result = look(prompts=prompts, qrels=[*QRELS, ("q4", "d3", 0), ("q4", "d1", -1)])
    assert examples(result, "without_judgements") == [["q3 queries.jsonl:3"]]
    assert examples(result, "without_relevant") == [["q4 queries.jsonl:4"]]
    assert examples(result, "negative_grades") == [["q4 d1 qrels.tsv:4"]]


def test_judged_documents_that_the_corpus_lacks_with_the_id_that_was_meant(look: Callable[..., Check]) -> None:
    prompts = {"q1": "window", "q2": "door", "q3": "walk"}
    qrels = [*QRELS, ("q1", "D02", 1), ("q3", "d03", 2), ("q3", "d99", 0)]
    result = look(prompts=prompts, qrels=qrels)
    assert examples(result, "unknown_documents") == [
        ["D02 qrels.tsv:3", "d2 corpus.jsonl:2"],
        ["d03 qrels.tsv:4", "d3 corpus.jsonl:3"],
        ["d99 qrels.tsv:5"],
    ]
    (message,) = [note.message for note in result.notes if note.name == "unknown_documents"]
    assert message.startswith("3 judged documents") and "2 of them are written almost like" in message
    assert examples(result, "prompts_with_unknown") == [["q1 queries.jsonl:1"], ["q3 queries.jsonl:3"]]
    assert examples(result, "hopeless_prompts") == [["q3 queries.jsonl:3"]]  # q1 has d1 still


def test_judged_prompts_that_the_queries_lack(look: Callable[..., Check]) -> None:
    with pytest.raises(HarnessError, match="2 of 3 judged queries found"):
        look(qrels=[*QRELS, ("q9", "d1", 1)])
    assert examples(look(qrels=[*QRELS, ("q9", "d1", 1)], unmatched="ignore"), "unmatched") == [["q9 qrels.tsv:3"]]


def test_empty_documents_and_those_that_are_relevant(look: Callable[..., Check]) -> None:
    result = look({**DOCUMENTS, "d4": " ", "d5": ""}, qrels=[*QRELS, ("q1", "d4", 1), ("q2", "d5", 0)])
    assert examples(result, "empty_documents") == [["d4 corpus.jsonl:4"], ["d5 corpus.jsonl:5"]]
    assert examples(result, "empty_but_relevant") == [["q1 queries.jsonl:1", "d4 corpus.jsonl:4"]]
    assert count_of(result, "same_documents") == 0  # two empty texts are no copies


def test_documents_of_one_text_and_what_the_judgements_make_of_them(look: Callable[..., Check]) -> None:
    documents = {"d1": "open", "d2": "Open ", "d3": "open", "d4": "close", "d5": "close", "d6": "on"}
    qrels = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d4", 1), ("q3", "d4", 1), ("q3", "d5", 1), ("q4", "d4", 0)]
    result = look(documents, {f"q{i}": f"prompt {i}" for i in (1, 2, 3, 4)}, qrels)
    (note,) = [note for note in result.notes if note.name == "same_documents"]
    assert note.count == 2
    assert "5 documents" in note.message and "2 texts" in note.message and "3 times" in note.message
    assert "4 documents do to the letter" in note.message  # d1 and d3, d4 and d5; d2 is stripped, but has a capital
    trio = ["d1 corpus.jsonl:1", "d2 corpus.jsonl:2", "d3 corpus.jsonl:3"]
    assert examples(result, "uneven_twins") == [["q1 queries.jsonl:1", *trio]]  # 2 and 0
    pair = ["d4 corpus.jsonl:4", "d5 corpus.jsonl:5"]
    assert examples(result, "half_judged_twins") == [["q2 queries.jsonl:2", *pair]]  # q3 judged both, q4 has a 0


def test_a_share_of_prompts_with_a_single_relevant_document(look: Callable[..., Check]) -> None:
    some = {"q1": "window", "q2": "door", "q3": "walk"}
    most = look(prompts=some, qrels=[("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d3", 1), ("q3", "d1", 2)])
    assert "2 of 3 prompts (67%)" in next(note.message for note in most.notes if note.name == "single_relevant")
    half = look(qrels=[("q1", "d1", 1), ("q2", "d2", 1), ("q2", "d1", 2)])
    assert "single_relevant" not in [note.name for note in half.notes]


def test_at_most_five_examples_and_the_count_of_all(look: Callable[..., Check], capsys: pytest.CaptureFixture[str]) -> None:
    result = look({f"d {i}": f"text {i}" for i in range(1, 9)}, {"q1": "text"}, [("q1", "d 1", 1)])
    assert count_of(result, "ids_encoded") == 8
    assert [line for (line,) in examples(result, "ids_encoded")] == [f"d {i} corpus.jsonl:{i}" for i in (1, 2, 3, 4, 5)]


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_the_counts_of_a_collection_by_hand(look: Callable[..., Check]) -> None:
    documents = {f"d{i}": " ".join(["word"] * i) for i in range(1, 21)}  # 1 to 20 words
    prompts = {"q1": {"text": "a b c", "group": "x"}, "q2": {"text": "a", "group": "x"}, "q3": {"text": "b", "group": "y"}}
    qrels = [("q1", "d1", 3), ("q1", "d2", 1), ("q1", "d3", 0), ("q2", "d1", 1), ("q3", "d4", 2), ("q3", "d5", -1)]
    facts = look(documents, prompts, qrels, measures={"relevance_threshold": 2}).facts
    assert facts["collection"] == {
        "documents": 20,
        "queries": 3,
        "queries_used": 2,
        "queries_held_out": 0,
        "judgements": 6,
        "queries_without_judgements": 0,
        "queries_without_relevant": 1,  # q2: a 1 is below the threshold
    }
    assert facts["grades"] == {"-1": 1, "0": 1, "1": 2, "2": 1, "3": 1}
    assert facts["judgements_per_prompt"] == {"min": 1, "median": 2, "max": 3}
    assert facts["relevant_per_prompt"] == {"min": 0, "median": 1, "max": 1}
    assert facts["groups"] == {"x": 1, "y": 1} and facts["clusters"] == {}
    assert facts["words"]["documents"] == {"median": 10.5, "p95": 19, "max": 20}  # 19 of 20 are at most 19
    assert facts["words"]["prompts"] == {"median": 2, "p95": 3, "max": 3}


@pytest.mark.parametrize(("n", "said"), [(9, "at least 10"), (10, "only a large gain"), (24, "only a large"), (25, "enough")])
def test_the_sentence_about_size_and_when_it_is_a_note(n: int, said: str, look: Callable[..., Check]) -> None:
    prompts = {f"q{i:02}": f"prompt number {i}" for i in range(n)}
    result = look(prompts=prompts, qrels=[(q, "d1", 1) for q in prompts])
    assert said in result.size == judge_size(n)
    assert ("few_prompts" in [note.name for note in result.notes]) is (n < FEW_PROMPTS)


def test_the_size_of_the_space_and_what_k_does(look: Callable[..., Check]) -> None:
    space = {"semantic_weight": [0.2, 0.5], "top_k": {"low": 2, "high": 4}, "fusion": ["minmax", "rrf"], "rrf_k": [10, 60]}
    result = look(search={"trials": 50, "space": space}, objective="MAP@10")
    assert result.facts["space"] == {
        "sampler": "tpe",
        "trials": 50,
        "discrete_settings": 3,  # minmax, and rrf with two constants
        "combinations": 2 * 3 * 3,
        "picks_itself": True,
    }
    assert {"picks_itself", "small_space"} <= {note.name for note in result.notes}
    free = look(
        objective="F1@top_k", search={"space": {"top_k": {"low": 2, "high": 4}, "semantic_weight": {"low": 0, "high": 1}}}
    )
    assert "combinations" not in free.facts["space"] and free.facts["space"]["picks_itself"] is False
    assert not {"picks_itself", "small_space"} & {note.name for note in free.notes}


def test_the_analyzer_that_does_not_suit_the_texts(look: Callable[..., Check]) -> None:
    chinese = {"d1": "打开窗户让空气进来" * 30, "d2": "关上门"}
    note = next(n for n in look(chinese, keyword={"analyzer": "simple"}).notes if n.name == "analyzer")
    assert "cjk looks like the better choice" in note.message
    assert "analyzer" not in [n.name for n in look(chinese, keyword={"analyzer": "cjk"}).notes]
    french = {"d1": "ouvrir la fenêtre de la maison et la porte avec les clés " * 30, "d2": "porte"}
    assert "analyzer" in [n.name for n in look(french, keyword={"analyzer": "english"}).notes]
    assert "analyzer" not in [n.name for n in look(french, keyword={"analyzer": "french"}).notes]


# ---- tokens ---------------------------------------------------------------------------------------------------------


def test_the_tokens_are_those_of_the_model(look: Callable[..., Check], cache: Path) -> None:
    config = parse_config({"name": "x", "collection": HANDBOOK, "cache": str(cache), "keyword": {"analyzer": "english"}})
    dataset = read_data(config)
    documents, queries = embeddings(dataset, config, Silence())
    tokens = harness.check(config).facts["tokens"]
    assert tokens["counted"] and tokens["limit"] == documents.facts["max_seq_length"] == 256
    assert tokens["documents"]["longer"] == documents.facts["cut"] == 4
    assert tokens["prompts"]["longer"] == queries.facts["cut"] == 0


def test_a_text_is_too_long_from_the_token_after_the_limit_on(look: Callable[..., Check]) -> None:
    documents = {"d1": "a b c", "d2": "a b c d", "d3": "a b c d e f"}  # and two marks each: 5, 6, 8
    result = look(documents, semantic={"max_seq_length": 5})
    assert examples(result, "long_documents") == [["d3 corpus.jsonl:3"], ["d2 corpus.jsonl:2"]]  # the longest first
    assert result.facts["tokens"]["documents"] == {"median": 6, "p95": 8, "max": 8, "longer": 2}
    prompted = look(documents, semantic={"max_seq_length": 6, "document_prompt": "q q "})
    assert prompted.facts["tokens"]["documents"]["longer"] == 3  # the prompt is read too
    assert examples(look(semantic={"max_seq_length": 3, "query_prompt": "q "}), "long_prompts") == [
        ["q1 queries.jsonl:1"],
        ["q2 queries.jsonl:2"],
    ]


def test_a_model_of_the_hub_is_not_asked_for(look: Callable[..., Check]) -> None:
    tokens = look(semantic={"model": "somebody/some-model"}).facts["tokens"]
    assert tokens == {"counted": False, "reason": "somebody/some-model is no folder, and nothing is downloaded to look"}


def test_a_folder_that_lacks_the_files_of_a_tokenizer_is_said(look: Callable[..., Check], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    assert "names no max_seq_length" in look(semantic={"model": str(folder)}).facts["tokens"]["reason"]
    assert "is not there" in look(semantic={"model": str(folder), "max_seq_length": 5}).facts["tokens"]["reason"]
    (folder / "tokenizer.json").write_text("{}")
    assert "is no tokenizer" in look(semantic={"model": str(folder), "max_seq_length": 5}).facts["tokens"]["reason"]


def test_a_models_own_prompts_and_limit_are_read_from_its_folder(tmp_path: Path) -> None:
    packaged = locate_model(Semantic(model=PACKAGED_MODEL))
    assert packaged is not None
    (tmp_path / "tokenizer.json").write_bytes((packaged / "tokenizer.json").read_bytes())
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 17}')
    (tmp_path / "config_sentence_transformers.json").write_text('{"prompts": {"query": "ask: "}}')
    counter = load_counter(Semantic(model=str(tmp_path)))
    assert (counter.limit, counter.prompts) == (17, {"query": "ask: ", "document": ""})
    assert list(counter.count(["a", ""], "query")) == [5, 4]  # two marks, ask, a colon, and the text
    assert load_counter(Semantic(model=str(tmp_path), query_prompt="")).prompts["query"] == ""
    (tmp_path / "sentence_bert_config.json").write_text("[]")
    with pytest.raises(NotCountedError):
        load_counter(Semantic(model=str(tmp_path)))


# ---- the command ----------------------------------------------------------------------------------------------------


def test_check_says_what_tune_would_warn_of_without_retrieval(write_config: Callable[..., Path]) -> None:
    path = write_config()
    prepared_config = harness.check(path).config
    prepared = prepare(prepared_config, read_data(prepared_config), Silence(), Timings())
    retrieval = set(prepared.retrieved.warnings)
    assert set(warn(prepared)) - retrieval <= {note.message for note in harness.check(path).notes}


def test_nothing_is_written_and_no_model_is_loaded(write_config: Callable[..., Path], workdir: Path) -> None:
    path = write_config(cache="new-cache")
    code = (
        "import sys; from harness.cli import run; code = run(['check', sys.argv[1], '--quiet']);"
        "heavy = {'torch', 'sentence_transformers', 'transformers', 'pandas'} & set(sys.modules);"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    answer = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "24 documents, 12 prompts (12 used), 18 judgements" in answer.stdout
    assert sorted(p.name for p in workdir.iterdir()) == ["study.yaml"]


def test_the_command_prints_notes_with_places_and_ends_with_0(
    look: Callable[..., Check], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    look({**DOCUMENTS, "d4": ""})
    config = "collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}\n"
    (tmp_path / "small.yaml").write_text(config)
    assert run(["check", "small.yaml", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "study small: 4 documents, 2 prompts (2 used), 2 judgements" in out
    assert re.search(r"^note: 1 documents are empty.*\n  d4 \(corpus.jsonl:4\)$", out, flags=re.MULTILINE)
    assert run(["check", "small.yaml", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["collection"]["documents"] == 4 and printed["study"] == "small"
    (note,) = [note for note in printed["notes"] if note["name"] == "empty_documents"]
    assert note["examples"] == [[{"kind": "document", "id": "d4", "where": "corpus.jsonl:4"}]] and note["count"] == 1


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("semantic: {model: ./nowhere}", "semantic.model"),
        ("semantic: {index: Nonsense}", "semantic.index"),
        ("held_out: [q9]", "held_out"),
        ("depth: 0", "bad.yaml:2: depth"),
    ],
)
def test_what_tune_refuses_is_refused_here(
    line: str, place: str, look: Callable[..., Check], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    look()
    config = "collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}\n"
    (tmp_path / "bad.yaml").write_text(config + line + "\n")
    assert run(["check", "bad.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(place) and len(err.splitlines()) == 1


def test_the_problems_of_all_files_come_in_one_go(
    look: Callable[..., Check], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    look()
    (tmp_path / "small.yaml").write_text("collection: {corpus: corpus.jsonl, queries: no.jsonl, qrels: qrels.tsv}\n")
    (tmp_path / "corpus.jsonl").write_text("nonsense\n")
    assert run(["check", "small.yaml"]) == 2
    assert [line.split(": ")[0] for line in capsys.readouterr().err.splitlines()] == ["corpus.jsonl:1", "no.jsonl"]


# ---- real collections: what their sources say of them -------------------------------------------------------------


def collection(name: str, qrels: str = "qrels/test.tsv", **config: Any) -> Check:
    root = os.environ.get("HARNESS_COLLECTIONS")
    if root is None:
        pytest.skip("HARNESS_COLLECTIONS names no folder of real collections")
    folder = Path(root) / name
    files = {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl"), "qrels": str(folder / qrels)}
    return harness.check(parse_config({"name": name, "collection": files, **config}))


def ids(result: Check, name: str) -> list[str]:
    return [place.split()[0] for example in examples(result, name) for place in example]


@pytest.mark.parametrize(
    ("name", "documents", "queries", "used", "judgements", "relevant"),
    [
        ("cacm", 3204, 64, 52, 796, (1, 12, 51)),
        ("cranfield", 1400, 225, 225, 1837, (1, 6, 39)),
        ("faq_fr", 523, 168, 168, 177, (1, 1, 2)),
        ("medline", 1033, 30, 30, 696, (9, 22.5, 39)),
        ("rag_docs", 232, 100, 100, 192, (1, 2, 4)),
        ("reading_fa", 1265, 1295, 570, 570, (1, 1, 1)),
    ],
)
def test_the_counts_are_those_of_the_sources(
    name: str, documents: int, queries: int, used: int, judgements: int, relevant: tuple[float, ...]
) -> None:
    facts = collection(name).facts
    counts = facts["collection"]
    assert (counts["documents"], counts["queries"], counts["queries_used"]) == (documents, queries, used)
    assert counts["judgements"] == judgements and tuple(facts["relevant_per_prompt"].values()) == relevant


def test_cacm_has_prompts_without_judgements_and_copies() -> None:
    result = collection("cacm")
    assert count_of(result, "without_judgements") == 12 and ids(result, "without_judgements") == ["34", "35", "41", "46", "47"]
    assert count_of(result, "same_documents") == 152
    assert "333 documents do to the letter" in next(n.message for n in result.notes if n.name == "same_documents")


def test_cacms_faulty_qrels_write_document_ids_with_zeros_in_front() -> None:
    result = collection("cacm", "../trec_eval_cases/published_runs_glasgow/cacm.published.qrels")
    (note,) = [note for note in result.notes if note.name == "unknown_documents"]
    assert [place.id for place in note.examples[0]] == ["0756", "756"]
    assert f"{note.count} of them are written almost like an id" in note.message  # every one of them


def test_cranfield_has_grades_empty_documents_and_ids_on_both_sides() -> None:
    result = collection("cranfield")
    assert result.facts["grades"] == {"0": 225, "1": 363, "2": 734, "3": 387, "4": 128}
    assert ids(result, "empty_documents") == ["471", "995"]
    assert count_of(result, "ids_shared") == 225
    raw = collection("cranfield", "qrels/test_raw_codes.tsv")
    assert raw.facts["grades"]["-1"] == 225 == count_of(raw, "negative_grades")


def test_faq_fr_has_56_clusters_of_three() -> None:
    result = collection("faq_fr")
    assert result.facts["independent_prompts"] == 56
    assert result.facts["clusters"] == {"clusters": 56, "prompts_per_cluster": {"min": 3, "median": 3, "max": 3}}
    assert "159 of 168 prompts (95%)" in next(n.message for n in result.notes if n.name == "single_relevant")


def test_rag_docs_has_documents_far_beyond_the_window() -> None:
    result = collection("rag_docs")
    assert result.facts["words"]["documents"]["max"] >= 14_172 and result.facts["tokens"]["documents"]["longer"] > 50
    assert count_of(result, "unknown_documents") == 0


def test_reading_fa_has_a_question_in_two_splits() -> None:
    root = os.environ.get("HARNESS_COLLECTIONS", "")
    held = {"queries": f"{root}/reading_fa/queries.jsonl", "qrels": f"{root}/reading_fa/qrels/dev.tsv"}
    with pytest.raises(HarnessError, match="got 1 on both sides: 'dev-086'"):
        collection("reading_fa", "qrels/train.tsv", held_out=held)
