"""One YAML file in, one frozen object out; everything that does not hold is reported together, each with its place."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo

from harness.blocks import DEFAULT_BACKEND, Keyword, Live, Scale, Semantic, check_analyzer
from harness.bm25 import VARIANTS
from harness.chunks import Chunking
from harness.collection import DataFiles
from harness.collection_blocks import MOST_CHARACTERS, TAGS, Collection, QrelsPlace, QueriesPlace, place_of
from harness.embedder import refuse
from harness.engines import (
    ANY_WEIGHT,
    ENGINES,
    nearest_fusion,
    refuse_setting,
    refuse_value,
    rules_of,
    too_many,
    weightless,
)
from harness.errors import HarnessError, Problems
from harness.measures import GROWS_WITH_K, Measure, parse_measure
from harness.statements import check_storage
from harness.types import Conventions, Params
from harness.values import (
    K1,
    MOST_DEPTH,
    B,
    Block,
    Depth,
    Filled,
    Flag,
    ListItemsError,
    RrfK,
    Weight,
    Whole,
    each,
    filled,
    is_number,
    one_of,
    real,
    shown,
    whole,
)
from harness.yamlfile import YamlDocument, dump_yaml, read_yaml

REFUSED_SAMPLERS = {"cmaes": "Optuna keeps its state as a pickle in the storage, and a study holds no pickle"}
SAMPLERS = ("exact", "tpe", "random", "qmc", "grid", "bruteforce", "nsgaii", "nsgaiii", "gp")
INDEX_PARAMS = ("analyzer", "variant", "model", "chunk_size", "chunk_overlap")  # what is built: each value once, and cached
PARAM_NAMES = ("semantic_weight", "top_k", "fusion", "rrf_k", "depth", "k1", "b", *INDEX_PARAMS)  # of columns and of drawing
WHOLE_PARAMS = ("top_k", "depth", "rrf_k", "chunk_size", "chunk_overlap")
TEXT_PARAMS = ("fusion", "analyzer", "variant", "model")
MOST_INDEXES = 64
READERS = ("tpe", "nsgaii", "nsgaiii", "gp")  # samplers that look at what other trials found
STUDY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_STEPS = 1_000_000  # of a range: its values are listed
GIVEN = {  # what stands in a retriever's place: the keys of its block that do something beside it
    ("keyword", "run"): ("run",),
    ("semantic", "run"): ("run",),
    ("semantic", "vectors"): ("vectors", "index", "normalize"),
    ("semantic", "embedder"): ("embedder", "index", "normalize"),
}
NO_ENGINE = "?"  # in place of an engine that is not known


def _fusion(value: Any, engine: str | None) -> str:
    """A fusion by the engine's own name (the harness's own ones for None); what it lacks is refused with the nearest."""
    if engine == NO_ENGINE:
        return filled(value)
    rules = rules_of(engine)
    if engine is None or not isinstance(value, str) or value in rules.fusions:
        return one_of(*rules.fusions)(value)
    nearest = nearest_fusion(value, engine)
    raise ValueError(
        f"must be one of {', '.join(rules.fusions)} (the fusions of {rules.title}, by its own names), got {value!r};"
        f" nearest: {nearest}"
    )


def _fusion_in_context(value: Any, info: ValidationInfo) -> str:
    return _fusion(value, (info.context or {}).get("engine"))


def _sampler(value: Any) -> str:
    if isinstance(value, str) and value in REFUSED_SAMPLERS:
        raise ValueError(f"must not be {value}: {REFUSED_SAMPLERS[value]}; take one of {', '.join(SAMPLERS)}")
    return one_of(*SAMPLERS)(value)


def _engine(value: Any) -> str | None:
    return None if value is None else one_of(*ENGINES)(value)


def _storage(value: Any) -> str | None:
    return None if value is None else check_storage(filled(value))


def _name(value: Any) -> str:
    if not isinstance(value, str) or not STUDY_NAME.fullmatch(value) or value.upper() == "README.MD":
        raise ValueError(f"must be a folder's name (letters, digits, . _ -, first a letter or digit), got {shown(value)}")
    return value


CHECKED_OPTIONS = {"name": _name}


def _held_out(value: Any) -> Any:
    """A share of the prompts, a list of their ids, or files of their own."""
    if value is None or isinstance(value, HeldOutFiles):
        return value
    if isinstance(value, list):
        if not value:
            raise ValueError("must list at least one query id, got an empty list")
        return each(value, filled)
    if isinstance(value, dict):
        return _held_out_files(value)
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"must be a share between 0 and 1, a list of query ids, or queries and qrels, got {shown(value)}")
    return float(value)


def _held_out_files(value: dict[str, Any]) -> HeldOutFiles:
    """Prompts and labels of their own, or another split of the collection's; the errors name the keys."""
    given = {name for name, item in value.items() if item is not None}
    if not given <= set(HeldOutFiles.model_fields) or not ("queries" in given or given == {"split"}):
        named = ", ".join(map(repr, value)) or "nothing"
        raise ValueError(f"must name queries and qrels (prompts with answers need none), or a split, got {named}")
    try:
        return HeldOutFiles.model_validate(value)
    except ValidationError as error:
        items = error.errors(include_url=False)
        places = [tuple(key for key in item["loc"] if key not in TAGS) for item in items]
        told = [(keys, _explain(item, ("held_out", *keys), None)) for keys, item in zip(places, items, strict=True)]
        raise ValueError("; ".join(f"{'.'.join(map(str, keys))}: {text}" if keys else text for keys, text in told)) from None


def _measure(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a measure such as MAP@10, got {shown(value)}")
    return str(parse_measure(value))


def _objective(value: Any) -> list[str]:
    if not isinstance(value, list):
        return [_measure(value)]
    if len(value) not in (1, 2):
        raise ValueError(f"must be one measure, or a list of two (a Pareto front), got {len(value)}")
    names = each(value, _measure)
    if len(set(names)) != len(names):
        raise ValueError(f"the two objectives must differ, got {names[0]} twice")
    return names


def _cutoffs(value: Any) -> list[int]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"must be a list of whole numbers, got {shown(value)}")
    return sorted(set(each(value, whole(1))))


GUARD = re.compile(r"(\S+) may not fall by more than ([0-9]*\.?[0-9]+)")


def _guards(value: Any) -> dict[str, float]:
    """Guard rails: `{Recall@20: .01}`, or sentences such as "Recall@20 may not fall by more than .01"."""
    if isinstance(value, list):
        pairs: list[tuple[Any, Any]] = []
        for item in value:
            match = GUARD.fullmatch(item.strip()) if isinstance(item, str) else None
            if match is None:
                raise ValueError(f'must read "MEASURE may not fall by more than NUMBER", got {shown(item)}')
            pairs.append((match[1], float(match[2])))
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        raise ValueError(f"must be a mapping of measures to the largest fall allowed, got {shown(value)}")
    guards = {}
    for name, limit in pairs:
        measure = parse_measure(str(name))
        if measure.cutoff == "top_k":
            raise ValueError(f"a guard must have a cutoff of its own, such as Recall@20, got {name!r}")
        guards[str(measure)] = real(0, 1)(limit)
    return guards


Fusion = Annotated[str, BeforeValidator(_fusion_in_context)]
BOUNDS: dict[str, tuple[float, float]] = {
    "semantic_weight": (0, 1),
    "top_k": (1, MOST_DEPTH),
    "rrf_k": (1, MOST_DEPTH),
    "depth": (1, MOST_DEPTH),
    "k1": (0, 1000),
    "b": (0, 1),
    "chunk_size": (20, MOST_CHARACTERS),
    "chunk_overlap": (0, MOST_CHARACTERS),
}


class MeasureOptions(Block):
    """Conventions that the field leaves open (docs/measures.md)."""

    relevance_threshold: Whole = 1
    ap_denominator: Annotated[str, BeforeValidator(one_of("R", "min(R,K)", "retrieved"))] = "R"
    precision_denominator: Annotated[str, BeforeValidator(one_of("K", "returned"))] = "K"
    gain: Annotated[str, BeforeValidator(one_of("linear", "exponential"))] = "linear"

    def conventions(self) -> Conventions:
        """The same as the measures read it."""
        return Conventions(**self.model_dump())


class Range(Block):
    """A searched interval: whole numbers for top_k, depth and rrf_k, real ones for the others."""

    low: Annotated[float, BeforeValidator(real())]
    high: Annotated[float, BeforeValidator(real())]
    step: Annotated[float, BeforeValidator(real(0, above=True))] | None = None
    log: Flag = False


class Current(Block):
    """The setting in production today; what it does not name has the top-level value or the default."""

    semantic_weight: Weight | None = None
    top_k: Annotated[int, BeforeValidator(whole(1, MOST_DEPTH))] | None = None
    fusion: Fusion | None = None
    rrf_k: RrfK | None = None
    depth: Depth | None = None
    k1: K1 | None = None
    b: B | None = None


class HeldOutFiles(Block):
    """Prompts and labels of their own, or another split of the collection's tables, scored once at the end."""

    queries: QueriesPlace | None = None
    qrels: QrelsPlace | None = None
    split: Filled | None = None


class Search(Block):
    """How much is tried, by which of Optuna's samplers, and over what."""

    trials: Whole = 200
    timeout: Annotated[float, BeforeValidator(real(0, above=True))] | None = None
    sampler: Annotated[str, BeforeValidator(_sampler)] = "tpe"
    batch: Whole = 1  # trials that may run side by side: none of them sees another
    space: dict[str, Any] = Field(default_factory=lambda: {"semantic_weight": {"low": 0.0, "high": 1.0}})


class Config(Block):
    """The resolved config: every default filled in. `objective` is a list of one or two measures."""

    name: Annotated[str, BeforeValidator(_name)]
    seed: Annotated[int, BeforeValidator(whole(0))] = 0
    engine: Annotated[str | None, BeforeValidator(_engine)] = None
    collection: Collection
    keyword: Keyword = Keyword()
    semantic: Semantic = Semantic()
    live: Live | None = None
    depth: Depth = 100
    semantic_weight: Weight = 0.5
    top_k: Annotated[int, BeforeValidator(whole(1, MOST_DEPTH))] = 10
    fusion: Fusion = "minmax"
    rrf_k: RrfK = 60
    objective: Annotated[list[str], BeforeValidator(_objective)] = Field(default_factory=lambda: ["MAP@top_k"])
    report_at: Annotated[list[int], BeforeValidator(_cutoffs)] = Field(default_factory=lambda: [1, 3, 5, 10, 15])
    tolerance: Annotated[float, BeforeValidator(real(0, 1))] = 0.02
    measures: MeasureOptions = MeasureOptions()
    search: Search = Search()
    current: Current | None = None
    guards: Annotated[dict[str, float], BeforeValidator(_guards)] = Field(default_factory=dict)
    held_out: Annotated[float | list[str] | HeldOutFiles | None, BeforeValidator(_held_out)] = None
    storage: Annotated[str | None, BeforeValidator(_storage)] = None
    cache: Filled = ".harness-cache"
    scale: Scale | None = None

    @property
    def objectives(self) -> tuple[Measure, ...]:
        """The objective as measures: one, or two for a Pareto front."""
        return tuple(parse_measure(text) for text in self.objective)

    @property
    def held_out_data(self) -> DataFiles | None:
        """Where the held-out prompts and their labels are; None where they are not apart from the others."""
        held, files = self.held_out, self.data
        if not isinstance(held, HeldOutFiles):
            return None
        if held.queries is None:
            return replace(files, split=held.split)
        qrels = place_of(held.qrels) if held.qrels is not None else None
        return replace(files, queries=place_of(held.queries), qrels=qrels, split=held.split)

    @property
    def base(self) -> Params:
        """The top-level values and defaults: what baselines use, and what the space does not name."""
        fused = (self.semantic_weight, self.top_k, self.fusion, self.rrf_k, self.depth, self.keyword.k1, self.keyword.b)
        return Params(*fused, **{name: self.index_value(name) for name in self.indexed})

    @property
    def indexed(self) -> tuple[str, ...]:
        """The index parameters that the space names: a study over several indexes."""
        return tuple(name for name in INDEX_PARAMS if name in self.search.space)

    def index_value(self, name: str) -> Any:
        """The top-level value of an index parameter."""
        if name in ("chunk_size", "chunk_overlap"):
            chunk = self.collection.chunk
            return chunk.size if name == "chunk_size" else chunk.overlap
        return self.semantic.model if name == "model" else getattr(self.keyword, name)

    @property
    def indexes(self) -> tuple[Params, ...]:
        """The base at every index that a trial or a baseline may search, its own first; a single one without such a search."""
        values = []
        for name in self.indexed:
            entry = self.search.space[name]
            values.append(entry if isinstance(entry, list) else [entry])
        made = [replace(self.base, **dict(zip(self.indexed, chosen, strict=True))) for chosen in itertools.product(*values)]
        return tuple(dict.fromkeys([self.base, *made]))

    def at_index(self, params: Params) -> Config:
        """This config for one index alone: the one that these parameters name; the space without what chooses an index."""
        if not self.indexed:
            return self
        model = params.model or self.semantic.model
        revision = self.semantic.revision if model == self.semantic.model else None
        named = {name: value for name in ("analyzer", "variant") if (value := getattr(params, name))}
        space = {name: entry for name, entry in self.search.space.items() if name not in INDEX_PARAMS}
        return self.model_copy(
            update={
                "keyword": self.keyword.model_copy(update=named),
                "semantic": self.semantic.model_copy(update={"model": model, "revision": revision}),
                "search": self.search.model_copy(update={"space": space}),
            }
        )

    @property
    def data(self) -> DataFiles:
        """Where the collection is, and every way in which the study cuts its texts."""
        return self.cut_as(self.collection.files())

    def cut_as(self, files: DataFiles) -> DataFiles:
        """These files, with the corpus cut in every way that the study tries."""
        if not {"chunk_size", "chunk_overlap"} & set(self.indexed):
            return files
        return replace(files, cuts=tuple(Chunking(*cut) for cut in dict.fromkeys(map(self.cut_of, self.indexes))))

    def cut_of(self, params: Params) -> tuple[int, int]:
        """Size and overlap of the chunks that these parameters search."""
        size, overlap = (
            getattr(params, name) if name in self.indexed else self.index_value(name) for name in ("chunk_size", "chunk_overlap")
        )
        return int(size), int(overlap)

    @property
    def kept(self) -> Params | None:
        """The setting in production today, None where the config names none."""
        if self.current is None:
            return None
        return replace(self.base, **{k: v for k, v in self.current.model_dump().items() if v is not None})

    @property
    def deepest(self) -> int:
        """The largest depth that a trial or a baseline may ask for."""
        entry = self.search.space.get("depth", self.depth)
        values = [entry["high"]] if isinstance(entry, dict) else entry if isinstance(entry, list) else [entry]
        kept = self.kept
        return max(self.depth, kept.depth if kept else 1, *(int(value) for value in values))

    def list_source(self, side: str) -> str | None:
        """The key of what stands in the place of a retriever, a live engine's statement or a run; None for its own index."""
        if self.live is not None and side in self.live.statements:
            return f"live.{side}"
        return f"{side}.run" if getattr(self, side).run is not None else None

    @property
    def given_lists(self) -> bool:
        """Whether something stands in the place of a retriever: then there is no search to time."""
        return any(self.list_source(side) is not None for side in ("keyword", "semantic"))

    @property
    def searches_vectors(self) -> bool:
        """Whether the semantic lists come from an index of the program's own."""
        return self.list_source("semantic") is None

    @property
    def fusions(self) -> set[str]:
        """Every fusion that is named: at the top, in the space, in `current`."""
        searched = self.search.space.get("fusion", self.fusion)
        kept = {self.kept.fusion} if self.kept is not None else set()
        return {*(searched if isinstance(searched, list) else [searched]), self.fusion, *kept}

    @property
    def spreads(self) -> bool:
        """Whether anything is computed in shards: an index of the program's own, under `scale`."""
        return self.scale is not None and (self.list_source("keyword") is None or self.searches_vectors)

    @property
    def encodes(self) -> bool:
        """Whether the program's own model makes vectors, of prompts at least."""
        asked = self.live is not None and self.live.wants_vectors
        return self.semantic.vectors is None and (self.searches_vectors or asked)

    @property
    def largest_top_k(self) -> int:
        """The upper end of top_k in the space (the fixed value where it is not searched)."""
        entry = self.search.space.get("top_k", self.top_k)
        values = [entry["high"]] if isinstance(entry, dict) else entry if isinstance(entry, list) else [entry]
        return max(int(value) for value in values)

    @property
    def tunes_bm25(self) -> bool:
        """Whether a trial may use another k1 or b than the top-level ones: then the postings are kept."""
        kept = self.kept
        if kept is not None and (kept.k1, kept.b) != (self.keyword.k1, self.keyword.b):
            return True
        return any(name in self.search.space and self.search.space[name] != getattr(self.base, name) for name in ("k1", "b"))

    @property
    def picks_itself(self) -> bool:
        """Whether top_k is free under an objective that never falls as K grows: its best trial is trivial."""
        entry = self.search.space.get("top_k")
        lowest = entry["low"] if isinstance(entry, dict) else min(entry) if isinstance(entry, list) else MOST_DEPTH
        free = all(isinstance(m.cutoff, str) or m.cutoff is None or lowest < m.cutoff for m in self.objectives)
        free = free and isinstance(entry, (dict, list))
        growing = all(
            m.name in GROWS_WITH_K and (m.name != "MAP" or m.cutoff is None or self.measures.ap_denominator == "R")
            for m in self.objectives
        )
        return (
            free and growing and (self.measures.ap_denominator != "retrieved" or "MAP" not in {m.name for m in self.objectives})
        )

    def to_yaml(self) -> str:
        """The resolved config as YAML; reading it gives the same object."""
        data = self.model_dump()
        for side, name in (("collection", "split"), ("keyword", "fields"), *GIVEN):
            if data[side][name] is None:
                data[side].pop(name)
        if data["semantic"]["backend"] == DEFAULT_BACKEND:
            data["semantic"].pop("backend")
        for name in ("live", "scale", "storage"):
            if data[name] is None:
                data.pop(name)
        if self.search.batch == 1:
            data["search"].pop("batch")
        if data["collection"]["relevance"] == "document":
            data["collection"].pop("relevance")
        if isinstance(data["collection"]["corpus"], dict) and data["collection"]["corpus"]["source"] is None:
            data["collection"]["corpus"].pop("source")
        if isinstance(data["held_out"], dict):
            data["held_out"] = {key: value for key, value in data["held_out"].items() if value is not None}
        data["objective"] = self.objective[0] if len(self.objective) == 1 else self.objective
        return dump_yaml(data)


def read_config(path: str | Path, **overrides: Any) -> Config:
    """The config in a YAML file, with top-level keys replaced by `overrides` (the command line's); HarnessError else."""
    document = read_yaml(Path(path), collect=True)
    if not isinstance(document.value, dict):
        kind = type(document.value).__name__ if document.value is not None else "nothing"
        raise HarnessError(f"{path}: must hold a mapping of keys to values at the top, got {kind}")
    problems = Problems()
    for key, value in overrides.items():
        try:
            CHECKED_OPTIONS[key](value)
        except ValueError as error:
            problems.add(f"--{key}", str(error))
    problems.raise_any()
    return parse_config({"name": Path(path).stem, **document.value, **overrides}, document)


def load_config(config: Config | str | Path, name: str | None = None, *, allow_code: bool | None = None) -> Config:
    """The config, read where it is a path, under another study name where one is given.

    A command that encodes says by `allow_code` whether it may run an embedder; see `permit_code`.
    """
    overrides = {"name": name} if name is not None else {}
    if isinstance(config, Config):
        loaded = parse_config({**config.model_dump(), **overrides})
    else:
        loaded = read_config(config, **overrides)
    return loaded if allow_code is None else permit_code(loaded, allow_code=allow_code)


def permit_code(config: Config, *, allow_code: bool) -> Config:
    """The config with leave to run its embedder; HarnessError where it would need to be run and `allow_code` is false."""
    name = config.semantic.embedder
    if name is None or not config.encodes:
        return config
    if not allow_code:
        raise refuse(name)
    return config.model_copy(update={"semantic": config.semantic.allow_code()})


def parse_config(data: Mapping[str, Any], document: YamlDocument | None = None) -> Config:
    """The config that this mapping describes; HarnessError lists every problem with its place."""
    problems = Problems()
    problems.lines.extend(document.problems if document is not None else ())
    config: Config | None = None
    engine = data.get("engine")
    if engine is not None and (not isinstance(engine, str) or engine not in ENGINES):
        engine = NO_ENGINE  # it is refused below; what its rules would say of the rest is not known
    rules = rules_of(None if engine == NO_ENGINE else engine)
    try:
        filled = {"fusion": rules.default_fusion, "rrf_k": rules.rrf_k, **data}
        config = Config.model_validate(filled, context={"engine": engine})
    except ValidationError as error:
        for item in error.errors(include_url=False):
            keys = tuple(key for key in item["loc"] if key not in TAGS)
            cause = item.get("ctx", {}).get("error")
            if isinstance(cause, ListItemsError):
                for i, text in cause.items:
                    problems.add(_where(keys if i is None else (*keys, i), document), text)
            else:
                problems.add(_where(keys, document), _explain(item, keys, document))
        if _lacks_corpus(data):
            problems.add(_where(("collection", "corpus"), document), "must be given, got nothing")
    search = data.get("search")
    space = search.get("space") if isinstance(search, dict) else None
    checked = _check_space(space, document, problems, engine) if space is not None else None
    if config is not None and not problems.lines:
        if checked is not None:
            config = config.model_copy(update={"search": config.search.model_copy(update={"space": checked})})
        _check_together(config, document, problems)
        _check_engine(config, document, problems)
    if engine is not None and engine != NO_ENGINE:
        _refuse_values(data, engine, document, problems)
    problems.raise_any()
    assert config is not None  # no problems means that it validated
    return config


def _lacks_corpus(data: Mapping[str, Any]) -> bool:
    """Whether a config that does not validate names no corpus and nothing that could do without one."""
    collection, sides = data.get("collection"), [data.get("keyword"), data.get("semantic")]
    elsewhere = "live" in data or any(isinstance(block, Mapping) and "run" in block for block in sides)
    return isinstance(collection, Mapping) and collection.get("corpus") is None and not elsewhere


def _where(keys: tuple[str | int, ...], document: YamlDocument | None) -> str:
    if document is not None:
        return document.where(keys)
    return ".".join(map(str, keys)) or "config"


def _explain(item: Mapping[str, Any], keys: tuple[str | int, ...], document: YamlDocument | None) -> str:
    kind, value = item["type"], item.get("input")
    if kind == "missing":
        return "must be given, got nothing"
    if kind == "extra_forbidden":
        known = _known_keys(keys[:-1])
        near = difflib.get_close_matches(str(keys[-1]), known, n=1, cutoff=0.5)
        boolean = ""
        if isinstance(value, bool) and document is not None and keys in document.written:
            boolean = f" (and its value {document.written[keys]!r} is read as {str(value).lower()}: put quotes if text is meant)"
        return (
            f"must be a known key, got {str(keys[-1])!r}; "
            + (f"nearest: {near[0]}" if near else f"known: {', '.join(known)}")
            + boolean
        )
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return f"must be a mapping of keys to values, got {shown(value)}"
    return f"{item['msg']}, got {shown(value)}"


def _known_keys(parents: tuple[str | int, ...]) -> list[str]:
    model: Any = Config
    for key in parents:
        field = model.model_fields.get(str(key)) if hasattr(model, "model_fields") else None
        model = _block_in(field.annotation) if field is not None else None
    return list(model.model_fields) if hasattr(model, "model_fields") else []


def _block_in(kind: Any) -> Any:
    """The block among the kinds that a key may have, at any depth of unions; None where there is none."""
    if hasattr(kind, "model_fields"):
        return kind
    return next((found for inner in get_args(kind) if (found := _block_in(inner)) is not None), None)


def _check_space(space: Any, document: YamlDocument | None, problems: Problems, engine: str | None) -> dict[str, Any] | None:
    """The space with its numbers in their own types; whatever does not hold goes into `problems`."""
    root: tuple[str | int, ...] = ("search", "space")
    if not isinstance(space, dict):
        return None
    checked: dict[str, Any] = {}
    for name, entry in space.items():
        keys = (*root, name)
        if name not in PARAM_NAMES:
            near = difflib.get_close_matches(str(name), PARAM_NAMES, n=1, cutoff=0.5)
            advice = f"nearest: {near[0]}" if near else f"known: {', '.join(PARAM_NAMES)}"
            problems.add(_where(keys, document), f"must be a parameter that can be searched, got {name!r}; {advice}")
        elif isinstance(entry, dict) and name in INDEX_PARAMS:
            problems.add(_where(keys, document), f"must be a list of values, each of which is built, got {entry!r:.80}")
        elif isinstance(entry, dict) and name != "fusion":
            checked[name] = _check_range(name, entry, keys, document, problems, engine)
        elif isinstance(entry, list):
            checked[name] = [_check_value(name, item, (*keys, i), document, problems, engine) for i, item in enumerate(entry)]
            values = [item for item in checked[name] if item is not None]
            if not entry or len({repr(item) for item in values}) != len(values):
                problems.add(_where(keys, document), f"must list at least one value, each once, got {entry!r:.80}")
        else:
            checked[name] = _check_value(name, entry, keys, document, problems, engine)
    return {name: checked[name] for name in PARAM_NAMES if name in checked}


def _check_value(
    name: str,
    value: Any,
    keys: tuple[str | int, ...],
    document: YamlDocument | None,
    problems: Problems,
    engine: str | None,
) -> Any:
    try:
        return _check_param(name, value, engine)
    except ValueError as error:
        problems.add(_where(keys, document), str(error))
        return None


def _check_param(name: str, value: Any, engine: str | None) -> Any:
    """One parameter's value in its own type; ValueError says what must hold."""
    if name == "fusion":
        return _fusion(value, engine)
    if name == "analyzer":
        return check_analyzer(value)
    if name == "variant":
        return one_of(*VARIANTS)(value)
    if name == "model":
        return filled(value)
    if name in WHOLE_PARAMS:
        return whole(int(BOUNDS[name][0]), int(BOUNDS[name][1]))(value)
    return real(*BOUNDS[name])(value)


def _check_range(
    name: str,
    entry: dict[str, Any],
    keys: tuple[str | int, ...],
    document: YamlDocument | None,
    problems: Problems,
    engine: str | None,
) -> dict[str, Any]:
    before = len(problems.lines)
    try:
        Range.model_validate(entry)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            if item["type"] == "extra_forbidden":
                what = f"must be low, high, step or log, got {item['loc'][-1]!r}"
            else:
                what = _explain(item, tuple(item["loc"]), None)
            problems.add(_where((*keys, *item["loc"]), document), what)
    result: dict[str, Any] = {
        key: _check_value(name, entry[key], (*keys, key), document, problems, engine)
        for key in ("low", "high")
        if key in entry and is_number(entry[key])
    }
    if len(problems.lines) > before:
        return result
    step = entry.get("step")
    if step is not None:
        result["step"] = int(step) if name in WHOLE_PARAMS else float(step)
        if result["step"] != step:
            problems.add(_where((*keys, "step"), document), f"must be a whole number, got {step!r}")
            return result
        if (result["high"] - result["low"]) / result["step"] > MOST_STEPS:
            problems.add(_where((*keys, "step"), document), f"must make at most {MOST_STEPS} steps, got {step!r}")
            return result
    if entry.get("log"):
        result["log"] = True
        if step is not None:
            problems.add(_where(keys, document), "log and step must not stand together; take one out")
        if result["low"] <= 0:
            problems.add(_where((*keys, "low"), document), f"must be above 0 for a log range, got {result['low']!r}")
    if step is not None and result["low"] <= result["high"]:
        steps = (result["high"] - result["low"]) / result["step"]
        if abs(steps - round(steps)) > 1e-9 * max(1.0, steps):
            reached = result["low"] + math.floor(steps) * result["step"]
            problems.add(
                _where(keys, document),
                f"high must be low plus whole steps, got low={result['low']!r}, high={result['high']!r},"
                f" step={result['step']!r}; the last step reaches {reached:.12g}",
            )
    if result["low"] > result["high"]:
        problems.add(_where(keys, document), f"low ≤ high must hold, got low={result['low']!r}, high={result['high']!r}")
    return result


def _check_together(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """What no single key can tell."""
    space = config.search.space
    if config.search.sampler in ("grid", "bruteforce"):
        for name, entry in space.items():
            if isinstance(entry, dict) and "step" not in entry and (name not in WHOLE_PARAMS or entry.get("log")):
                problems.add(
                    _where(("search", "space", name), document),
                    f"must be a list, or a range with a step, for the sampler {config.search.sampler}; give one of them",
                )
    if (
        config.search.sampler == "grid"
        and "rrf_k" in space
        and isinstance(space.get("fusion"), list)
        and len(space["fusion"]) > 1
    ):
        problems.add(
            _where(("search", "sampler"), document),
            "must not be grid where rrf_k is drawn only for one of several fusions; nearest: bruteforce",
        )
    if config.search.sampler == "exact":
        if len(config.objective) > 1:
            problems.add(_where(("search", "sampler"), document), "must not be exact for two objectives; nearest: nsgaii")
        weight = space.get("semantic_weight", {})
        if isinstance(weight, list) or (isinstance(weight, dict) and "step" in weight):
            problems.add(
                _where(("search", "space", "semantic_weight"), document),
                "must be a range without a step, or one value, for the sampler exact; nearest: grid",
            )
        for name in ("k1", "b"):
            entry = space.get(name)
            if isinstance(entry, dict) and "step" not in entry:
                problems.add(
                    _where(("search", "space", name), document),
                    "must be a list, or a range with a step, for the sampler exact; give one of them",
                )
    if config.scale is not None and config.searches_vectors and config.semantic.index != "Flat":
        problems.add(
            _where(("semantic", "index"), document),
            f"must be Flat under scale, where each shard is searched exactly, got {config.semantic.index!r}: another index finds"
            " other documents in shards than in the whole",
        )
    if "theoretical" in config.fusions:
        if not config.semantic.normalize:
            problems.add(
                _where(("semantic", "normalize"), document),
                "must be true for the fusion theoretical: its lowest score, -1, is that of unit vectors",
            )
        if not config.searches_vectors:
            source = config.list_source("semantic")
            problems.add(
                _where(tuple(str(source).split(".")), document),
                "must not stand beside the fusion theoretical: nothing says how low"
                f" {_maker(source)}'s score can be; nearest: minmax",
            )
    _check_indexes(config, document, problems)
    if config.search.batch > 1 and config.search.sampler not in READERS:
        problems.add(
            _where(("search", "batch"), document),
            f"must be left out for the sampler {config.search.sampler}, which never looks at what other trials found",
        )
    _check_corpus(config, document, problems)
    _check_chunks(config, document, problems)
    _check_given(config, document, problems)
    _check_live(config, document, problems)
    held = config.held_out
    if isinstance(held, HeldOutFiles) and held.queries is None and held.split in (None, config.collection.split):
        problems.add(_where(("held_out", "split"), document), "must be another split than collection.split, got the same")
    if isinstance(held, HeldOutFiles) and held.queries is None and config.collection.split is None:
        problems.add(_where(("collection", "split"), document), "must say which rows to tune on where another split is held out")


def _maker(source: str | None) -> str:
    """Who made the lists that stand in the place of a retriever, by the key that names them."""
    return "a run" if str(source).endswith(".run") else "a server"


def _check_given(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """What lists and vectors from elsewhere leave no room for: keys that could do nothing beside them."""
    for (side, what), keeps in GIVEN.items():
        block = getattr(config, side)
        if getattr(block, what) is None:
            continue
        defaults = type(block)().model_dump()
        for name, value in block.model_dump().items():
            if name not in keeps and value != defaults[name]:
                problems.add(_where((side, name), document), f"must be left out beside {side}.{what}, where it does nothing")
    made = config.list_source("keyword")
    if made is not None:
        kept = config.current.model_dump(exclude_none=True) if config.current is not None else {}
        for keys, named in ((("search", "space"), config.search.space), (("current",), kept)):
            for name in sorted({"k1", "b"} & set(named)):
                problems.add(
                    _where((*keys, name), document), f"must be left out beside {made}: the scores of {_maker(made)} are made"
                )


def _check_indexes(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """Index parameters in the space need an index of the program's own, and labels that do not depend on the chunks."""
    by_side = {"keyword": ("analyzer", "variant"), "semantic": ("model",)}
    for side, names in by_side.items():
        source = config.list_source(side)
        if source is None and side == "semantic" and config.semantic.vectors is not None:
            source = "semantic.vectors"
        if source is None and side == "semantic" and config.semantic.embedder is not None:
            source = "semantic.embedder"
        for name in set(names) & set(config.indexed) if source is not None else ():
            problems.add(_where(("search", "space", name), document), f"must be left out beside {source}, where it does nothing")
    cut = [name for name in ("chunk_size", "chunk_overlap") if name in config.search.space]
    if cut:
        where = _where(("search", "space", cut[0]), document)
        sides = [config.list_source(side) for side in by_side] + [
            "semantic.vectors" if config.semantic.vectors is not None else None
        ]
        made = next((source for source in sides if source is not None), None)
        if made is not None:
            problems.add(where, f"must be left out beside {made}, which knows one way of cutting alone")
        elif config.keyword.fields is not None:
            problems.add(where, "must be left out beside keyword.fields: titles are known for one way of cutting alone")
        elif not config.collection.cuts_texts:
            problems.add(where, "must be left out where the corpus is no folder, pattern or file of texts: nothing is cut")
        elif config.collection.relevance != "source":
            problems.add(
                where,
                "must stand beside collection.relevance: source: labels that name chunks, or the chunks with an answer, are"
                " others for every way of cutting, and their scores cannot be compared",
            )
        for params in config.indexes:
            size, overlap = config.cut_of(params)
            if overlap >= size:
                problems.add(where, f"every overlap < every size must hold, got {overlap} and {size}")
                break
    if len(config.indexes) > MOST_INDEXES:
        problems.add(
            _where(("search", "space"), document),
            f"must name at most {MOST_INDEXES} indexes, got {len(config.indexes)} from {', '.join(config.indexed)}",
        )


def _check_corpus(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """A corpus is needed by an index of the program's own, and by labels that are answers."""
    if config.collection.corpus is not None:
        return
    if config.collection.relevance == "source":
        problems.add(
            _where(("collection", "corpus"), document), "must be given, got nothing, and it says which source a document has"
        )
    own = [side for side in ("keyword", "semantic") if config.list_source(side) is None]
    if own:
        problems.add(_where(("collection", "corpus"), document), f"must be given, got nothing, and the {own[0]} side indexes it")
    elif config.collection.qrels is None:
        problems.add(_where(("collection", "corpus"), document), "must be given, got nothing, and answers are looked up in it")


def _check_chunks(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """Chunks in tokens need a model of the config's own to count them."""
    chunk = getattr(config.collection.corpus, "chunk", None)
    if chunk is None or chunk.unit != "tokens":
        return
    for name in ("chunk_size", "chunk_overlap"):
        if name in config.search.space:
            where = _where(("search", "space", name), document)
            problems.add(where, "must be left out beside chunk.unit: tokens; take characters")
    if config.encodes and config.semantic.embedder is None:
        return
    what = next((name for name in ("run", "vectors", "embedder") if getattr(config.semantic, name) is not None), None)
    made = f"semantic.{what}" if what is not None else "live.semantic"
    problems.add(
        _where(("collection", "corpus", "chunk", "unit"), document),
        f"must be characters beside {made}, got tokens: there is no model here whose tokens they could be; a token of English"
        " is about 5 characters",
    )


def _check_live(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """What a live engine needs, and which keys could do nothing beside it."""
    live, vectors = config.live, config.semantic.vectors
    if vectors is not None and vectors.documents is None and config.searches_vectors:
        problems.add(_where(("semantic", "vectors", "documents"), document), "must be given, got nothing")
    if live is None:
        return
    if not live.statements:
        problems.add(_where(("live",), document), "must have a statement for keyword or semantic, or both, got neither")
    makers = ("model", "revision", "device", "query_prompt", "max_seq_length", "normalize", "vectors", "embedder")
    asks = makers if live.wants_vectors else ()
    for side in live.statements:
        block = getattr(config, side)
        defaults = type(block)().model_dump()
        for name, value in block.model_dump().items():
            if value != defaults[name] and not (side == "semantic" and name in asks):
                problems.add(_where((side, name), document), f"must be left out beside live.{side}, where it does nothing")
    if vectors is not None and "semantic" in live.statements:
        for name in ("documents", "document_ids"):
            if getattr(vectors, name) is not None:
                where = _where(("semantic", "vectors", name), document)
                problems.add(where, "must be left out beside live.semantic: the server holds the documents' vectors")


def _check_engine(config: Config, document: YamlDocument | None, problems: Problems) -> None:
    """What the engine cannot express, anywhere in the config: at the top, in `current`, in the search space."""
    if config.engine is None:
        return
    space, base = config.search.space, config.base
    for keys, params in [((), base), *([(("current",), config.kept)] if config.kept is not None else [])]:
        for name, reason in refuse_setting(config.engine, params):
            if name in ("rrf_k", "depth"):
                continue  # `_refuse_values` names these
            if keys or name != "semantic_weight" or "fusion" not in space:  # no trial uses the top-level fusion
                problems.add(_where((*keys, name), document), reason)
    weighs = any(value != ANY_WEIGHT for _, value in _ends_of(space.get("semantic_weight", config.semantic_weight)))
    for inner, fusion in _ends_of(space.get("fusion")):
        if weighs and not rules_of(config.engine).fusions[fusion].weighted:
            problems.add(
                _where(("search", "space", "fusion", *inner), document),
                f"must not stand in a space that searches semantic_weight: {weightless(config.engine, fusion)}",
            )
    weighted = rules_of(config.engine).fusions[config.fusion].weighted
    if "fusion" not in space and "semantic_weight" in space and weighs and not weighted:
        problems.add(
            _where(("search", "space", "semantic_weight"), document),
            f"must be {ANY_WEIGHT}: {weightless(config.engine, config.fusion)}",
        )
    shallowest = min((int(value) for _, value in _ends_of(space.get("depth", config.depth))), default=config.depth)
    searched = [name for name in ("top_k", "depth") if name in space]
    if rules_of(config.engine).top_k_within_depth and config.largest_top_k > shallowest and searched:
        problems.add(
            _where(("search", "space", searched[0]), document), too_many(config.engine, config.largest_top_k, shallowest)
        )


def _refuse_values(data: Mapping[str, Any], engine: str, document: YamlDocument | None, problems: Problems) -> None:
    """Constants and depths that the engine cannot hold, whatever else is wrong with the config."""
    search, current = data.get("search"), data.get("current")
    space = search.get("space") if isinstance(search, dict) else None
    for keys, block in (((), data), (("current",), current), (("search", "space"), space)):
        if not isinstance(block, Mapping):
            continue
        for name in ("rrf_k", "depth"):
            for inner, value in _ends_of(block.get(name)):
                refused = refuse_value(engine, name, value) if is_number(value) and value >= 1 else None
                if refused is not None:
                    problems.add(_where((*keys, name, *inner), document), refused)


def _ends_of(entry: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    """The values that bound one entry of the space, each with its place below it: a list's, a range's ends, a fixed one."""
    if isinstance(entry, list):
        return [((i,), value) for i, value in enumerate(entry)]
    if isinstance(entry, dict):
        return [((end,), entry[end]) for end in ("low", "high") if end in entry]
    return [] if entry is None else [((), entry)]


WEIGHTS_KEYS = (*PARAM_NAMES, "decision", "interval")


def read_weights(path: Path, config: Config) -> Params:
    """The setting in a `weights.yaml`; keys that it lacks have the config's values. HarnessError lists every problem."""
    document = read_yaml(path, collect=True)
    problems = Problems()
    problems.lines.extend(document.problems)
    if not isinstance(document.value, dict):
        raise HarnessError(f"{path}: must hold a mapping of keys to values, got {type(document.value).__name__}")
    values: dict[str, Any] = {}
    for key, value in document.value.items():
        if key not in WEIGHTS_KEYS:
            near = difflib.get_close_matches(str(key), WEIGHTS_KEYS, n=1, cutoff=0.5)
            problems.add(document.where((key,)), f"must be a known key, got {key!r}" + (f"; nearest: {near[0]}" if near else ""))
        elif key in INDEX_PARAMS and key not in config.indexed:
            if value != config.index_value(key):
                problems.add(
                    document.where((key,)),
                    f"must be the {key} of the config's index, {config.index_value(key)}, got {shown(value)}",
                )
        elif key in PARAM_NAMES:
            values[key] = value
    params = check_params(values, config, lambda key: document.where((key,)), problems)
    problems.raise_any()
    return params


def check_params(values: Mapping[str, Any], config: Config, where: Callable[[str], str], problems: Problems) -> Params:
    """A setting from outside: what it lacks has the config's values; what does not hold goes into `problems`."""
    before = len(problems.lines)
    checked: dict[str, Any] = {}
    for name, value in values.items():
        try:
            checked[name] = _check_param(name, value, config.engine)
        except ValueError as error:
            problems.add(where(name), str(error))
    if checked.get("fusion") == "theoretical" and config.engine is None:
        if not config.semantic.normalize:
            problems.add(where("fusion"), "must not be theoretical where semantic.normalize is false")
        if not config.searches_vectors:
            source = config.list_source("semantic")
            problems.add(where("fusion"), f"must not be theoretical beside {source}, whose lowest score is not known")
    made = config.list_source("keyword")
    for name in ("k1", "b") if made is not None else ():
        stays = getattr(config.keyword, name)
        if checked.get(name, stays) != stays:
            problems.add(where(name), f"must be {stays} beside {made}: the scores of {_maker(made)} are made")
    params = replace(config.base, **checked)
    if params.index not in {other.index for other in config.indexes}:
        names = [name for name in INDEX_PARAMS if name in checked and name not in config.indexed] or [*config.indexed]
        problems.add(where(names[0]), "must make one of the indexes of the config's space, got another one")
        return config.base
    if len(problems.lines) == before:
        for name, reason in refuse_setting(config.engine, params):
            problems.add(where(name), reason)
    return params
