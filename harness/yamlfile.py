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
    return int(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


@dataclass(frozen=True)
class YamlDocument:
    """The parsed value, and for error messages the line of every key path and how its scalar was written."""

    path: Path
    value: Any
    lines: dict[KeyPath, int]
    written: dict[KeyPath, str]

    def where(self, keys: KeyPath) -> str:
        """`file:line: key.path`, with the line of the nearest key that the file has."""
        known = keys
        while known and known not in self.lines:
            known = known[:-1]
        place = f"{self.path}:{self.lines[known]}" if known in self.lines else str(self.path)
        return f"{place}: {dotted(keys)}" if keys else place


def dotted(keys: KeyPath) -> str:
    """A key path as text: `search.space.fusion[1]`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def read_yaml(path: Path) -> YamlDocument:
    """The one document of a YAML file; HarnessError with file and line for whatever does not hold."""
    text = read_text(path)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise HarnessError(f"{path}: must hold a mapping of keys to values, got an empty file")
        problems = Problems()
        lines: dict[KeyPath, int] = {}
        written: dict[KeyPath, str] = {}
        _check_size(node, path)
        _walk(node, (), path, problems, lines, written)
        problems.raise_any()
        value = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise HarnessError(f"{path}{line}: must be plain YAML, got: {error.problem or error}") from None
    except yaml.YAMLError as error:
        raise HarnessError(f"{path}: must be plain YAML, got: {str(error).splitlines()[0]}") from None
    except (ValueError, RecursionError) as error:
        raise HarnessError(f"{path}: must be plain YAML, got: {error}") from None
    finally:
        loader.dispose()
    return YamlDocument(path, value, lines, written)


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


def _walk(
    node: yaml.Node,
    keys: KeyPath,
    path: Path,
    problems: Problems,
    lines: dict[KeyPath, int],
    written: dict[KeyPath, str],
) -> None:
    lines.setdefault(keys, node.start_mark.line + 1)
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
                continue  # what it brings may be overridden: that is what a merge is for
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
