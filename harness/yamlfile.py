"""YAML that nobody can trip over: safe types only, every key once, bounded aliases, and the line of every key.

Numbers follow YAML 1.2: `1e-3` is a number, `010` is ten, a date or `1:30` is text. `yes`, `no`, `on`, `off` stay
YAML 1.1 booleans, as PyYAML's users know them; the config's type errors suggest quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import HarnessError, Problems
from harness.files import read_text

MOST_NODES = 10_000  # after expanding aliases: a config has a few dozen
MOST_DIGITS = 4000  # Python refuses longer ones without saying where
PLAIN_TAGS = "tag:yaml.org,2002:"
KeyPath = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2 numbers; dates and sexagesimal numbers stay text."""


_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag not in _NUMBER_TAGS]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
    list("-+0123456789."),
)


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    if len(text) > MOST_DIGITS:
        raise yaml.MarkedYAMLError(problem=f"a number of {len(text)} digits", problem_mark=node.start_mark)
    try:
        return int(text)
    except ValueError:
        raise yaml.MarkedYAMLError(problem=f"{text[:40]!r} as a whole number", problem_mark=node.start_mark) from None


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


_RESOLVER = _Loader("")  # knows what a value's looks make it


@dataclass(frozen=True)
class YamlDocument:
    """The parsed value, and for error messages the line of every key path and how its scalar was written."""

    path: Path
    value: Any
    lines: dict[KeyPath, int]
    written: dict[KeyPath, str]
    problems: tuple[str, ...] = ()

    def where(self, keys: KeyPath) -> str:
        """`file:line: key.path`, with the line of the nearest key that the file has."""
        known = keys
        while known and known not in self.lines:
            known = known[:-1]
        place = f"{self.path}:{self.lines[known]}" if known in self.lines else str(self.path)
        return f"{place}: {dotted(keys)}" if keys else place


def dotted(keys: KeyPath) -> str:
    """A key path as text on one line: `search.space.fusion[1]`; a key with control characters is quoted."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key if key.isprintable() else repr(key)}" for key in keys)
    return "".join(parts).removeprefix(".")


def read_yaml(path: Path, *, collect: bool = False) -> YamlDocument:
    """The one document of a YAML file; HarnessError with file and line for whatever is no plain YAML.

    With `collect`, keys that stand twice, or are no text, are kept in `problems` for whoever checks the values, so that
    all of it is reported together; keys that are no text are left out of `value`.
    """
    text = read_text(path)
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        bad = text.count("\n", 0, error.position) + 1
        raise HarnessError(f"{path}:{bad}: must be plain YAML, got a control character (U+{error.character:04X})") from None
    try:
        node = loader.get_single_node()
        if node is None:
            raise HarnessError(f"{path}: must hold a mapping of keys to values, got an empty file")
        problems = Problems()
        lines: dict[KeyPath, int] = {}
        written: dict[KeyPath, str] = {}
        _check_size(node, path)
        _walk(node, (), path, problems, lines, written)
        if not collect:
            problems.raise_any()
        value = _text_keys(loader.construct_document(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise HarnessError(f"{path}{line}: must be plain YAML, got: {error.problem or error}") from None
    except yaml.YAMLError as error:
        raise HarnessError(f"{path}: must be plain YAML, got: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise HarnessError(f"{path}: must be plain YAML, got values nested too deep") from None
    except (
        AttributeError,
        KeyError,
        ValueError,
        TypeError,
        OverflowError,
    ) as error:  # a date or a tagged key that PyYAML cannot construct
        raise HarnessError(f"{path}: must be plain YAML, got a value that cannot be read ({str(error)[:80]!r})") from None
    finally:
        loader.dispose()
    return YamlDocument(path, value, lines, written, tuple(problems.lines))


def _text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _text_keys(item) for key, item in value.items() if isinstance(key, str)}
    return [_text_keys(item) for item in value] if isinstance(value, list) else value


def _check_size(root: yaml.Node, path: Path) -> None:
    sizes: dict[int, int] = {}

    def size(node: yaml.Node, above: frozenset[int]) -> int:
        if id(node) in above:
            raise HarnessError(f"{path}:{node.start_mark.line + 1}: an alias must not contain itself")
        if id(node) not in sizes:
            children: list[yaml.Node] = []
            if isinstance(node, yaml.MappingNode):
                children = [child for pair in node.value for child in pair]
            elif isinstance(node, yaml.SequenceNode):
                children = node.value
            sizes[id(node)] = 1 + sum(size(child, above | {id(node)}) for child in children)
        return sizes[id(node)]

    if size(root, frozenset()) > MOST_NODES:
        raise HarnessError(f"{path}: must have at most {MOST_NODES} values after expanding aliases, got {sizes[id(root)]}")


def _is_tagged(node: yaml.Node) -> bool:
    """Whether the file gives this value a type of its own, such as `!!float ''`, instead of leaving it to its looks."""
    if isinstance(node, yaml.ScalarNode):
        plain = node.style is None
        expected = _RESOLVER.resolve(yaml.ScalarNode, node.value, (plain, not plain))  # type: ignore[no-untyped-call]
        return bool(node.tag != expected)
    kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
    return node.tag != f"{PLAIN_TAGS}{kind}"


def _walk(
    node: yaml.Node,
    keys: KeyPath,
    path: Path,
    problems: Problems,
    lines: dict[KeyPath, int],
    written: dict[KeyPath, str],
) -> None:
    lines.setdefault(keys, node.start_mark.line + 1)
    if not node.tag.startswith(PLAIN_TAGS):
        raise HarnessError(f"{path}:{node.start_mark.line + 1}: must be plain YAML without tags, got {node.tag!r}")
    if _is_tagged(node):
        raise HarnessError(f"{path}:{node.start_mark.line + 1}: must be plain YAML without tags, got a tag; take it out")
    if isinstance(node, yaml.ScalarNode):
        written[keys] = node.value
    elif isinstance(node, yaml.SequenceNode):
        for i, child in enumerate(node.value):
            _walk(child, (*keys, i), path, problems, lines, written)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                _walk(child, (*keys, "<<"), path, problems, lines, written)  # what it brings may be overridden
                continue
            if key.tag == "tag:yaml.org,2002:bool":
                problems.add(
                    f"{path}:{line}", f"a key must be text, got {key.value}, which YAML reads as true or false; put quotes"
                )
                continue
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                shown = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                problems.add(f"{path}:{line}", f"a key must be text, got {shown!r}; put quotes if it is meant")
                continue
            if key.value in seen:
                problems.add(
                    f"{path}:{line}: {dotted((*keys, key.value))}",
                    f"a key must stand once, it is on line {seen[key.value]} and on line {line}; take one out",
                )
            seen.setdefault(key.value, line)
            lines[(*keys, key.value)] = line
            _walk(child, (*keys, key.value), path, problems, lines, written)


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes text which `read_yaml` would take for something else; everything else as PyYAML writes it."""


_Dumper.yaml_implicit_resolvers = {
    first: [*yaml.SafeDumper.yaml_implicit_resolvers.get(first, []), *_Loader.yaml_implicit_resolvers.get(first, [])]
    for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_Loader.yaml_implicit_resolvers}
}


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    unusual = not text.isprintable() and bool(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if unusual else None)


_Dumper.add_representer(str, _represent_text)


def dump_yaml(value: Any) -> str:
    """YAML that `read_yaml` reads as the same value: keys in their order, text with unusual characters in double quotes."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
