"""Shared inputs: a small collection written by hand, and the handbook with its embeddings made once a session."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from browser import Browser, start_browser, under_ci, what_is_missing

ROOT = Path(__file__).parents[1]

DOCUMENTS = {
    "apple": ("Apple storage", "Apples keep for months in a cool cellar, away from potatoes and onions."),
    "apricot": ("Apricot drying", "Halve ripe apricots, remove the stones and dry them slowly in the sun."),
    "bean": ("Growing runner beans", "Runner beans climb poles and want water at the roots once they flower."),
    "beet": ("Beetroot", "Sow beetroot thinly; thin the seedlings early or the roots stay small."),
    "bird": ("Birds in the garden", "Blackbirds eat cherries as soon as they redden, nets keep them off the fruit."),
    "cabbage": ("Cabbage white", "The caterpillars of this butterfly strip brassica leaves to the ribs in days."),
    "carrot": ("Carrot fly", "The fly smells bruised foliage; sow late and cover the bed with fleece."),
    "cherry": ("Cherry pruning", "Prune sweet cherries in summer, when silver leaf cannot enter the wounds."),
    "compost": ("Hot compost", "A heap of one cubic metre heats to sixty degrees and kills weed seeds."),
    "fence": ("Fence paint", "Water-based paint for fences dries in two hours and lasts four years."),
    "frost": ("Late frost", "Cover blossom with fleece at night when the forecast falls below zero."),
    "garlic": ("Garlic", "Plant cloves before winter; the cold splits them into bulbs."),
    "greenhouse": ("Ventilating a greenhouse", "Open the roof vents before noon, or tomatoes drop their flowers in the heat."),
    "hose": ("Hose couplings", "Brass couplings outlast plastic ones, and a washer costs pennies."),
    "lawn": ("Lawn moss", "Moss grows where the ground is sour, shaded and compacted; aerate it first."),
    "leek": ("Leeks", "Drop seedlings into deep holes and let the rain fill them: long white stems follow."),
    "mulch": ("Mulch", "A layer of bark keeps moisture in the soil and weeds in the dark."),
    "pea": ("Peas", "Peas fix nitrogen; leave the roots in the ground after the harvest."),
    "potato": ("Potato blight", "Brown blotches after warm wet days mean blight: cut the haulm at once."),
    "rhubarb": ("Forcing rhubarb", "A dark pot over the crown in January gives pale, tender sticks."),
    "seed": ("Saving seed", "Keep seed dry and cool in paper; onion seed lasts one year, tomato seed five."),
    "slug": ("Slugs", "Beer traps drown slugs, but a hedgehog does more for the lettuce."),
    "tomato": ("Tomato feed", "Feed weekly with potash once the first truss has set."),
    "water": ("Watering", "Water early and deeply, twice a week, rather than a little every evening."),
}
PROMPTS: dict[str, tuple[str, str, dict[str, int]]] = {
    "q01": ("how do I store apples over winter", "storage", {"apple": 2, "seed": 0}),
    "q02": ("butterfly grubs eat my kale", "pests", {"cabbage": 2}),
    "q03": ("fleece against cold nights for flowers", "weather", {"frost": 2, "carrot": 1}),
    "q04": ("why do plants under glass lose their blooms", "weather", {"greenhouse": 2}),
    "q05": ("silver leaf", "disease", {"cherry": 2}),
    "q06": ("brown spots on spuds after rain", "disease", {"potato": 2}),
    "q07": ("keep birds off cherries", "pests", {"bird": 2, "cherry": 0}),
    "q08": ("how long does onion seed last", "storage", {"seed": 2}),
    "q09": ("get rid of moss in grass", "weather", {"lawn": 2, "mulch": 0}),
    "q10": ("when to give potash", "feeding", {"tomato": 2, "compost": 0}),
    "q11": ("natural enemies of molluscs on salad", "pests", {"slug": 2}),
    "q12": ("how often should I irrigate", "feeding", {"water": 2, "bean": 1}),
}


def write_collection(folder: Path) -> dict[str, str]:
    """The hand-written collection as files; returns the config's `collection` block."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": doc, "title": title, "text": text} for doc, (title, text) in DOCUMENTS.items()]
    queries = [{"_id": q, "text": text, "group": group} for q, (text, group, _) in PROMPTS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    lines = [f"{q}\t{doc}\t{grade}\n" for q, (_, _, labels) in PROMPTS.items() for doc, grade in labels.items()]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return {name: str(folder / file) for name, file in FILES.items()}


FILES = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of embeddings for the session: nothing is encoded twice."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def garden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The hand-written collection."""
    return write_collection(tmp_path_factory.mktemp("garden"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; skips where there is none, and fails under CI."""
    if missing := what_is_missing():
        (pytest.fail if under_ci() else pytest.skip)(missing)
    with start_browser() as started:
        yield started


def load_benchmark(name: str) -> ModuleType:
    """A script of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def big_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of 1,000 prompts and 2,000 trials; takes most of a minute, once a session."""
    study: Path = load_benchmark("big_report").make_study(tmp_path_factory.mktemp("big"))
    return study


@pytest.fixture
def workdir(tmp_path: Path) -> Iterator[Path]:
    """An empty working directory: studies land below it."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


@pytest.fixture
def write_config(workdir: Path, garden: dict[str, str], cache: Path) -> Callable[..., Path]:
    """Write a config over the garden into the working directory; keyword arguments replace top-level keys."""

    def write(file: str = "study.yaml", **changes: Any) -> Path:
        data: dict[str, Any] = {
            "name": "study",
            "seed": 7,
            "collection": garden,
            "keyword": {"analyzer": "simple"},
            "depth": 10,
            "objective": "MAP@5",
            "report_at": [1, 3, 5],
            "search": {
                "trials": 12,
                "space": {
                    "semantic_weight": {"low": 0.0, "high": 1.0},
                    "top_k": {"low": 2, "high": 8},
                    "fusion": ["minmax", "zscore", "rrf"],
                    "rrf_k": {"low": 1, "high": 100, "log": True},
                },
            },
            "cache": str(cache),
        }
        data |= changes
        path = workdir / file
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path

    return write
