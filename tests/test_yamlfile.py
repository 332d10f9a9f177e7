"""YAML from outside: safe types, every key once, bounded aliases, and the line of whatever is wrong."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.yamlfile import MOST_NODES, dotted, read_yaml


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], object]:
    """Read this text as `config.yaml`; the value that comes out."""

    def read_value(content: str | bytes) -> object:
        path = tmp_path / "config.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return read_yaml(path).value

    return read_value


@pytest.fixture
def refused(tmp_path: Path, read: Callable[[str | bytes], object]) -> Callable[[str | bytes], list[str]]:
    """Read what must be refused; the problem lines, without the folder in front."""

    def problems(content: str | bytes) -> list[str]:
        with pytest.raises(HarnessError) as caught:
            read(content)
        return [problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems]

    return problems


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("+1.5e+2", 150.0),
        (".5", 0.5),
        ("-.2", -0.2),
        ("1.", 1.0),
        ("7", 7),
        ("-7", -7),
        ("010", 10),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("e5", "e5"),
        ("1e", "1e"),
        (".", "."),
        ("'1e-3'", "1e-3"),
        ("~", None),
        ("true", True),
        ("off", False),
    ],
)
def test_y1_a_scalar_has_one_type_by_one_rule(written: str, value: object, read) -> None:
    found = read(f"key: {written}\n")["key"]
    assert found == value
    assert type(found) is type(value)


def test_y1_nan_is_a_number(read) -> None:
    assert math.isnan(read("key: .nan\n")["key"])


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_y1_every_number_as_python_writes_it_is_that_number(number: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "number.yaml"
    path.write_text(f"key: {number!r}\n")
    assert read_yaml(path).value == {"key": number}


def test_y2_a_key_twice_is_refused_with_both_lines(refused) -> None:
    (problem,) = refused("depth: 5\nseed: 1\ndepth: 6\n")
    assert problem.startswith("config.yaml:3: depth: ")
    assert "line 1 " in problem and "line 3" in problem


def test_y2_keys_twice_at_any_depth_are_all_named(refused) -> None:
    first, second, third = refused('a:\n  b: 1\n  "b": 2\nc:\n- {d: 1, d: 2}\na: 3\n')
    assert first.startswith("config.yaml:3: a.b: ")
    assert second.startswith("config.yaml:5: c[0].d: ")
    assert third.startswith("config.yaml:6: a: ")


def test_y2_the_same_value_twice_is_a_key_twice_all_the_same(refused) -> None:
    (problem,) = refused("a: 1\na: 1\n")
    assert problem.startswith("config.yaml:2: a: ")


def test_y2_a_merge_with_an_override_stays_legal(read) -> None:
    text = "one: &one {low: 0, high: 1, log: true}\ntwo:\n  <<: *one\n  high: 2\nthree:\n  <<: [*one, {step: 6}]\n"
    assert read(text) == {
        "one": {"low": 0, "high": 1, "log": True},
        "two": {"low": 0, "high": 2, "log": True},
        "three": {"low": 0, "high": 1, "log": True, "step": 6},
    }


def test_y2_a_key_twice_inside_what_is_merged_is_refused(refused) -> None:
    (problem,) = refused("a:\n  <<: {low: 0, low: 1}\n")
    assert problem.startswith("config.yaml:2")


def test_aliases_are_allowed(read) -> None:
    assert read("a: &a [1, 2]\nb: *a\n") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize("key", ["on", "off", "yes", "No", "true"])
def test_y3_a_key_that_reads_as_true_or_false_is_refused_and_quotes_suggested(key: str, read, refused) -> None:
    (problem,) = refused(f"seed: 1\n{key}: 2\n")
    assert problem.startswith("config.yaml:2: ")
    assert key in problem and "quotes" in problem
    assert read(f"seed: 1\n'{key}': 2\n") == {"seed": 1, key: 2}


@pytest.mark.parametrize("key", ["1", "~", "1.5", "? [a, b]\n", "? {a: b}\n"])
def test_a_key_that_is_not_text_is_refused_with_its_line(key: str, refused) -> None:
    (problem,) = refused(f"seed: 1\n{key}: 2\n")
    assert problem.startswith("config.yaml:2: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n", "\ufeff", "---\n...\n"])
def test_y5_an_empty_file_is_refused_or_holds_nothing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        assert read_yaml(path).value is None
    except HarnessError as error:
        (problem,) = error.problems
        assert problem.startswith(f"{path}: ") and "empty" in problem


TAGS = [
    "!!python/object/apply:os.system ['touch marker']",
    "!!python/object/new:os.system ['touch marker']",
    "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path ['marker']]",
    "!!python/name:os.system ''",
    "!!python/module:os ''",
    "!!python/tuple [1, 2]",
    "!own {a: 1}",
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch marker']",
]


@pytest.mark.parametrize("value", TAGS, ids=lambda value: value.split()[0])
def test_x1_tags_are_refused_with_their_line_and_nothing_is_executed(
    value: str, refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = refused(f"seed: 1\nname: {value}\n")
    assert problem.startswith("config.yaml:2: ")
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    "value", ["!!int one", "!!float one", "!!float ''", "!!bool maybe", "!!timestamp noon", "!!binary ä", "!!int [1]"]
)
def test_x1_a_value_that_its_tag_cannot_hold_is_refused(value: str, refused) -> None:
    (problem,) = refused(f"seed: 1\nname: {value}\n")
    assert problem.startswith("config.yaml")


def explode(kind: str) -> str:
    """Nine levels of nine aliases each: 9 ** 9 values when expanded."""
    lines = ["a0: &a0 {x: 1}" if kind == "merge" else "a0: &a0 [x]"]
    for level in range(1, 10):
        items = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + ("{<<: [" + items + "]}" if kind == "merge" else f"[{items}]"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["list", "merge"])
def test_x1_aliases_that_explode_are_refused_within_bounded_memory(kind: str, refused) -> None:
    tracemalloc.start()
    try:
        (problem,) = refused(explode(kind))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert problem.startswith("config.yaml: ") and "aliases" in problem
    assert peak < 16_000_000  # bytes; expanded it would be 9 ** 9 values


def test_x1_the_limit_counts_values_after_expansion(read, refused) -> None:
    items = MOST_NODES - 3  # less the mapping, the key and the list
    assert len(read(f"a: [{'1, ' * items}]\n")["a"]) == items
    (problem,) = refused(f"a: [{'1, ' * (items + 1)}]\n")
    assert str(MOST_NODES) in problem


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", "&a [[*a]]\n"])
def test_x1_an_alias_inside_itself_is_refused(text: str, refused) -> None:
    (problem,) = refused(text)
    assert problem.startswith("config.yaml:1: ")


@pytest.mark.parametrize("text", ["[" * 20_000, "{a: " * 20_000, "- " * 20_000], ids=["lists", "mappings", "dashes"])
def test_x1_a_file_that_is_nested_too_deep_is_refused(text: str, refused) -> None:
    (problem,) = refused(text)
    assert problem.startswith("config.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 1\nb: @home\n", 2),
        ("a: 1\nb: *nothing\n", 2),
        ("a: 1\n b: 2\n", 2),
        ("a: 1\nb: 'open\n", 3),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: 1\n<<: 5\n", 2),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(text: str, line: int, refused) -> None:
    (problem,) = refused(text)
    assert problem.startswith(f"config.yaml:{line}: ")
    assert "\n" not in problem


def test_a_control_character_is_refused(refused) -> None:
    for text in ("a: \x07\n", "a: 1\nb: x\x00y\n"):
        (problem,) = refused(text)
        assert problem.startswith("config.yaml")
        assert "\n" not in problem


def test_a_number_too_long_to_be_one_is_refused_with_its_line(refused) -> None:
    (problem,) = refused(f"a: 1\nb: {'9' * 5000}\n")
    assert problem.startswith("config.yaml:2: ")


def test_bytes_that_are_not_utf8_are_refused_with_their_line(refused) -> None:
    (problem,) = refused(b"a: 1\nb: caf\xe9\n")
    assert problem.startswith("config.yaml:2: ") and "UTF-8" in problem


def test_d8_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = "a: 1\nb:\n  c: [x, y]\n"
    documents = []
    for content in (plain.encode(), b"\xef\xbb\xbf" + plain.encode(), plain.replace("\n", "\r\n").encode()):
        path = tmp_path / "config.yaml"
        path.write_bytes(content)
        documents.append(read_yaml(path))
    assert documents[0] == documents[1] == documents[2]
    assert documents[0].value == {"a": 1, "b": {"c": ["x", "y"]}}


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.yaml"):
        with pytest.raises(HarnessError) as caught:
            read_yaml(path)
        (problem,) = caught.value.problems
        assert problem.startswith(f"{path}: ")


def test_a_place_is_file_line_and_key_path(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\nsearch:\n  space:\n    fusion:\n    - minmax\n    - rrf\n    b: {low: 0}\n")
    document = read_yaml(path)
    assert document.where(("search", "space", "fusion", 1)) == f"{path}:6: search.space.fusion[1]"
    assert document.where(("search", "space", "b", "low")) == f"{path}:7: search.space.b.low"
    assert document.where(("search", "space", "b", "high")) == f"{path}:7: search.space.b.high"  # the line of what is there
    assert document.where(("name",)) == f"{path}:1: name"
    assert dotted(("a", 0, 1, "b")) == "a[0][1].b"


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(value=st.dictionaries(any_text, any_text, max_size=4))
def test_what_double_quotes_hold_comes_back_as_it_was(value: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    quoted = yaml.safe_dump(value, default_style='"', allow_unicode=False)
    path.write_text(quoted, encoding="utf-8")
    found = read_yaml(path).value
    assert found == value
    assert {key: type(item) for key, item in found.items()} == {key: type(item) for key, item in value.items()}
