"""Broken bytes for every reader of outside bytes: each must give a result or a refusal in plain lines, soon, in little memory.

    python benchmarks/fuzz.py [--inputs 100000] [--seed 0] [--reader NAME] [--only NUMBER]

Inputs start from valid documents (a small study is made first; no model is loaded and nothing is encoded) and are changed at
two levels: of structure (keys dropped, doubled, renamed; other types and numbers; nesting; tags, aliases, merges; columns) and
of bytes. An input is the same for the same seed, reader and number; `--only` shows one and what it does.

A find is anything but a result or a HarnessError (DamagedFileError for arrays) with lines that are each one line: a traceback,
more than SECONDS of processor time, more than MEGABYTES of memory, or a refusal that is empty or spills over its line. What was
read is used as the next step of a command would use it (ranked, resumed, compared), so that a value that passes the reader and
breaks there is found too. The table counts per reader what was accepted, refused, and the share of inputs that got past the
syntax to the checks of the fields.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness import keyword, record, semantic, study
from harness.analyzers import ANALYZERS, analyze_simple, make_analyzer
from harness.blocks import Fields, GivenVectors, Keyword
from harness.bm25 import VARIANTS, rank_keyword
from harness.candidates import merge_lists
from harness.chunks import Chunking
from harness.collection import DataFiles, Source, read_dataset
from harness.commands import reproduce, watch
from harness.commands.import_run import import_run
from harness.commands.tune import run_study
from harness.config import Config, parse_config, read_config, read_weights
from harness.errors import HarnessError
from harness.fields import texts_to_index, with_titles
from harness.files import RUN_TIES, DamagedFileError, digest_of, read_arrays, read_run
from harness.folder import SETTINGS, read_prepared, read_study, refuse_unserved, setting_of
from harness.given import read_given_vectors, say_norms
from harness.hybrid import Hybrid
from harness.ids import encode_ids
from harness.prepare import Prepared, Timings, split_held_out
from harness.progress import Silence
from harness.retrieve import load_retrieved
from harness.runs import read_foreign_runs
from harness.space import count_points
from harness.types import Dataset, Params, RankedLists, Retrieved

SECONDS = 3.0  # of processor time for one input of a few kB
MEGABYTES = 256  # by which one input may raise the process's peak
ROOM = 2 << 30  # of address space beyond what is in use before the input: what asks for more gets a MemoryError

Files = dict[str, bytes]  # the changed files of one input, by name


# ---- trees: documents with doubled keys, and with text that is written as it stands -----------------------------------


class Raw(str):
    """Text that stands in the document as it is."""


class Map(list):  # type: ignore[type-arg]
    """A mapping as a list of [key, value], so that a key can stand twice."""


def to_tree(value: Any) -> Any:
    """Dicts as Map, all the way down."""
    if isinstance(value, dict):
        return Map([key, to_tree(item)] for key, item in value.items())
    return [to_tree(item) for item in value] if isinstance(value, (list, tuple)) else value


def to_json(tree: Any, ascii_only: bool = True) -> str:
    """JSON, but for Raw parts."""
    if isinstance(tree, Raw):
        return str(tree)
    if isinstance(tree, Map):
        pairs = (
            f"{to_json(key if isinstance(key, str) else str(key), ascii_only)}: {to_json(item, ascii_only)}" for key, item in tree
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(to_json(item, ascii_only) for item in tree) + "]"
    return json.dumps(tree, ensure_ascii=ascii_only)


PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./@-]*")
WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def scalar(value: Any) -> str:
    """One YAML scalar."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) and value.lower() not in WORDS else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def to_yaml(tree: Any, rng: random.Random, indent: int = 0) -> str:
    """Block YAML, some parts in flow style."""
    pad = " " * indent
    if isinstance(tree, (Map, list)) and tree and indent < 40 and rng.random() > 0.1:
        lines = []
        for item in tree:
            head, value = (f"{pad}{scalar(item[0])}:", item[1]) if isinstance(tree, Map) else (f"{pad}-", item)
            if isinstance(value, (Map, list)) and value:
                below = to_yaml(value, rng, indent + 2)
                lines.append(f"{head} {below}" if below.startswith(("{", "[")) else f"{head}\n{below}")
            else:
                lines.append(f"{head} {flow(value)}")
        return "\n".join(lines)
    return flow(tree)


def flow(tree: Any) -> str:
    """Flow YAML."""
    if isinstance(tree, Map):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in tree) + "}"
    return "[" + ", ".join(flow(item) for item in tree) + "]" if isinstance(tree, list) else scalar(tree)


def slots(tree: Any) -> list[tuple[Any, int]]:
    """Every place of the tree: its container and the index in it."""
    found, todo = [], [tree]
    while todo:
        container = todo.pop()
        if isinstance(container, (Map, list)):
            for i, item in enumerate(container):
                found.append((container, i))
                todo.append(item[1] if isinstance(container, Map) else item)
    return found


def get(slot: tuple[Any, int]) -> Any:
    """The value at a place."""
    container, i = slot
    return container[i][1] if isinstance(container, Map) else container[i]


def put(slot: tuple[Any, int], value: Any) -> None:
    """Another value at a place."""
    container, i = slot
    if isinstance(container, Map):
        container[i] = [container[i][0], value]
    else:
        container[i] = value


def copy(tree: Any) -> Any:
    """The same, apart."""
    if isinstance(tree, Map):
        return Map([key, copy(item)] for key, item in tree)
    return [copy(item) for item in tree] if isinstance(tree, list) else tree


# ---- oddities ---------------------------------------------------------------------------------------------------------

TEXTS = [
    "", " ", "\t", "a\nb", "a\r\nb", "\x00", "\x1b[31m", "\x85", "\u2028", "\u202eabc", "\u200f", "\ufeff", "\xa0", "é",
    "e\u0301",
    "ﬁ", "İ", "ß", "\U0001f600", "\ud800", "\udfff", "床前明月光", "NA", "null", "None", "nan", "1e5", "001", "1.0", "-", "=1+1",
    "%20", "../x", "~", "a" * 5000, "x " * 400, "9" * 5000, "٣", "१", "²", "q1", "d1", "true", "MAP@" + "9" * 5000, "MAP@0",
    "MAP@٣",
]  # fmt: skip
NUMBERS = [
    0, -1, 1, 2, 3, 10, 100, 1000, 10**6, 10**6 + 1, 2**31 - 1, 2**31, 2**32, 2**63, -(2**63), 2**64, 10**18, 10**30, 10**299,
    10**301, 10**400, 0.5, 0.1, 1.5, -0.2, 1.2, -0.0, 1e-9, 1e-300, 5e-324, 1e15, 1e300, 1.7976931348623157e308, 0.3, 1e-3, 7,
]  # fmt: skip
JSON_RAW = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "1" * 5000, "1" * 4000, "-0", "0.1e1", '"\\ud800"',
            '"\\u0000"', "tru", "'x'", "01", "", "[", "{}", "[]", '{"a": 1, "a": 2}']  # fmt: skip
YAML_RAW = [
    ".nan", ".inf", "-.inf", "1e999", "1e-999", "0x10", "1_000", "0o17", "1:30", "2024-01-01", "2001-99-99", "010", "on", "off",
    "no", "yes", "=", "<<", "~", "''", '""', "1" * 5000, "-" + "1" * 4000, "!!int x", "!!int ''", '!!float ""', "!!bool x",
    "!!null x", "!!timestamp 2001-99-99", "!!binary '*'", "!!set {a, b}", "!!omap [a: 1]", "!!pairs [a: 1]", "!!str 5", "!x y",
    "!!python/object/apply:os.system [echo]", "!!python/name:os.system x", "*a0", "*missing", "&a0 [*a0]", "&a0 {x: *a0}",
    "&a0 x",
    "{<<: *a0}", "{<<: [*a0, *a0]}", "{<<: x}", "{? [a] : b}", "{? {a: b} : c}", "!<tag:yaml.org,2002:int> 5", "!e!x 1", "|\n  x",
    "? x", "'a\n\n  b'", '"\\ud800"', '"\\x00"', '"\\e[31m"', "@x", "`x`", "%x", "[", "]", "{", "}", "- x", "a: b", "# x", "\t1",
    "1e3", "+1", ".5", "1.", "-.5e-3", "&a1 [1, 2]", "*a1",
]  # fmt: skip
YAML_KEYS = [Raw(k) for k in ("on", "no", "~", "1", "1.5", "<<", "=", "? [a]", "? {a: b}", "!!int x", "!!float x",
    "!!timestamp 2001-99-99",
             "!!bool x", "!!null x", "!!binary x", "*a0", "&k key", "!!str name", "!!merge x", ".nan", "2001-01-01",
             "'<<'")]  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """How trees of one reader change: raw texts and keys of its format, the names that it knows, plausible values by key."""

    raw: tuple[str, ...] = tuple(JSON_RAW)
    raw_keys: tuple[Raw, ...] = ()
    known: dict[str, list[Any]] = field(default_factory=dict)


def odd_text(rng: random.Random) -> str:
    """A text that somebody will have."""
    return rng.choice(TEXTS)


def odd_value(rng: random.Random, kind: Kind) -> Any:
    """A value of some other type or size."""
    draw = rng.random()
    if draw < 0.3:
        return rng.choice(NUMBERS)
    if draw < 0.45:
        return odd_text(rng)
    if draw < 0.6:
        return Raw(rng.choice(kind.raw))
    if draw < 0.75:
        return rng.choice([None, True, False, [], Map(), [None], [[]], Map([["low", 0], ["high", 1]])])
    if draw < 0.78:
        opened = rng.choice([5, 50, 300, 340, 900, 990, 3000])
        return Raw("[" * opened + "]" * opened) if rng.random() < 0.5 else Raw('{"a":' * opened + "1" + "}" * opened)
    if kind.known:
        return copy(to_tree(rng.choice(rng.choice(list(kind.known.values())))))
    return rng.random() * rng.choice([1, 10, 1e9])


def other_number(rng: random.Random, value: float) -> Any:
    """A number near to this one, or far from it."""
    changes: list[Callable[[Any], Any]] = [
        lambda x: -x, lambda x: x + 1, lambda x: x - 1, lambda x: x * 10, lambda x: x / 10, lambda x: float(x), lambda x: str(x),
        lambda x: x * 1e-9, lambda x: x + 0.5, lambda x: [x], lambda _: rng.choice(NUMBERS),
    ]  # fmt: skip
    try:
        return rng.choice(changes)(value)
    except OverflowError:
        return 0


def misspelt(rng: random.Random, text: str) -> str:
    """One letter dropped, doubled or swapped."""
    if len(text) < 2:
        return text + "x"
    i = rng.randrange(len(text) - 1)
    return rng.choice([text[:i] + text[i + 1 :], text[:i] + text[i] + text[i:], text[:i] + text[i + 1] + text[i] + text[i + 2 :]])


def change_tree(tree: Any, rng: random.Random, kind: Kind) -> Any:
    """One change of structure; the tree is changed in place, and may be another one afterwards."""
    places = slots(tree)
    if not places:
        return odd_value(rng, kind)
    slot = rng.choice(places)
    container, i = slot
    value = get(slot)
    match rng.randrange(14):
        case 0:
            del container[i]
        case 1:
            container.insert(rng.randrange(len(container) + 1), copy(container[i]))
        case 2:
            other = rng.choice(places)
            mine, theirs = copy(value), copy(get(other))
            put(slot, theirs)
            put(other, mine)
        case 3 | 4:
            put(slot, odd_value(rng, kind))
        case 5 | 6 if isinstance(container, Map):
            key, names = str(container[i][0]), list(kind.known)
            choices = [misspelt(rng, key), odd_text(rng), rng.choice(names) if names else key, str(rng.choice(NUMBERS))]
            container[i] = [rng.choice([*choices, *([rng.choice(kind.raw_keys)] if kind.raw_keys else [])]), container[i][1]]
        case 7 | 8 | 9 if kind.known:
            maps = [c for c, _ in places if isinstance(c, Map)]
            target = rng.choice(maps) if maps and rng.random() < 0.5 else tree
            name = rng.choice(list(kind.known))
            held = [s for s in places if isinstance(s[0], Map) and s[0][s[1]][0] == name]
            if held:
                put(rng.choice(held), copy(to_tree(rng.choice(kind.known[name]))))
            elif isinstance(target, Map):
                target.append([name, copy(to_tree(rng.choice(kind.known[name])))])
        case 10:
            put(slot, [copy(value)] if rng.random() < 0.5 else Map([["low", copy(value)]]))
        case 11 if isinstance(value, (int, float)) and not isinstance(value, bool):
            put(slot, other_number(rng, value))
        case 12 if isinstance(value, str):
            put(slot, rng.choice([misspelt(rng, value), value.upper(), value + odd_text(rng), odd_text(rng)]))
        case 13 if isinstance(container, list) and not isinstance(container, Map):
            rng.shuffle(container)
        case _:
            numbers = [s for s in places if isinstance(get(s), (int, float)) and not isinstance(get(s), bool)]
            if numbers:
                chosen = rng.choice(numbers)
                put(chosen, other_number(rng, get(chosen)))
    return tree


def few(rng: random.Random) -> int:
    """How many changes: mostly one or two."""
    return 1 + min(4, int(rng.expovariate(1.0)))


TOKENS = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n\n", b"\t", b" ", b'"', b"'", b"{", b"}", b"[", b"]", b":",
    b",", b"-",
          b"&a0 ", b"*a0", b"<<: ", b"!!int ", b"#", b"\xe2\x80\x8f", b"\xed\xa0\x80", b"\xc2\x85", b"\xe2\x80\xa8", b"NaN",
          b"1e999",
          b"null", b"\\u0000", b"\\ud800", b"\x1b[31m", b"%", b"|", b"? ", b"---\n", b"...\n", b"0", b"9" * 20]  # fmt: skip


def change_bytes(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """One change of bytes: flip, replace, insert, delete, repeat, truncate, or splice with another document."""
    at, end = (sorted(rng.randrange(len(data) + 1) for _ in range(2))) if data else (0, 0)
    end = min(end, at + rng.choice([1, 2, 8, 64, 1 << 20]))
    match rng.randrange(8):
        case 0 if data:
            i = min(at, len(data) - 1)
            return data[:i] + bytes([data[i] ^ (1 << rng.randrange(8))]) + data[i + 1 :]
        case 1 if data:
            i = min(at, len(data) - 1)
            return data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]
        case 2 | 3:
            return data[:at] + rng.choice(TOKENS) + data[at:]
        case 4:
            return data[:at] + data[end:]
        case 5:
            return data[:at] + data[at:end] * rng.choice([2, 3, 50 if end - at < 100 else 2]) + data[end:]
        case 6:
            return data[:at]
        case _:
            cut = rng.randrange(len(other) + 1)
            return data[:at] + other[cut : cut + rng.choice([4, 40, 400])] + data[end:]


def dress(data: bytes, rng: random.Random) -> bytes:
    """A harmless change of the whole text: byte-order mark, line ends, blank lines, an end without a newline."""
    match rng.randrange(6):
        case 0:
            return b"\xef\xbb\xbf" + data
        case 1:
            return data.replace(b"\n", b"\r\n")
        case 2:
            return data.replace(b"\n", b"\n\n")
        case 3:
            return data.rstrip(b"\n")
        case 4:
            return data.replace(b"\n", b" \n")
        case _:
            return data + b"\n \n"


def encode(text: str) -> bytes:
    """UTF-8, half surrogates as they would stand there."""
    return text.encode("utf-8", "surrogatepass")


def finish(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """The second level: most inputs keep their bytes, some are dressed, some are broken."""
    draw = rng.random()
    if draw < 0.12:
        return dress(data, rng)
    if draw < 0.30:
        for _ in range(few(rng)):
            data = change_bytes(data, rng, other)
    return data


# ---- a small study, its files, and a collection -----------------------------------------------------------------------

WORDS_OF = ["apple", "pear", "plum", "bean", "leek", "frost", "water", "seed", "moss", "slug"]
DOCUMENTS = [
    {"_id": f"d{i}", "title": WORDS_OF[i % 10], "text": f"{WORDS_OF[i * 3 % 10]} {WORDS_OF[i * 7 % 10]} 床前明月"}
    for i in range(12)
]
QUERIES = [
    {"_id": f"q{i}", "text": f"{WORDS_OF[i]} {WORDS_OF[(i + 4) % 10]}", "group": "ab"[i % 2], "cluster": f"c{i // 2}"}
    for i in range(8)
]
GRADES = [(f"q{i}", f"d{(i * j + 1) % 12}", j % 3) for i in range(8) for j in range(1, 4)]
QRELS = list({(q, d): (q, d, g) for q, d, g in GRADES}.values())
SPACE = {
    "semantic_weight": {"low": 0.0, "high": 1.0},
    "top_k": {"low": 1, "high": 5},
    "fusion": ["minmax", "zscore", "rrf"],
    "rrf_k": {"low": 1, "high": 100, "log": True},
    "depth": 6,
    "k1": [1.2, 1.5],
}


def write_collection(folder: Path) -> DataFiles:
    """The small collection's three files."""
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUERIES))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in QRELS))
    return DataFiles(*(folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")))


def small_config() -> Config:
    """The config of the small study."""
    return parse_config(
        {
            "name": "small",
            "seed": 3,
            "collection": {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"},
            "depth": 6,
            "objective": "MAP@5",
            "report_at": [1, 5],
            "held_out": ["q6", "q7"],
            "current": {"semantic_weight": 0.4, "fusion": "rrf"},
            "search": {"trials": 6, "sampler": "random", "space": SPACE},
            "cache": "cache",
        }
    )


def retrieved_of(dataset: Dataset, depth: int, seed: int) -> Retrieved:
    """Keyword lists as the program makes them, and semantic ones out of the air."""
    options = Keyword()
    index = keyword.build_index([analyze_simple(text) for text in dataset.texts], options)
    postings = keyword.select_postings(index, [analyze_simple(q.text) for q in dataset.queries], options)
    rng, n = np.random.default_rng(seed), len(dataset.queries)
    rows = np.stack([rng.permutation(len(dataset.texts))[:depth] for _ in range(n)]).astype(np.int32)
    lists = RankedLists(rows, -np.sort(-rng.random((n, depth)), axis=1))
    facts = {
        "keyword": {"variant": "okapi", "index_bytes": 1000},
        "semantic": {
            "dimension": 4,
            "index_bytes": 1000,
            "documents_sha256": "0" * 64,
            "queries_sha256": "1" * 64,
            "model_sha256": "2" * 64,
        },
    }
    candidates = merge_lists(rank_keyword(postings, k1=options.k1, b=options.b, depth=depth), lists)
    return Retrieved(candidates, postings, facts, ("the corpus is tiny",))


def make_study(folder: Path) -> Path:
    """A finished study with candidates out of the air, in folder/small, with everything that `tune` leaves behind."""
    files, config = write_collection(folder), small_config()
    dataset, other = split_held_out(config, read_dataset(files))
    assert other is not None
    made = []
    for part, seed in ((dataset, 1), (other, 2)):
        retrieved = retrieved_of(part, config.deepest, seed)
        base = Params(depth=config.deepest, k1=config.keyword.k1, b=config.keyword.b)
        hybrid = Hybrid(retrieved.candidates, part.qrels, config.measures.conventions(), base, retrieved.postings)
        made.append(Prepared(config, part, retrieved, hybrid))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_study(replace(made[0], held_out=made[1]), folder / "small", {"seed": 3, "objective": ["MAP@5"]}, Silence(), Timings())
    still(folder / "small")
    return folder / "small"


def still(folder: Path) -> None:
    """What depends on the clock, the machine and the command is fixed, so that a seed makes the same inputs everywhere."""
    lines = [json.loads(line) for line in (folder / "journal.log").read_text().splitlines()]
    fixed = {
        "worker_id": "w",
        "datetime_start": "2026-01-01T00:00:00.000000+00:00",
        "datetime_complete": "2026-01-01T00:00:01+00:00",
    }
    lines = [{key: fixed.get(key, value) for key, value in line.items()} for line in lines]
    (folder / "journal.log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = json.loads((folder / "manifest.json").read_text())
    other = {
        "command": ["harness", "tune", "x.yaml"],
        "harness": {"version": "0", "commit": None},
        "python": "3",
        "machine": {"processor": "x"},
    }
    (folder / "manifest.json").write_text(json.dumps({**manifest, **other}, indent=2))
    timings = {
        "stages": {"reading": 0.5},
        "trials": {"0": 0.01, "1": 0.02},
        "search": {"what": "x", "p50": 0.1, "p95": 0.2},
        "measured_on": {"processor": "x"},
    }
    (folder / "timings.json").write_text(json.dumps(timings, indent=2))


# ---- what the configs are made of -------------------------------------------------------------------------------------

FILES_BLOCK = {"corpus": "c.jsonl", "queries": "q.jsonl", "qrels": "r.tsv"}
CONFIGS: list[dict[str, Any]] = [
    {"name": "a", "collection": FILES_BLOCK},
    {
        "name": "full", "seed": 7, "collection": {**FILES_BLOCK, "unmatched": "ignore"}, "engine": None,
        "keyword": {"variant": "lucene", "k1": 1.2, "b": 0.75, "analyzer": "english"},
        "semantic": {"model": "all-MiniLM-L6-v2", "normalize": True, "index": "Flat"}, "depth": 20, "objective": ["MAP@10",
        "Recall@top_k"],
        "report_at": [1, 3, 5], "tolerance": 0.01, "measures": {"relevance_threshold": 1, "ap_denominator": "min(R,K)"},
        "search": {"trials": 10, "sampler": "nsgaii", "timeout": 60, "space": {
            "semantic_weight": {"low": 0.0, "high": 1.0, "step": 0.1}, "top_k": {"low": 1, "high": 9, "step": 2},
            "fusion": ["minmax", "rrf"], "rrf_k": {"low": 1, "high": 100, "log": True}, "k1": [1.2, 1.5], "b": 0.5}},
        "current": {"semantic_weight": 0.3, "fusion": "rrf"}, "guards": {"Recall@20": 0.01}, "held_out": 0.2,
    },
    {
        "collection": FILES_BLOCK, "engine": "opensearch", "fusion": "z_score", "objective": "nDCG@10", "depth": 100,
        "search": {"space": {"semantic_weight": {"low": 0, "high": 1}, "fusion": ["z_score", "min_max", "rrf"], "rrf_k": [1,
        60]}},
    },
    {
        "collection": FILES_BLOCK, "engine": "qdrant", "objective": "nDCG@10", "current": {"semantic_weight": 0.5,
        "fusion": "rrf", "rrf_k": 2},
        "search": {"sampler": "exact", "space": {"semantic_weight": {"low": 0, "high": 1}, "rrf_k": {"low": 1, "high": 9}}},
        "held_out": {"queries": "q2.jsonl", "qrels": "r2.tsv"}, "guards": ["Recall@20 may not fall by more than .01"],
    },
    {
        "collection": FILES_BLOCK, "objective": "MAP@top_k", "held_out": ["q1", "q2"], "cache": "x",
        "search": {"sampler": "grid", "trials": 5, "space": {"semantic_weight": [0, 0.5, 1], "top_k": {"low": 1, "high": 20},
                   "fusion": "rrf", "rrf_k": {"low": 10, "high": 60, "step": 10}, "depth": [10, 20]}},
    },
]  # fmt: skip
RANGES = [{"low": 0.0, "high": 1.0}, {"low": 1, "high": 5}, {"low": 1, "high": 5, "step": 0.5}, {"low": 0, "high": 1,
    "step": 1e-9},
          {"low": 0, "high": 1, "step": 1e-310}, {"low": 1, "high": 1e6, "log": True}, {"low": 5, "high": 1}, {"low": 1},
              {"low": 1, "high": 2, "log": 1},
          {"low": 1, "high": 10**6, "step": 3}, [0.1, 0.5], [1, 2, 3], [], [1, 1.0], 0.5, 7, [None], [[]], [{}]]  # fmt: skip
FUSIONS = [
    "minmax",
    "zscore",
    "rrf",
    "theoretical",
    "raw",
    "z_score",
    "min_max",
    "relative_score",
    "dbsf",
    "x",
    ["rrf"],
    [["rrf"]],
    {},
    ["rrf", "minmax"],
    [],
]
ENGINE_NAMES = [
    None,
    "opensearch",
    "elasticsearch",
    "weaviate",
    "qdrant",
    "vespa",
    "azure",
    "pgvector",
    "haystack",
    "langchain",
    "llamaindex",
    "x",
    [],
]
KNOWN: dict[str, list[Any]] = {
    "name": ["a", "b.c", "../x", "README.md", "x" * 101],
    "seed": [0, 7, 2**31, -1, 1.0],
    "engine": ENGINE_NAMES,
    "collection": [FILES_BLOCK, None, [], "x"],
    "keyword": [{"variant": "plus", "delta": 1.5}, None, []],
    "variant": ["okapi", "l", "plus", "lucene", "x"],
    "analyzer": ["simple", "english", "cjk"],
    "semantic": [{"normalize": False}, {"model": ""}, None],
    "normalize": [True, False, 1],
    "depth": [1, 10, 1000, 10**6, [10, 20], *RANGES],
    "semantic_weight": [0, 0.5, 1, *RANGES],
    "top_k": [1, 5, *RANGES],
    "fusion": FUSIONS,
    "rrf_k": [1, 60, 59, *RANGES],
    "k1": [1.2, *RANGES],
    "b": [0.75, *RANGES],
    "objective": ["MAP@10", "MAP", "MRR", "nDCG@top_k", "F1@0", ["MAP@10", "MAP@10"], ["MAP", "MRR"], [], "Recall@5",
    "Judged@5", {"a": 1}],
    "report_at": [[1, 3], [3, 3, 1], [], [0], 5, [10**9]],
    "tolerance": [0, 0.02, 1],
    "measures": [{"relevance_threshold": 2}, {"gain": "exponential"}],
    "search": [{"trials": 3}, {"space": {}}, {"space": []}, {"space": None}, None, {"sampler": "gp"}],
    "sampler": ["exact", "tpe", "random", "qmc", "grid", "bruteforce", "nsgaii", "cmaes", "gp", "x"],
    "space": [{}, [], None, {"semantic_weight": 0.5}, {"x": 1}],
    "trials": [1, 10, 0, 10**9],
    "timeout": [1, 0, 0.5, None],
    "current": [{}, {"semantic_weight": 0.5}, {"depth": 5}, None, {"fusion": "theoretical"}, {"top_k": 10**6}],
    "guards": [{}, {"Recall@20": 0.01}, {"MAP": 2}, ["MAP@10 may not fall by more than .1"], [[]], {"MAP@top_k": 0.1}],
    "held_out": [0.5, 1, 0, ["q1"], [], [1], {"queries": "a", "qrels": "b"}, {"queries": "a"}, {"a\nb": 1}, "x"],
    "cache": ["x", "", None],
    "low": [0, 1, 0.5, 10**6],
    "high": [0, 1, 0.5, 10**6],
    "step": [1, 0.5, 0.1, 0.3, 1e-9, 1e-310, 0, 2],
    "log": [True, False, None],
    "unmatched": ["refuse", "ignore"],
    "ap_denominator": ["R", "min(R,K)", "retrieved"],
}  # fmt: skip
CONFIG_KIND = Kind((*YAML_RAW, *YAML_RAW, *JSON_RAW[:3]), tuple(YAML_KEYS), KNOWN)
WEIGHTS = {"semantic_weight": 0.42, "top_k": 5, "fusion": "minmax", "rrf_k": 60, "depth": 6, "variant": "okapi", "k1": 1.5,
    "b": 0.75,
           "decision": "adopt", "interval": [0.3, 0.5]}  # fmt: skip
WEIGHTS_KIND = replace(
    CONFIG_KIND,
    known={name: KNOWN.get(name, ["adopt", None, [0, 1]]) for name in (*WEIGHTS, "engine")},
)


def changed_tree(tree: Any, rng: random.Random, kind: Kind) -> Any:
    """A few changes of structure."""
    tree = copy(to_tree(tree))
    for _ in range(few(rng)):
        tree = change_tree(tree, rng, kind)
    return tree


def write_yaml(tree: Any, rng: random.Random, kind: Kind) -> bytes:
    """A changed YAML document; now and then with an anchor that others refer to, a second document, or a bomb."""
    text = to_yaml(changed_tree(tree, rng, kind), rng) + "\n"
    draw = rng.random()
    if draw < 0.05:
        text = (
            rng.choice(
                [
                    "x0: &a0 {low: 0, high: 1}\n",
                    "&a0 name: x\n",
                    "seed: &a0 7\n",
                    "%YAML 1.1\n---\n",
                    "%TAG !e! tag:x,2002:\n---\n",
                ]
            )
            + text
        )
    elif draw < 0.06:
        text += "---\n" + text
    elif draw < 0.07:
        steps = "".join(f"x{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9)}]\n" for i in range(1, rng.choice([3, 9])))
        text = f"x0: &b0 [1]\n{steps}" + text
    elif draw < 0.08:
        steps = "".join(f"x{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 9)}], k{i}: 1}}\n" for i in range(1, rng.choice([3, 9])))
        text = f"x0: &m0 {{k: 1}}\n{steps}" + text
    return finish(encode(text), rng, encode(to_yaml(to_tree(rng.choice(CONFIGS)), rng)))


# ---- lines of JSON, tables, arrays ------------------------------------------------------------------------------------


def change_rows(rows: list[Any], rng: random.Random) -> None:
    """One change of the lines: drop, double, swap, repeat many times."""
    if not rows:
        return
    i = rng.randrange(len(rows))
    match rng.randrange(5):
        case 0:
            del rows[i]
        case 1:
            rows.insert(rng.randrange(len(rows) + 1), copy(rows[i]))
        case 2:
            rng.shuffle(rows)
        case 3:
            rows[i] = copy(rng.choice(rows))
        case _:
            del rows[rng.randrange(len(rows)) :]


def write_jsonl(records: list[dict[str, Any]], rng: random.Random, kind: Kind) -> bytes:
    """JSON lines, changed in a few records or in their order."""
    rows = [to_tree(item) for item in records]
    for _ in range(few(rng)):
        if rng.random() < 0.2 or not rows:
            change_rows(rows, rng)
            continue
        i = rng.randrange(len(rows))
        rows[i] = change_tree(rows[i], rng, kind)
    ascii_only = rng.random() < 0.5
    return finish(encode("".join(to_json(row, ascii_only) + "\n" for row in rows)), rng, encode(to_json(rows)))


def write_table(rows: list[list[Any]], rng: random.Random, gap: str) -> bytes:
    """Columns with this between them, changed in a few fields or lines."""
    rows = [[str(cell) for cell in row] for row in rows]
    for _ in range(few(rng)):
        if not rows:
            break
        i = rng.randrange(len(rows))
        j = rng.randrange(len(rows[i])) if rows[i] else 0
        match rng.randrange(10):
            case 0 | 1:
                change_rows(rows, rng)
            case 2 | 3 if rows[i]:
                rows[i][j] = str(
                    rng.choice(
                        [
                            rng.choice(NUMBERS),
                            rng.choice(NUMBERS),
                            rng.random() * 9,
                            "nan",
                            "inf",
                            "1e400",
                            "٣",
                            "1_0",
                            "+1",
                            "1.",
                            "0x1",
                        ]
                    )
                )
            case 4 if rows[i]:
                rows[i][j] = odd_text(rng).replace(gap, "")
            case 5 if rows[i]:
                rows[i][j] = rng.choice([row[j] for row in rows if len(row) > j])
            case 6 if rng.random() < 0.3:
                rows[i].insert(j, odd_text(rng))
            case 7 if rng.random() < 0.3 and rows[i]:
                del rows[i][j]
            case 8 if rows[i]:
                rows[i][j] = rng.choice(
                    [misspelt(rng, rows[i][j]), rows[i][j] + rng.choice([" ", "\xa0", "\u2028", "\x85", "\r", "\x00", '"'])]
                )
            case _ if rows[i] and re.fullmatch(r"-?[0-9]{1,30}", rows[i][j]):
                rows[i][j] = str(other_number(rng, int(rows[i][j])))
    text = "".join((gap if rng.random() > 0.01 else rng.choice([" ", "\t", "  ", ","])).join(row) + "\n" for row in rows)
    return finish(encode(text), rng, b"query-id\tcorpus-id\tscore\nq1 0 d1 1\nq1 Q0 d1 1 0.5 tag\n")


HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
    "{'descr': '<f8', 'fortran_order': True, 'shape': (-1,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "{'descr': (), 'fortran_order': False, 'shape': (), }",
    "{'descr': [], 'fortran_order': False, 'shape': (3,), }", "{'descr': [()], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '<f8'), ('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': ('<f8',), 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f8,<i4', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|S0', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (0, 9999999999), }",
    "{'descr': '<U99999999999', 'fortran_order': False, 'shape': (3,), }", "{'descr': 5, 'fortran_order': 1, 'shape': 3}",
    "[]", "x", "{}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }", "{'descr': ''*9, 'fortran_order': False, 'shape': (True,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", "{b'descr': 1, 'fortran_order': 2, 3: 4}",
    "{'descr': [('a', '<f8', (-1,))], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [(('t', 'a'), '<f8')], 'fortran_order': False, 'shape': (3,), }",
    "(" * 300 + ")" * 300, "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 70 + "), }",
    "{'descr': [('', '<f8')] * 3}",
    "{'descr': [('a', '<f8', 99999999999)], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [5], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a',)], 'fortran_order': False, 'shape': (3,), }", "{'descr': {}, 'fortran_order': False, 'shape': (3,), }",
]  # fmt: skip


def npy(header: str, body: bytes, rng: random.Random) -> bytes:
    """A member of an npz file with this header."""
    text = header.encode("utf-8", "surrogatepass") + b"\n"
    version = rng.choice([b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"])
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text) if rng.random() < 0.9 else rng.choice([0, 5, 60000]))
    return b"\x93NUMPY" + version + length + text + body


def stored_npy(array: Any) -> bytes:
    """An array as np.save writes it."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def pack_members(members: list[tuple[str, bytes]], rng: random.Random) -> bytes:
    """A zip file as np.savez writes it; now and then packed, or a name twice."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.02 else zipfile.ZIP_STORED) as file:
            for name, data in members:
                file.writestr(zipfile.ZipInfo(name), data, file.compression)  # dated 1980: the same bytes at any time
    return stream.getvalue()


def change_array(array: Any, rng: random.Random) -> Any:
    """One array with another type, shape or other values."""
    array = np.array(array)
    match rng.randrange(9):
        case 0 if array.size and array.dtype.kind in "if":
            value = rng.choice(
                [-1, -2, 0, 1, 5, 2**31 - 1, 10**5, -(2**31), *([math.nan, math.inf, 1e300] if array.dtype.kind == "f" else [])]
            )
            array.flat[rng.randrange(array.size)] = np.clip(
                value,
                *((-(2**31), 2**31 - 1) if array.dtype.kind == "i" else (-np.finfo(array.dtype).max, np.finfo(array.dtype).max)),
            )
        case 1:
            array = array.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "b1", "c16", "S5", "U5"]), casting="unsafe")
        case 2:
            array = array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 3:
            array = array.ravel() if rng.random() < 0.5 else array[None]
        case 4:
            array = np.concatenate([array, array]) if array.ndim else array
        case 5:
            array = np.array(rng.choice([0, -1, math.nan, math.inf, 2**31 - 1, 2**40, "x"]))
        case 6:
            array = array.T
        case 7 if array.size and array.dtype.kind == "f":
            array = np.full_like(array, rng.choice([math.nan, math.inf, 0, -1]))
        case _:
            array = np.empty(rng.choice([(0,), (0, 3), (3, 0), (1, 1)]), dtype=rng.choice(["f8", "i4", "u1"]))
    return array


JSON_ARRAYS = ("meta", "ids", "facts")


def change_arrays(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Named arrays, a few of them changed; those that hold JSON are changed as JSON."""
    arrays = dict(arrays)
    for _ in range(few(rng)):
        name = rng.choice(sorted(arrays)) if arrays else ""
        draw = rng.random()
        if not arrays or draw < 0.1:
            arrays.pop(name, None)
        elif draw < 0.15:
            arrays[rng.choice(["meta", "x", "held_out_meta", "é", ""])] = arrays[name]
        elif draw < 0.2:
            arrays[name] = arrays[rng.choice(sorted(arrays))]
        elif name.removeprefix("held_out_") in JSON_ARRAYS and rng.random() < 0.9:
            try:
                tree = changed_tree(json.loads(np.asarray(arrays[name]).tobytes()), rng, Kind())
            except (ValueError, RecursionError):
                continue
            arrays[name] = np.frombuffer(encode(to_json(tree)), dtype=np.uint8)
        else:
            with warnings.catch_warnings(), contextlib.suppress(ValueError, TypeError):
                warnings.simplefilter("ignore")
                arrays[name] = change_array(arrays[name], rng)
    return arrays


def write_npz(arrays: dict[str, Any], rng: random.Random) -> bytes:
    """The arrays with their digest, mostly the right one."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    try:
        digest = digest_of(arrays)
    except (ValueError, TypeError):
        digest = np.zeros(32, np.uint8)
    members = [(f"{name}.npy", stored_npy(array)) for name, array in {**arrays, "sha256": digest}.items()]
    return pack_members(members, rng)


# ---- the readers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reader:
    """One reader: how an input is made, what reads it, whether it got past the syntax."""

    name: str
    make: Callable[[random.Random], Files]
    read: Callable[[Path], object]
    syntax: Callable[[Files, str], bool]


YAML_SYNTAX = (
    "must be plain YAML",
    "must be UTF-8",
    "empty file",
    "an alias must not",
    "after expanding aliases",
    "to values, got",
    "at the top",
)
JSONL_SYNTAX = ("must be UTF-8", "must be one JSON object")


def without(*texts: str) -> Callable[[Files, str], bool]:
    """Past the syntax: no line of the refusal says one of these."""
    return lambda _files, said: not any(text in said for text in texts)


def is_json(files: Files, _said: str) -> bool:
    """Past the syntax: one JSON object a line, or one altogether."""
    (data,) = files.values()
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
        values = (
            [json.loads(text)]
            if text.lstrip().startswith("{\n") or text.count("\n") < 2
            else [json.loads(line) for line in text.splitlines()]
        )
        return all(isinstance(value, dict) for value in values)
    except (ValueError, RecursionError):
        return False


def is_zip(files: Files, _said: str) -> bool:
    """Past the syntax: every member of the zip file is whole and an npy file."""
    (data,) = files.values()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return bool(file.namelist()) and all(file.read(name).startswith(b"\x93NUMPY") for name in file.namelist())
    except Exception:  # whatever zipfile raises
        return False


def is_sound_npz(files: Files, _said: str) -> bool:
    """Past the syntax: the arrays are there and their digest is right."""
    (data,) = files.values()
    with tempfile.NamedTemporaryFile(dir=place()) as file:
        Path(file.name).write_bytes(data)
        try:
            read_arrays(Path(file.name))
        except Exception:  # whatever it raises is counted elsewhere
            return False
    return True


def is_csv(files: Files, said: str) -> bool:
    """Past the syntax: text, rows, and a header with the columns that every study has."""
    (data,) = files.values()
    try:
        header = next(csv.reader(io.StringIO(data.removeprefix(b"\xef\xbb\xbf").decode())), [])
    except (csv.Error, ValueError):
        return False
    return {"number", "state", "objective"} <= set(header) and "must be what tune wrote" not in said


def place() -> str | None:
    """Where inputs are written: memory, where the system has such a folder."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class All:
    """Several calls over one input: each is made; the first refusal, if any, counts."""

    def __init__(self) -> None:
        self.refused: HarnessError | None = None

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """A call that may refuse."""
        try:
            yield
        except HarnessError as error:
            check_lines(error)
            self.refused = self.refused or error

    def done(self) -> None:
        """Refuse if one did."""
        if self.refused is not None:
            raise self.refused


def make_readers(home: Path) -> dict[str, Reader]:
    """Every reader, over a small study that is made in this folder first."""
    folder = make_study(home)
    config = small_config()
    engine_config = parse_config({**CONFIGS[2], "name": "x"})
    dataset = read_dataset(DataFiles(home / "corpus.jsonl", home / "queries.jsonl", home / "qrels.tsv"))
    stored = read_study(folder)
    prepared = read_prepared(stored)
    rows = [row for row, _ in reproduce.read_trials(stored)]
    good = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    arrays = read_arrays(folder / "candidates.npz")
    journal = [json.loads(line) for line in good["journal.log"].splitlines()]
    table = list(csv.reader(io.StringIO(good["trials.csv"].decode())))
    summary = json.loads(good["summary.json"])
    identity = {"seed": 3, "objective": ["MAP@5"]}
    small = replace_search(config, 7)

    def read_any_config(where: Path) -> object:
        read = read_config(where / "config.yaml")
        again = where / "again.yaml"
        again.write_text(read.to_yaml(), encoding="utf-8")
        assert read_config(again) == read, "a config as written reads as another one"
        with using():
            use_config(read)
        return read

    def read_collection(where: Path) -> object:
        paths = [
            where / name if (where / name).exists() else home / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
        ]
        calls = All()
        for unmatched in ("refuse", "ignore"):
            with calls.one():
                read = read_dataset(DataFiles(*paths, unmatched))
                with using():
                    use_dataset(read)
        calls.done()
        return None

    def read_runs(where: Path) -> object:
        calls = All()
        for ties in RUN_TIES:
            with calls.one():
                read_run(where / "x.run", ties=ties)
        with calls.one():
            read_foreign_runs([where / "x.run"], dataset, "doc_id")
        calls.done()
        return None

    def read_journal(where: Path) -> object:
        calls = All()
        with calls.one():
            known = study.read_identity(where)
            if known is not None and known != identity:
                raise HarnessError(study.explain_difference(where, known, identity))
        with calls.one():
            study.count_trials(where)
        with calls.one():
            opened = study.open_study(where, small, identity, {"numpy": "1"})
            with using():
                resume(opened, small)
        calls.done()
        return None

    def read_both_weights(where: Path) -> object:
        calls = All()
        with calls.one():
            params = read_weights(where / "weights.yaml", config)
            refuse_unserved(config, params, "weights.yaml")  # as `setting_of` does
            with using():
                rank_with(prepared, params)
        with contextlib.suppress(HarnessError), All().one():  # a fusion has one of the two's names
            read_weights(where / "weights.yaml", engine_config)
        calls.done()
        return None

    def read_folder(where: Path) -> object:
        with completed(where, good, "config.yaml", "summary.json", "candidates.npz", "weights.yaml"):
            found = read_study(where)
            calls, settings = All(), []
            for name in SETTINGS:
                with calls.one():
                    settings.append(setting_of(found, name))
            with calls.one():
                ready = read_prepared(found)
                for params in settings:
                    with calls.one(), using():
                        rank_with(ready, params)
            calls.done()
            return None

    def read_trials(where: Path) -> object:
        with completed(where, good, "trials.csv"):
            here = replace(stored, folder=where)
            known = reproduce.read_trials(here)
            calls = All()
            with calls.one(), using():
                reproduce.compare_rows([row for row, _ in known], rows)
            with calls.one(), using():
                reproduce.recompute(here, prepared)
            calls.done()
        return None

    def read_manifest(where: Path) -> object:
        here = replace(stored, folder=where)
        with completed(where, good, "manifest.json"):
            watch.recorded_corpus(here)
            calls = All()
            for data in (None, dataset):
                with calls.one():
                    reproduce.changed_inputs(here, data)
            calls.done()
        return None

    def read_times(where: Path) -> object:
        known = record.read_timings(where)
        study._describe_holder(where / "timings.json")
        record.keep_timings(where, {"search": {"p95": 1.0}})  # writes the file anew
        return known

    def read_cache(where: Path) -> object:
        path = where / "x.npz"
        loaded = load_retrieved(path)
        semantic.load_encoded(path, 12)
        keyword.load_index(path)
        if loaded is not None:
            hybrid = Hybrid(loaded.candidates, prepared.dataset.qrels, config.measures.conventions(), prepared.hybrid.base)
            with using():
                hybrid.rank(prepared.hybrid.base)
        return None

    cached = [
        {"vectors": np.ones((12, 4), np.float32), "facts": np.frombuffer(b'{"dimension": 4, "cut": 0, "prompt": ""}', np.uint8)},
        {"terms": np.frombuffer(b"a\nb", np.uint8), "idf": np.ones(2), "indptr": np.array([0, 1, 2]), "rows": np.array([0, 1],
            np.int32),
         "frequencies": np.array([1, 1], np.int32), "lengths": np.array([1, 1], np.int32)},
        {name: array for name, array in arrays.items() if not name.startswith("held_out_") and not name.startswith(("qrels",
            "ids", "document"))},
    ]  # fmt: skip

    def make_arrays(rng: random.Random) -> Files:
        source = rng.choice([*cached, arrays])
        if rng.random() < 0.5:
            data = write_npz(change_arrays(source, rng), rng)
        else:
            members = [(f"{name}.npy", stored_npy(array)) for name, array in source.items()]
            i = rng.randrange(len(members))
            header = rng.choice(HEADERS)
            if rng.random() < 0.3:
                header = change_bytes(header.encode(), rng, b"(),[]'\"<f8O").decode("latin-1")
            members[i] = (members[i][0], npy(header, rng.randbytes(rng.choice([0, 8, 24, 200])), rng))
            members.append(("sha256.npy", stored_npy(np.zeros(32, np.uint8))))
            data = pack_members(members, rng)
        return {"x.npz": finish(data, rng, good["candidates.npz"])}

    records = Kind(known={"_id": ["d1", "q1", 1, 1.5, "001"], "title": [None, "", "x"], "text": ["", None, 5], "group": [None,
        "x", 1], "cluster": ["c0", []]})  # fmt: skip
    ops = Kind(known={
        "op_code": list(range(-1, 12)), "study_id": [0, 1, "0"], "trial_id": [0, 1, 2, 99], "state": [0, 1, 2, 3, 4, 5],
        "values": [[0.5], [], None, [0.5, 0.5], ["x"], 0.5],
        "param_name": ["semantic_weight", "top_k", "depth", "x"], "user_attr": [{"identity": []}, {"identity": {}},
        {"legs": [[]]}, {"legs": 5}, {"Recall@1": "x"},
        {"reason": []}, {"repeats": "x"}], "datetime_complete": [None, "x", "0001-01-01T00:00:00", "9999-12-31T23:59:59"],
            "datetime_start": [None, "x", "0001-01-01T00:00:00"],
        "directions": [[2], [1], [], [2, 2], [7]], "study_name": ["study", "other", None, []], "param_value_internal": [0, 99,
        -1, None, "x", 1e300],
        "distributions": [{}, []], "params": [{}, {"x": 1}], "user_attrs": [{}, []], "intermediate_values": [{}, {"x": 1}],
        "value": [None, 1.0, "x"],
    })  # fmt: skip
    distributions = Kind(known={
        "name": ["FloatDistribution", "IntDistribution", "CategoricalDistribution", "UniformDistribution",
        "LogUniformDistribution", "IntUniformDistribution", "x"],
        "low": [0, 1, -1, math.pi, 1e308], "high": [1, 100, 1e308, 10**30], "step": [None, 0, 1, 0.1, 1e-300, -1],
        "log": [True, False],
        "choices": [[], [1], [[1]], [None], ["rrf"], [{"a": 1}], "abc", ["x", 5]], "attributes": [{}, [], None], "q": [0.1],
    })  # fmt: skip
    reports = Kind(known={
        "params": [{}, None, {"fusion": "rrf"}, {"depth": 10**6}, {"k1": 3}], "systems": [{}, []], "collection": [{}, None],
        "left_out": [[], None, "ab", [1]],
        "pick": [{}, None, {"params": {}}], "best_trial": [{}, {"params": {"top_k": 0}}], "documents": [0, -1, 1e9, None],
        "empty_documents": [10**8, 10**9, 10**18, 10**30, -1],
        "judged_queries_not_in_queries": [10**9, 10**18], "queries_without_judgements": [1, 10**30, -5],
        **{n: KNOWN[n] for n in ("semantic_weight", "top_k", "fusion", "rrf_k", "depth", "k1", "b")},
    })  # fmt: skip
    manifests = Kind(known={
        "config_sha256": ["x", 5, None, [], {}], "content": [{}, [], {"corpus": 5}, {"corpus": None}], "packages": [{}, [],
        {"numpy": 5}], "sha256": [{}, [], {"model": 5}, {"model": None}],
        "corpus": ["x", 5, None, []], "model": [None, [], 5],
    })  # fmt: skip

    def make_journal(rng: random.Random) -> Files:
        lines = [to_tree(item) for item in journal[: rng.choice([3, 20, 40, len(journal)])]]
        for _ in range(few(rng)):
            if not lines:
                break
            i = rng.randrange(len(lines))
            inner = [s for s in slots(lines[i]) if isinstance(get(s), str) and get(s).startswith("{")]
            draw = rng.random()
            if inner and draw < 0.6:
                with contextlib.suppress(ValueError):
                    put(inner[0], to_json(changed_tree(json.loads(get(inner[0])), rng, distributions)))
            elif draw < 0.75:
                change_rows(lines, rng)
            elif draw < 0.85:
                extra = {"op_code": rng.randrange(11), "worker_id": "w", "study_id": 0, "trial_id": rng.randrange(7)}
                names = rng.sample(sorted(ops.known), rng.randrange(len(ops.known)))
                lines.insert(
                    rng.randrange(len(lines) + 1), to_tree({**{name: rng.choice(ops.known[name]) for name in names}, **extra})
                )
            else:
                lines[i] = change_tree(lines[i], rng, ops)
        return {"journal.log": finish(encode("".join(to_json(line) + "\n" for line in lines)), rng, good["journal.log"])}

    def make_json(name: str, value: Any, kind: Kind) -> Callable[[random.Random], Files]:
        def make(rng: random.Random) -> Files:
            tree = value if rng.random() < 0.5 else {key: value[key] for key in value if rng.random() < 0.9}
            return {name: finish(encode(to_json(changed_tree(tree, rng, kind), rng.random() < 0.5) + "\n"), rng, good[name])}

        return make

    def make_csv(rng: random.Random) -> Files:
        changed = [[f'"{cell}"' if rng.random() < 0.02 else cell for cell in row] for row in table]
        return {"trials.csv": write_table(changed, rng, ",")}

    runs = [[q, "Q0", d, j % 9 + 1, 10 - j % 9, "tag"] for j, (q, d, _) in enumerate(QRELS)]
    trec = [[q, 0, d, g] for q, d, g in QRELS]
    tsv = [["query-id", "corpus-id", "score"], *([q, d, g] for q, d, g in QRELS)]
    short = {key: summary[key] for key in ("study", "objective", "top_k", "collection", "pick", "best_trial", "systems")}
    short["systems"] = {"pick": {"objective": 0.5}}
    columns = without("must be UTF-8", "columns", "an empty file", "a header alone", "got none")
    found = [
        Reader("config", lambda rng: {"config.yaml": write_yaml(rng.choice(CONFIGS), rng, CONFIG_KIND)}, read_any_config,
            without(*YAML_SYNTAX)),
        Reader("weights", lambda rng: {"weights.yaml": write_yaml(WEIGHTS, rng, WEIGHTS_KIND)}, read_both_weights,
            without(*YAML_SYNTAX)),
        Reader("corpus", lambda rng: {"corpus.jsonl": write_jsonl(DOCUMENTS, rng, records)}, read_collection,
            without(*JSONL_SYNTAX)),
        Reader("queries", lambda rng: {"queries.jsonl": write_jsonl(QUERIES, rng, records)}, read_collection,
            without(*JSONL_SYNTAX)),
        Reader("qrels-tsv", lambda rng: {"qrels.tsv": write_table(tsv[rng.randrange(2) :], rng, "\t")}, read_collection,
            columns),
        Reader("qrels-trec", lambda rng: {"qrels.tsv": write_table(trec, rng, " ")}, read_collection, columns),
        Reader("run", lambda rng: {"x.run": write_table(runs, rng, rng.choice(" \t"))}, read_runs, columns),
        Reader("journal", make_journal, read_journal, is_json),
        Reader("summary", make_json("summary.json", short, reports), read_folder, is_json),
        Reader("study-config", lambda rng: {"config.yaml": write_yaml(yaml.safe_load(good["config.yaml"]), rng,
            CONFIG_KIND)}, read_folder, without(*YAML_SYNTAX)),
        Reader("study-weights", lambda rng: {"weights.yaml": write_yaml(WEIGHTS, rng, WEIGHTS_KIND)}, read_folder,
            without(*YAML_SYNTAX)),
        Reader("candidates", lambda rng: {"candidates.npz": finish(write_npz(change_arrays(arrays, rng), rng), rng,
            good["candidates.npz"])}, read_folder, is_sound_npz),
        Reader("trials", make_csv, read_trials, is_csv),
        Reader("manifest", make_json("manifest.json", json.loads(good["manifest.json"]), manifests), read_manifest, is_json),
        Reader("timings", make_json("timings.json", json.loads(good["timings.json"]), manifests), read_times, is_json),
        Reader("arrays", make_arrays, lambda where: read_arrays(where / "x.npz"), is_zip),
        Reader("cache", lambda rng: {"x.npz": finish(write_npz(change_arrays(rng.choice(cached), rng), rng), rng,
            good["candidates.npz"])}, read_cache, is_sound_npz),
    ]  # fmt: skip
    return {reader.name: reader for reader in (*found, *readers_from_outside(dataset))}


# ---- what comes in other forms: search responses, vectors, tables, folders of texts ---------------------------------


MARKUP = [
    "# ", "## ", "####### ", "\n---\n", "---\ntitle: ", "---\n", "```\n", "~~~", "===\n", "<title>", "</title>", "<script>",
    "<p>", "<!--", "-->", "<table><tr><td>", "</div>" * 50, "<div>" * 200, "&#x0;", "&#xD800;", "&amp;", "![x](y)", "[a](b)",
    "> " * 40, "- " * 60, "| a | b |\n|---|---|\n", "\\", "\r\n", "\r", "\x0c", "*" * 300, "_" * 300, "[" * 300, "`" * 200,
    "<" * 300,
]  # fmt: skip
SENTENCES = "Plums do not, and pears rot soon. " * 30
PAGES = {
    "a.md": f"---\ntitle: Apples\n---\n# Storing apples\n\nApples keep. {SENTENCES}\n\n## Late\n\n- one\n",
    "b.html": "<html><head><title>Beans</title></head><body><h1>Runner beans</h1><p>They climb poles.</p></body></html>",
    "deep/c.txt": "Leeks want deep holes.\n\n" * 20,
}


def change_text(text: str, rng: random.Random) -> str:
    """A text with odd pieces in it, a piece repeated, or a piece gone."""
    for _ in range(few(rng)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 5, 200]))
        piece = rng.choice([rng.choice(MARKUP), rng.choice(MARKUP), odd_text(rng), text[start:end] * rng.choice([2, 9])])
        text = text[:start] + piece + text[end:]
    return text[:200_000]


def write_csv(rows: list[list[Any]], rng: random.Random, gap: str) -> bytes:
    """A table with quotes where a cell needs them, and sometimes where it does not."""
    quoted = [
        ['"' + str(cell).replace('"', '""') + '"' if rng.random() < 0.1 or gap in str(cell) else cell for cell in row]
        for row in rows
    ]
    return write_table(quoted, rng, gap)


def write_parquet(columns: dict[str, Any], rng: random.Random) -> bytes:
    """A Parquet file, its columns changed in name, type or values."""
    import pyarrow
    from pyarrow import parquet

    made = {}
    for name, values in columns.items():
        if rng.random() < 0.04:
            continue
        draw = rng.random()
        if draw < 0.08:
            values = [rng.choice([None, *values]) for _ in values]
        elif draw < 0.16:
            values = [rng.choice([0.5, 1.0, math.nan, math.inf]) for _ in values]
        elif draw < 0.22:
            values = [rng.choice([1, 2**40, -1]) for _ in values]
        elif draw < 0.28:
            values = [rng.choice([[], [1.0], [0.5, None], None]) for _ in values]
        elif draw < 0.34:
            values = [odd_text(rng).encode("utf-8", "replace").decode() for _ in values]
        elif draw < 0.38:
            values = [rng.choice([b"x", b"\xff", b""]) for _ in values]
        elif draw < 0.42:
            values = [{"a": 1} for _ in values]
        made[misspelt(rng, name) if rng.random() < 0.05 else name] = values
    kinds = [pyarrow.array(values) for values in made.values()]
    if rng.random() < 0.1:
        kinds = [kind.dictionary_encode() if pyarrow.types.is_string(kind.type) else kind for kind in kinds]
    table = pyarrow.Table.from_arrays(kinds, names=list(made))
    out = pyarrow.BufferOutputStream()
    parquet.write_table(
        table.slice(0, rng.choice([0, 1, 99, 99, 99, 99])), out, compression=rng.choice(["none", "snappy", "gzip"])
    )
    data = out.getvalue().to_pybytes()
    return finish(data, rng, data[::-1])


def readers_from_outside(dataset: Dataset) -> list[Reader]:
    """Readers of what other programs write, over the small collection."""
    samples = Path(__file__).parents[1] / "corpora/samples"
    responses = [json.loads(line) for line in (samples / "responses.jsonl").read_text().splitlines()[:4]]
    searches = json.loads((samples / "msearch.json").read_text())
    searches["responses"] = searches["responses"][:3]
    prompts = [json.loads(line) for line in (samples / "queries.jsonl").read_text().splitlines()[:3]]
    hits = Kind(known={
        "query_id": ["q1", 1, 1.0, "", None], "_id": ["d1", 1, None, "a b", "a\nb"], "status": [200, 500, "x"],
        "_score": [0.5, None, "1", True, -1, 0, 1e300], "timed_out": [True, "false", None], "failed": [1, "0", None, -1],
        "hits": [[], {}, None, {"hits": 5}], "error": [{"type": "x", "reason": "a\nb"}, "x", None, {}, []],
        "responses": [[], {}, None], "total": [0, None, {"value": "x"}],
        "_shards": [{}, None, {"failed": 1, "failures": ["x", {"reason": {"reason": "a\nb"}}]}],
    })  # fmt: skip

    def make_responses(rng: random.Random) -> Files:
        if rng.random() < 0.6:
            return {"r.jsonl": write_jsonl(responses, rng, hits)}
        tree = changed_tree(searches, rng, hits)
        made = {"r.json": finish(encode(to_json(tree)), rng, b'{"responses": [{"hits": {"hits": [{"_id": "a"}]}}]}')}
        return made | ({"queries.jsonl": write_jsonl(prompts, rng, hits)} if rng.random() < 0.9 else {})

    def read_responses(where: Path) -> object:
        queries = where / "queries.jsonl"
        calls, path = All(), next(where.glob("r.*"))
        for name, options in {"x.trec": {}, "y.trec": {"depth": 1, "tag": "t"}}.items():
            with calls.one():
                made = import_run(path, out=where / name, queries=queries if queries.exists() else None, **options)  # type: ignore[arg-type]
                with using():
                    made.to_dict(), made.rows(), made.config
                    if any(listed.doc_ids for listed in made.lists):
                        read_run(where / name)
        calls.done()
        return None

    numbers = np.random.default_rng(4)
    doc_ids, query_ids = list(dataset.doc_ids[: dataset.counts.documents]), [query.query_id for query in dataset.queries]
    sides = {
        side: (ids, numbers.normal(size=(len(ids), 4)).astype(np.float32))
        for side, ids in (("documents", doc_ids), ("queries", query_ids))
    }

    def make_vectors(rng: random.Random) -> Files:
        files: Files = {}
        for side, (ids, vectors) in sides.items():
            if rng.random() < 0.5:
                files[f"{side}.parquet"] = write_parquet({"id": ids, "vector": vectors.tolist()}, rng)
                continue
            array = change_array(vectors, rng) if rng.random() < 0.5 else vectors
            data = stored_npy(array)
            if rng.random() < 0.15:
                data = npy(rng.choice(HEADERS), rng.randbytes(rng.choice([0, 8, 24, 200])), rng)
            files[f"{side}.npy"] = finish(data, rng, data[::-1])
            files[f"{side}.txt"] = (
                write_table([[name] for name in ids], rng, "\t") if rng.random() < 0.5 else encode("\n".join(ids))
            )
        return files

    def read_vectors(where: Path) -> object:
        named: dict[str, str] = {}
        for side, key in (("documents", "document_ids"), ("queries", "query_ids")):
            tabled = (where / f"{side}.parquet").exists()
            named[side] = str(where / (f"{side}.parquet" if tabled else f"{side}.npy"))
            if not tabled:
                named[key] = str(where / f"{side}.txt")
        calls = All()
        for normalize in (True, False):
            with calls.one():
                made = read_given_vectors(GivenVectors(**named), dataset, normalize=normalize)
                with using():
                    say_norms(made[2], normalize=normalize)
                    lists, _ = semantic.rank_semantic(made[0], made[1], depth=5)
                    assert np.isfinite(lists.scores[lists.rows >= 0]).all(), "a score is not finite"
        calls.done()
        return None

    corpus = [["id", "title", "text"], *([d["_id"], d["title"], d["text"]] for d in DOCUMENTS)]
    asked = [
        ["id", "text", "answers", "group", "split"],
        *([q["_id"], q["text"], WORDS_OF[i], "g", "dev"] for i, q in enumerate(QUERIES)),
    ]
    labels = [["query", "document", "grade"], *([q, d, g] for q, d, g in QRELS)]

    def make_tables(rng: random.Random) -> Files:
        ending = rng.choice(["csv", "tsv", "parquet"])
        files: Files = {}
        for name, rows in (("corpus", corpus), ("queries", asked), ("labels", labels)):
            if ending == "parquet" or (name == "labels" and ending == "tsv"):  # .tsv is BEIR's there
                columns = {head: [row[i] for row in rows[1:]] for i, head in enumerate(rows[0])}
                files[f"{name}.parquet"] = write_parquet(columns, rng)
            else:
                files[f"{name}.{ending}"] = write_csv(rows, rng, "," if ending == "csv" else "\t")
        return files

    def read_tables(where: Path) -> object:
        found = {name: next(where.glob(f"{name}.*")) for name in ("corpus", "queries", "labels")}
        calls = All()
        for qrels, split in ((found["labels"], None), (None, None), (found["labels"], "dev")):
            with calls.one():
                files = DataFiles(found["corpus"], found["queries"], qrels, "ignore", split)
                read = read_dataset(files)
                with using():
                    use_dataset(read)
                    texts_to_index(with_titles(read, files.corpus, weighed), weighed)
        calls.done()
        return None

    weighed = Keyword(fields=Fields(title=2, text=1))

    def make_pages(rng: random.Random) -> Files:
        changed = {name: change_text(text, rng) if rng.random() < 0.6 else text for name, text in PAGES.items()}
        return {f"pages/{name}": finish(encode(text), rng, encode(rng.choice(MARKUP))) for name, text in changed.items()}

    def read_pages(where: Path) -> object:
        (where / "q.csv").write_text("id,text,answers\nq1,apples,apples keep\nq2,leeks,deep holes\n")
        calls = All()
        for chunking in (Chunking(), Chunking(40, 15)):
            with calls.one():
                source = Source(str(where / "pages"), chunking=chunking)
                read = read_dataset(DataFiles(source, where / "q.csv", None))
                with using():
                    use_dataset(read)
                    texts_to_index(with_titles(read, source, weighed), weighed)
        calls.done()
        return None

    return [
        Reader("responses", make_responses, read_responses, without(*JSONL_SYNTAX, "must be JSON")),
        Reader(
            "vectors", make_vectors, read_vectors, without("must be a numpy array", "must be a Parquet file", "must be UTF-8")
        ),
        Reader("tables", make_tables, read_tables, without("must be a Parquet", "must be CSV", "must be TSV", "must be UTF-8")),
        Reader("pages", make_pages, read_pages, without("must be UTF-8", "NUL")),
    ]


@contextlib.contextmanager
def using() -> Iterator[None]:
    """What follows uses what was read: a find in here is no fault of the reader alone."""
    try:
        yield
    except Exception as error:
        error.__dict__["in_use"] = True
        raise


@contextlib.contextmanager
def completed(where: Path, good: Files, *names: str) -> Iterator[None]:
    """The study's other files beside the changed one."""
    for name in names:
        if not (where / name).exists():
            (where / name).write_bytes(good[name])
    yield


def replace_search(config: Config, trials: int) -> Config:
    """The config with another number of trials."""
    return config.model_copy(update={"search": config.search.model_copy(update={"trials": trials})})


def use_config(config: Config) -> None:
    """What the commands ask of a config before anything is built."""
    for _ in (
        config.base,
        config.kept,
        config.deepest,
        config.largest_top_k,
        config.tunes_bm25,
        config.picks_itself,
        config.objectives,
    ):
        pass
    config.measures.conventions()
    count_points(config)


def use_dataset(dataset: Dataset) -> None:
    """What `tune` does with the texts and ids before a model is needed."""
    encode_ids([*(query.query_id for query in dataset.queries), *dataset.doc_ids])
    for variant, name in zip(VARIANTS, (*ANALYZERS, "simple"), strict=False):
        options, analyze = Keyword(variant=variant, analyzer=name), make_analyzer(name)
        index = keyword.build_index([analyze(text) for text in dataset.texts], options)
        postings = keyword.select_postings(index, [analyze(query.text) for query in dataset.queries], options)
        lists = rank_keyword(postings, k1=options.k1, b=options.b, depth=5)
        assert np.isfinite(lists.scores[lists.rows >= 0]).all(), "a score is not finite"


def rank_with(prepared: Prepared, params: Params) -> None:
    """What `watch` does with a setting and the study's candidates."""
    watch.side_of(prepared.dataset, prepared.hybrid, params)


def resume(opened: Any, config: Config) -> None:
    """What `tune` does with a study that it opened: at most one more trial, on an objective that costs nothing."""
    trials = study.list_trials(opened)
    study.read_legs(opened)
    best = study.best_of(trials, config)
    if best is not None:
        study.params_of(best, config)
    study.pareto_of(trials)
    allowed = replace_search(config, min(config.search.trials, len(trials) + 1))
    outcome = study.Outcome((0.5,), {})
    study.run_trials(opened, allowed, lambda _params: outcome, lambda _trial: None)


# ---- one input --------------------------------------------------------------------------------------------------------


class HangError(BaseException):
    """The input took too long; nothing in the program may catch this."""


@dataclass(frozen=True)
class Find:
    """What came out where it should not: its kind (traceback, in use, hang, memory, lines, noise), where, and the last lines."""

    kind: str
    where: str
    tail: str


def check_lines(error: HarnessError) -> None:
    """AssertionError where a refusal is empty or a problem is not one line of text."""
    assert error.problems, "lines: a refusal without a line"
    for problem in error.problems:
        assert problem.strip(), "lines: an empty line"
        odd = {
            hex(ord(c))
            for c in problem
            if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
        }
        assert not odd, f"lines: a problem holds {sorted(odd)}, and so is not one line of plain text: {problem[:200]!r}"


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """At most SECONDS of processor time and ROOM of address space; both are as before afterwards."""

    def ring(_signal: int, _frame: Any) -> None:
        raise HangError

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if Path("/proc/self/statm").exists()
        else None
    )
    before = signal.signal(signal.SIGPROF, ring)
    if used is not None:
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def find_of(kind: str, error: BaseException) -> Find:
    """Where it came from: the deepest line of the harness, and the traceback's last lines."""
    if kind == "traceback" and getattr(error, "in_use", False):
        kind = "in use"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/harness/" in f.filename.replace("\\", "/")]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-3)
    where = f"{Path(last.filename).name}:{last.name}: {type(error).__name__}"
    return Find(kind, where, "".join(lines)[-1500:])


def try_input(reader: Reader, files: Files, folder: Path) -> tuple[str, str, Find | None]:
    """What one input does: accepted or refused, the refusal's text, and the find where it is one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    outcome, said, find = "accepted", "", None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings(record=True) as noise:
        warnings.simplefilter("always")
        try:
            with bounded():
                reader.read(folder)
        except HarnessError as error:
            outcome, said = "refused", str(error)
            try:
                check_lines(error)
            except AssertionError as broken:
                find = Find("lines", find_of("lines", error).where, str(broken))
        except DamagedFileError as error:
            outcome, said = "refused", str(error)
            if not said.strip():
                find = find_of("lines", error)
        except HangError as error:
            find = find_of("hang", error)
        except MemoryError as error:
            find = find_of("memory", error)
        except AssertionError as error:
            find = find_of("lines" if str(error).startswith("lines") else "traceback", error)
        except Exception as error:
            find = find_of("traceback", error)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024
    if find is None and grown > MEGABYTES:
        find = Find("memory", reader.name, f"the peak rose by {grown:.0f} MB")
    shown = [w for w in noise if issubclass(w.category, (RuntimeWarning, UserWarning, DeprecationWarning, SyntaxWarning))]
    if find is None and shown:
        find = Find(
            "noise",
            f"{Path(shown[0].filename).name}:{shown[0].lineno}: {shown[0].category.__name__}",
            str(shown[0].message)[:300],
        )
    return outcome, said, find


def make_input(reader: Reader, seed: int, number: int) -> Files:
    """The input of this number."""
    return reader.make(random.Random(f"{seed}:{reader.name}:{number}"))


def shown_input(data: bytes) -> str:
    """An input as the report shows it: an npz file by its arrays."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception:  # no npz file, or a broken one
        return repr(data[:1500])
    text = {name: array.tobytes()[:300] for name, array in arrays.items() if name.removeprefix("held_out_") in JSON_ARRAYS}
    return "; ".join(f"{name} {array.dtype.str}{list(array.shape)} {text.get(name, '')}" for name, array in arrays.items())


def shrink(reader: Reader, files: Files, find: Find, folder: Path, seconds: float = 10.0) -> Files:
    """A smaller input with the same find: parts of the first file are left out as long as it stays."""
    (name, data), *rest = files.items()
    if rest or name.endswith(".npz") or find.kind in ("hang", "memory"):
        return files
    deadline, size = time.monotonic() + seconds, max(1, len(data) // 2)
    while size >= 1 and time.monotonic() < deadline:
        at, smaller = 0, False
        while at < len(data) and time.monotonic() < deadline:
            less = data[:at] + data[at + size :]
            again = try_input(reader, {name: less}, folder)[2]
            if again is not None and (again.kind, again.where) == (find.kind, find.where):
                data, smaller = less, True
            else:
                at += size
        size = size if smaller and size > 1 else size // 2
    return {name: data}


# ---- runs -------------------------------------------------------------------------------------------------------------


def run_reader(name: str, inputs: int, seed: int, finds: Path) -> dict[str, Any]:
    """All inputs of one reader: counts, and each find once with the smallest input that shows it."""
    counts: Counter[str] = Counter()
    seen: dict[tuple[str, str], tuple[Find, Files, int]] = {}
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-", dir=place()) as home:
        started = time.perf_counter()
        reader = make_readers(Path(home))[name]
        made = time.perf_counter() - started
        folder = Path(home) / "input"
        for number in range(inputs):
            files = make_input(reader, seed, number)
            (finds / f"{name}.last").write_text(str(number))
            before = time.process_time()
            outcome, said, find = try_input(reader, files, folder)
            slowest = max(slowest, time.process_time() - before)
            counts["past"] += reader.syntax(files, said)
            counts[outcome if find is None or find.kind in ("noise", "lines") else "finds"] += 1
            if find is not None:
                key = (find.kind, find.where)
                counts[f"of {key[0]}: {key[1]}"] += 1
                size = sum(map(len, files.values()))
                if key not in seen or size < sum(map(len, seen[key][1].values())):
                    seen[key] = (find, files, number)
        took = time.perf_counter() - started - made
        listed = []
        for i, (key, (find, files, number)) in enumerate(sorted(seen.items(), key=lambda item: item[0])):
            small = shrink(reader, files, find, folder)
            again = try_input(reader, small, folder)[2] or find
            for file, data in small.items():
                (finds / f"{name}-{i}-{file}").write_bytes(data)
            listed.append(
                {
                    **vars(again),
                    "number": number,
                    "times": counts[f"of {key[0]}: {key[1]}"],
                    "files": {f: shown_input(d) for f, d in small.items()},
                }
            )
    return {
        "name": name,
        "inputs": inputs,
        "seconds": took,
        "slowest": slowest,
        "finds": listed,
        **{k: counts[k] for k in ("accepted", "refused", "past")},
    }


SHARES = {"config": 18, "weights": 9, "corpus": 7, "queries": 7, "qrels-tsv": 6, "qrels-trec": 5, "run": 7, "journal": 13,
    "summary": 6,
          "study-config": 3, "study-weights": 2, "candidates": 4, "trials": 3, "manifest": 3, "timings": 2, "arrays": 5,
          "cache": 4, "responses": 6, "vectors": 5, "tables": 5, "pages": 3}  # fmt: skip


def show_row(row: dict[str, Any], finds: Sequence[str] = ("", ""), slowest: str = "") -> None:
    """One line of the table."""
    share = f"{row['past'] / max(1, row['inputs']):.1%}"
    cells = [row["inputs"], row["accepted"], row["refused"], share, *finds, f"{row['seconds']:.1f}", slowest]
    print(f"{row['name']:14}" + "".join(f"{cell:>12}" for cell in cells))


def show(rows: list[dict[str, Any]]) -> None:
    """The table, then every find."""
    heads = ("inputs", "accepted", "refused", "past syntax", "finds", "noise", "seconds", "slowest")
    print(f"\n{'reader':14}" + "".join(f"{head:>12}" for head in heads))
    for row in rows:
        noise = sum(find["kind"] == "noise" for find in row["finds"])
        show_row(row, [str(len(row["finds"]) - noise), str(noise)], f"{row['slowest']:.3f}")
    show_row(
        {"name": "all", **{key: sum(row[key] for row in rows) for key in ("inputs", "accepted", "refused", "past", "seconds")}}
    )
    for row in rows:
        for find in row["finds"]:
            print(f"\n{row['name']} #{find['number']} ({find['times']} times): {find['kind']}, {find['where']}")
            for file, data in find["files"].items():
                print(f"  {file}: {data}")
            print("  " + find["tail"].strip().replace("\n", "\n  "))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=100_000, help="of all readers together; of the one reader with --reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", choices=list(SHARES))
    parser.add_argument("--only", type=int, help="with --reader: show this input and what it does")
    parser.add_argument("--finds", type=Path, default=Path(tempfile.gettempdir()) / "harness-fuzz-finds")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.finds.mkdir(parents=True, exist_ok=True)
    if options.reader and options.only is not None:
        with tempfile.TemporaryDirectory(prefix="harness-fuzz-", dir=place()) as home:
            reader = make_readers(Path(home))[options.reader]
            files = make_input(reader, options.seed, options.only)
            print(files)
            outcome, said, find = try_input(reader, files, Path(home) / "input")
            print(outcome, said, find.tail if find else "", sep="\n")
        return 0
    if options.reader:
        row = run_reader(options.reader, options.inputs, options.seed, options.finds)
        if options.json:
            print(json.dumps(row))
        else:
            show([row])
        return int(any(find["kind"] != "noise" for find in row["finds"]))
    rows, total = [], sum(SHARES.values())
    for name in SHARES:  # each in a process of its own: one that dies takes no other with it
        inputs = -(-options.inputs * SHARES[name] // total)  # rounded up: at least as many as asked for
        command = [
            sys.executable,
            __file__,
            "--reader",
            name,
            "--inputs",
            str(inputs),
            "--seed",
            str(options.seed),
            "--finds",
            str(options.finds),
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": "0"})
        try:
            rows.append(json.loads(done.stdout.splitlines()[-1]))
        except (ValueError, IndexError):
            last = (options.finds / f"{name}.last").read_text()
            print(f"{name}: the process ended with {done.returncode} at input {last}\n{done.stderr[-2000:]}")
            continue
        print(f"{name}: {inputs} inputs, {len(rows[-1]['finds'])} finds, {rows[-1]['seconds']:.0f} s", flush=True)
    show(rows)
    return int(len(rows) < len(SHARES) or any(find["kind"] != "noise" for row in rows for find in row["finds"]))


if __name__ == "__main__":
    sys.exit(main())
