"""`check`: everything that can be said of a config and its data before an index is built or a model loaded."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness import semantic, traps
from harness.candidates import merge_lists
from harness.collection import Parts, Source, check_found, find_places, join_parts, read_parts
from harness.config import Config, HeldOutFiles, load_config, permit_code
from harness.embedder import find_embedder
from harness.fields import with_titles
from harness.files import read_run_lines
from harness.given import cut_lists, read_given_run, read_given_vectors
from harness.ids import encode_ids
from harness.inference import FEWEST_DIFFERING
from harness.languages import say_unfit
from harness.live import take_ids, with_list
from harness.notebook import Rows, Shown
from harness.prepare import data_files, refuse_below_zero, split_held_out, warn_of_data, warn_of_engine, warn_of_space
from harness.progress import Progress, Silence
from harness.retrieve import TINY_CORPUS, say_tiny
from harness.space import count_points, count_settings
from harness.splits import number_units
from harness.traffic import count_units, effective_number, has_weights, heaviest, say_uneven, weights_of
from harness.traps import DOCUMENT, HELD_OUT, JUDGEMENT, PROMPT, Example, Ref
from harness.types import Dataset, Query, RankedLists

FEW_PROMPTS = 25  # independent ones: below, only a large gain can be proved
MOST_EXAMPLES = 5  # of a note
KINDS = {DOCUMENT: "corpus", PROMPT: "queries", HELD_OUT: "queries"}  # of table


@dataclass(frozen=True)
class Place:
    """An id, what it is the id of, and where it stands: file:line."""

    kind: str
    id: str
    where: str


@dataclass(frozen=True)
class Note:
    """A finding that deserves a look: its name, a sentence, and how often; `examples` holds the first few, each the
    places that belong together. A note that is not about ids has none, and count 0.
    """

    name: str
    message: str
    count: int = 0
    examples: tuple[tuple[Place, ...], ...] = ()


@dataclass(frozen=True)
class Check(Shown):
    """What was counted (plain JSON, as `to_dict` hands it on), a sentence about the size, and the notes."""

    config: Config
    facts: dict[str, Any]
    size: str
    notes: tuple[Note, ...]

    def rows(self) -> Rows:
        """A row for each note."""
        return [{"note": note.name, "count": note.count, "message": note.message} for note in self.notes]

    def caption(self) -> str:
        """Study and size."""
        return f"study {self.config.name}: {self.size or f'{len(self.notes)} notes'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        notes = [
            {
                "name": note.name,
                "message": note.message,
                "count": note.count,
                "examples": [[vars(place) for place in example] for example in note.examples],
            }
            for note in self.notes
        ]
        return {"study": self.config.name, "objective": self.config.objective, **self.facts, "size": self.size, "notes": notes}


@dataclass(frozen=True)
class Found:
    """A note before its ids have been looked up in the files."""

    name: str
    message: str
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Read:
    """Config and data: the files' contents, the joined collection, and the prompts on both sides of the split."""

    config: Config
    parts: Parts
    dataset: Dataset
    tuned: tuple[Query, ...]
    held_out: tuple[Query, ...]

    @property
    def threshold(self) -> int:
        """The lowest grade that counts as relevant."""
        return max(self.config.measures.relevance_threshold, 1)


def check(config: Config | str | Path, *, allow_code: bool = False, progress: Progress | None = None) -> Check:
    """What there is to know of a config and its data; nothing is built, written or downloaded.

    A live engine is asked for one prompt, with its vector where the statement wants it; `allow_code` is leave to run the
    config's embedder for that. HarnessError where `tune` would refuse them, SurroundingsError where a server fails. The notes
    hold what is allowed and deserves a look.
    """
    progress = progress or Silence()
    loaded = load_config(config)
    if loaded.live is not None and loaded.live.wants_vectors:
        loaded = permit_code(loaded, allow_code=allow_code)
    data = read_all(loaded, progress)
    live = ask_server(data, progress)
    tokens = count_tokens(data, progress)
    n_units = count_units(number_units([query.cluster for query in data.tuned]), weights_of(data.tuned))
    facts = {
        "collection": count_collection(data),
        "independent_prompts": n_units,
        **describe_labels(data),
        "groups": dict(sorted(Counter(query.group for query in data.dataset.queries if query.group).items())),
        "clusters": describe_clusters(data.dataset.queries),
        **({"weights": describe_shares(data.tuned)} if has_weights(data.tuned) else {}),
        "words": describe_words(data),
        "tokens": tokens.facts,
        "space": describe_space(data.config),
        **live.facts,
    }
    found = [
        *find_holes(data),
        *find_same_prompts(data),
        *find_uneven_weights(data),
        *find_copies(data),
        *find_id_traps(data),
        *tokens.found,
        *live.found,
        *find_analyzer(data),
        *find_in_config(data.config),
    ]
    if n_units < FEW_PROMPTS:
        found.insert(0, Found("few_prompts", f"{n_units} independent prompts are few: {judge_size(n_units)}"))
    return Check(data.config, facts, judge_size(n_units), look_up(found, data))


def read_all(config: Config, progress: Progress) -> Read:
    """Config and data as `tune` reads them; HarnessError as there, and for a model or an index that is none."""
    files = data_files(config)
    parts = read_parts(files, progress)
    dataset = with_titles(join_parts(parts, files, config.measures.relevance_threshold), files.corpus, config.keyword)
    check_found(dataset, files)
    if files.corpus is None:
        dataset = take_ids(dataset, set(dataset.doc_ids))  # those that the labels name
    tuned, held_out = split_held_out(config, dataset)
    encode_ids([*(query.query_id for query in tuned.queries), *dataset.doc_ids])
    if config.encodes and config.semantic.embedder is not None:
        find_embedder(config.semantic.embedder)
    for params in config.indexes if config.encodes and config.semantic.embedder is None else ():
        semantic.locate_model(config.at_index(params).semantic)
    if config.searches_vectors:
        semantic.check_index(config.semantic.index)
    check_given(config, tuned)
    return Read(config, parts, dataset, tuned.queries, held_out.queries if held_out is not None else ())


def check_given(config: Config, dataset: Dataset) -> None:
    """HarnessError where a run or vectors from elsewhere cannot serve these prompts; nothing is kept of them."""
    for side, run in (("keyword", config.keyword.run), ("semantic", config.semantic.run)):
        if run is not None and config.collection.corpus is not None:
            lists = cut_lists(read_given_run(Path(run), dataset, side).lists, config.deepest)
            if side == "keyword":
                nothing = RankedLists(np.full_like(lists.rows[:, :1], -1), np.full_like(lists.scores[:, :1], np.nan))
                refuse_below_zero(config, dataset, merge_lists(lists, nothing), None)
        elif run is not None:
            read_run_lines(Path(run))
    if config.semantic.vectors is not None and config.collection.corpus is not None:
        read_given_vectors(config.semantic.vectors, dataset, normalize=config.semantic.normalize)


def judge_size(n_units: int) -> str:
    """What so many independent prompts can prove."""
    if n_units < FEWEST_DIFFERING:
        return f"a verdict needs at least {FEWEST_DIFFERING} that differ, so it will be undecided"
    if n_units < FEW_PROMPTS:
        return "only a large gain can be proved, so expect the verdict undecided"
    return "enough for a verdict; under labels, tune says how small a gain they can prove"


# What there is, in numbers


def count_collection(data: Read) -> dict[str, int]:
    """How many of what; the names are those of summary.json."""
    counts = data.dataset.counts
    return {
        "documents": counts.documents,
        "queries": counts.queries,
        "queries_used": len(data.tuned),
        "queries_held_out": len(data.held_out),
        "judgements": counts.judgements,
        "queries_without_judgements": len(counts.without_judgements),
        "queries_without_relevant": len(counts.without_relevant),
    }


def describe_labels(data: Read) -> dict[str, Any]:
    """The grades with their number, and how many judgements and relevant documents a judged prompt has."""
    judgements, known = data.parts.judgements, {query.query_id for query in data.parts.queries}
    grades = Counter(judgement.grade for judgement in judgements)
    judged = Counter(judgement.query_id for judgement in judgements if judgement.query_id in known)
    relevant = Counter(j.query_id for j in judgements if j.query_id in known and j.grade >= data.threshold)
    return {
        "relevance_threshold": data.threshold,
        "grades": {str(grade): grades[grade] for grade in sorted(grades)},
        "judgements_per_prompt": spread(judged.values()),
        "relevant_per_prompt": spread(relevant[query_id] for query_id in judged),
    }


def spread(numbers: Iterable[int]) -> dict[str, float]:
    """Least, median and most; empty for no numbers."""
    values = sorted(numbers)
    if not values:
        return {}
    return {"min": values[0], "median": float(np.median(values)), "max": values[-1]}


def describe_clusters(queries: Sequence[Query]) -> dict[str, Any]:
    """How many clusters there are, and how many prompts they have; empty without clusters."""
    sizes = Counter(query.cluster for query in queries if query.cluster)
    return {"clusters": len(sizes), "prompts_per_cluster": spread(sizes.values())} if sizes else {}


def describe_shares(queries: Sequence[Query]) -> dict[str, float]:
    """The weights of the prompts to tune on: their sum, their effective number, the largest share, and how many are 0."""
    weights = weights_of(queries)
    return {
        "sum": float(weights.sum()),
        "effective_prompts": effective_number(weights),
        "largest_share": float(weights.max() / weights.sum()),
        "zero": int((weights == 0).sum()),
    }


def describe_words(data: Read) -> dict[str, dict[str, float]]:
    """The lengths of documents and prompts in words (what white space parts)."""
    prompts = [query.text for query in (*data.tuned, *data.held_out)]
    return {"documents": lengths_of(data.parts.texts), "prompts": lengths_of(prompts)}


def lengths_of(texts: Sequence[str]) -> dict[str, float]:
    """Median, 95th percentile and most words."""
    return quantiles(np.asarray([len(text.split()) for text in texts]))


def quantiles(lengths: Any) -> dict[str, float]:
    """Median, 95th percentile (a length that occurs) and largest of (n,) lengths; empty for no lengths."""
    if not len(lengths):
        return {}
    high = np.percentile(lengths, 95, method="inverted_cdf")
    return {"median": float(np.median(lengths)), "p95": int(high), "max": int(lengths.max())}


def describe_space(config: Config) -> dict[str, Any]:
    """How large the search space is; a number is absent where a real range without a step makes it endless."""
    counted = {"discrete_settings": count_settings(config), "combinations": count_points(config)}
    return {
        "sampler": config.search.sampler,
        "trials": config.search.trials,
        **{name: n for name, n in counted.items() if n is not None},
        "picks_itself": config.picks_itself,
    }


@dataclass(frozen=True)
class Tokens:
    """What counting tokens gave: facts for `to_dict`, and findings."""

    facts: dict[str, Any]
    found: tuple[Found, ...] = ()


def count_tokens(data: Read, progress: Progress) -> Tokens:
    """How many texts are longer than the model reads; the reason in their place where that cannot be counted."""
    if not data.config.encodes:
        return Tokens({"counted": False, "reason": "the semantic side was made elsewhere"})
    try:
        counter = semantic.load_counter(data.config.semantic)
    except semantic.NotCountedError as error:
        return Tokens({"counted": False, "reason": str(error)})
    prompts = [*data.tuned, *data.held_out]
    texts = data.parts.texts if data.config.searches_vectors else ()  # a server holds the vectors of its own
    documents = counter.count(texts, "document", progress)
    queries = counter.count([query.text for query in prompts], "query", progress)
    limit = counter.limit
    longest = np.argsort(-documents, kind="stable")
    long = [(Ref(DOCUMENT, data.parts.doc_ids[i]),) for i in longest if documents[i] > limit and texts[i]]
    long_prompts = [(_ref(data, prompts[i]),) for i in np.flatnonzero(queries > limit)]
    found = [
        Found("long_documents", semantic.say_cut(len(long), max(1, len(documents)), limit), long),
        Found("long_prompts", f"{len(long_prompts)} prompts are longer than the model's {limit} tokens", long_prompts),
    ]
    if semantic.wants_prompts(data.config.semantic.model, counter.prompts["query"]):
        found.append(Found("query_prompt", semantic.say_prompt(data.config.semantic.model)))
    facts = {
        "counted": True,
        "limit": limit,
        "documents": {**quantiles(documents), "longer": len(long)},
        "prompts": {**quantiles(queries), "longer": len(long_prompts)},
    }
    return Tokens(facts, tuple(item for item in found if item.examples or item.name == "query_prompt"))


# A live engine


@dataclass(frozen=True)
class Asked:
    """What a live engine answered: facts for `to_dict` (nothing where the config names none), and findings."""

    facts: dict[str, Any]
    found: tuple[Found, ...] = ()


def ask_server(data: Read, progress: Progress) -> Asked:
    """Each statement's list for the first used prompt; errors as those of `tune`."""
    config, prompt = data.config, data.tuned[0]
    if config.live is None:
        return Asked({})
    found: list[Found] = []
    hub = config.live.wants_vectors and config.encodes and config.semantic.embedder is None
    if hub and semantic.locate_model(config.semantic) is None:
        found.append(
            Found(
                "live_not_asked",
                f"live.semantic was not asked: the prompt's vector needs the model {config.semantic.model}, which is no folder,"
                " and nothing is downloaded to look",
            )
        )
        config = config.model_copy(update={"live": config.live.model_copy(update={"semantic": None})})
    facts: dict[str, Any] = {"prompt": prompt.query_id, "depth": config.deepest}
    with tempfile.TemporaryDirectory(prefix="harness-check-") as place:  # nothing stays of the prompt's vector
        config = config.model_copy(update={"cache": place})
        one = replace(data.dataset, queries=(prompt,))
        answered = with_list(config, one, prompt, 0, progress, depth=config.deepest).fetched
    for side, fetched in answered.items():
        hits = len(fetched.lists[prompt.query_id])
        facts |= {**fetched.server, side: {"hits": hits, "seconds": fetched.seconds[0]}}
        if hits < config.deepest and (side == "semantic" or not hits):
            found.append(
                Found(
                    "live_short",
                    f"live.{side} gives {hits} of {config.deepest} documents for the prompt {prompt.query_id!r}: the depth is no"
                    " more than the lists hold",
                    [(_ref(data, prompt),)],
                )
            )
    return Asked({"live": facts}, tuple(found))


# What deserves a look


def find_holes(data: Read) -> list[Found]:
    """Judgements that meet nothing, prompts without any, documents without text."""
    counts, parts, said = data.dataset.counts, data.parts, warn_of_data(data.dataset.counts)
    corpus = data.config.collection.corpus is not None
    missing = traps.missing_documents(parts, data.threshold) if corpus else traps.Missing([], 0, [], [])
    lines = {judgement.query_id: judgement.line for judgement in reversed(parts.judgements)}
    examples: dict[str, list[Example]] = {
        "empty_documents": [(Ref(DOCUMENT, name),) for name in counts.empty_documents],
        "unknown_documents": missing.documents,
        "unmatched": [(Ref(JUDGEMENT, name, lines[name]),) for name in counts.unmatched],
        "without_judgements": [(Ref(PROMPT, name),) for name in counts.without_judgements],
        "without_relevant": [(Ref(PROMPT, name),) for name in counts.without_relevant],
        **{remark.name: [(Ref(PROMPT, name),) for name in remark.query_ids] for remark in counts.remarks},
    }
    if missing.alike:
        said["unknown_documents"] += f"; {missing.alike} of them are written almost like an id of the corpus"
    found = [Found(name, message, examples[name]) for name, message in said.items()]
    empty = traps.empty_but_relevant(parts, data.threshold)
    negative = [(Ref(JUDGEMENT, f"{j.query_id} {j.doc_id}", j.line),) for j in parts.judgements if j.grade < 0]
    more = [
        Found("prompts_with_unknown", f"{len(missing.prompts)} prompts name a document that is missing", missing.prompts),
        Found(
            "hopeless_prompts",
            f"{len(missing.hopeless)} prompts have no relevant document but missing ones: they can only score 0, in every system",
            missing.hopeless,
        ),
        Found("empty_but_relevant", f"{len(empty)} relevant documents have no text: nothing can return them", empty),
        Found("negative_grades", f"{len(negative)} judgements have a negative grade: they count as not relevant", negative),
    ]
    tiny = [Found("tiny_corpus", say_tiny(counts.documents))] if corpus and counts.documents < TINY_CORPUS else []
    return [*tiny, *found, *_filled(more), *_single_relevant(data)]


def _single_relevant(data: Read) -> list[Found]:
    relevant = data.dataset.qrels.count_relevant(data.threshold)
    single, n = int((relevant == 1).sum()), relevant.size
    if single * 2 <= n:
        return []
    return [
        Found(
            "single_relevant",
            f"{single} of {n} prompts ({single / n:.0%}) have a single relevant document: MAP is MRR there, and what else"
            " would have helped counts as wrong",
        )
    ]


def find_same_prompts(data: Read) -> list[Found]:
    """Prompts whose text stands twice: among those to tune on, and across the split."""
    side = HELD_OUT if isinstance(data.config.held_out, HeldOutFiles) else PROMPT
    same = traps.same_prompts(data.tuned)
    loose, close = ([_refs(group) for group in same if traps.apart(group) is apart] for apart in (True, False))
    across = traps.same_across(data.tuned, data.held_out, side)
    return _filled(
        [
            Found(
                "same_prompts",
                f"{len(loose)} texts are asked by several prompts that share no cluster: they count as independent, and a split"
                " can tear them apart; give them a cluster",
                loose,
            ),
            Found(
                "same_prompts_in_cluster",
                f"{len(close)} texts are asked by several prompts of one cluster: they stay together in every split",
                close,
            ),
            Found(
                "across_the_split",
                f"{len(across)} prompts to tune on have the text of a held-out prompt: the held-out score is not one on unseen"
                " prompts; give them a cluster, or take them out of one side",
                across,
            ),
        ]
    )


def find_uneven_weights(data: Read) -> list[Found]:
    """Whether few prompts carry every mean, and which."""
    said = say_uneven(data.tuned)
    if said is None:
        return []
    return [Found("uneven_weights", said, [(_ref(data, data.tuned[i]),) for i in heaviest(data.tuned)])]


def _refs(group: Sequence[Query]) -> Example:
    return tuple(Ref(PROMPT, query.query_id) for query in group)


def find_copies(data: Read) -> list[Found]:
    """Documents whose text stands twice, or is a prompt's, and what the judgements make of copies."""
    by_text = traps.documents_by_text(data.parts.doc_ids, data.parts.texts)
    groups = [names for names in by_text.values() if len(names) > 1]
    copied = traps.prompts_that_are_documents(data.tuned, by_text)
    twins = traps.uneven_twins(groups, traps.grades_by_prompt(data.parts.judgements), data.threshold)
    uneven, half = twins.contradicting, twins.half_judged
    return _filled(
        [
            Found(
                "prompts_are_documents",
                f"{len(copied)} prompts have the text of a document: is the prompt what a user typed?",
                copied,
            ),
            Found(
                "same_documents",
                _say_copies(groups, data.parts),
                [tuple(Ref(DOCUMENT, name) for name in names) for names in groups],
            ),
            Found(
                "uneven_twins",
                f"{_times(uneven)} a prompt gives documents of one text different grades: mend the judgements",
                uneven,
            ),
            Found(
                "half_judged_twins",
                f"{_times(half)} a document is relevant to a prompt and another one of the same text is not judged: returning"
                " that one counts as wrong",
                half,
            ),
        ]
    )


def _say_copies(groups: Sequence[Sequence[str]], parts: Parts) -> str:
    text_of = dict(zip(parts.doc_ids, parts.texts, strict=True)) if groups else {}
    exact = Counter((number, text_of[name]) for number, names in enumerate(groups) for name in names)
    to_the_letter = sum(n for n in exact.values() if n > 1)
    return (
        f"{sum(map(len, groups))} documents share their text with another, case and white space aside: {len(groups)} texts, the"
        f" most common one {max(map(len, groups), default=0)} times; {to_the_letter} documents do to the letter"
    )


def find_id_traps(data: Read) -> list[Found]:
    """Ids that somebody, or some tool, will take for another."""
    doc_ids, query_ids = data.parts.doc_ids, [query.query_id for query in data.parts.queries]
    alike = traps.alike_ids(DOCUMENT, doc_ids) + traps.alike_ids(PROMPT, query_ids)
    spaced = traps.spaced_ids(DOCUMENT, doc_ids) + traps.spaced_ids(PROMPT, query_ids)
    shared = traps.shared_ids(doc_ids, query_ids)
    return _filled(
        [
            Found(
                "ids_alike",
                f"{_times(alike)} ids differ only by case, white space, Unicode form or leading zeros: they are"
                " different ids here",
                alike,
            ),
            Found("ids_encoded", f"{len(spaced)} ids hold white space and stand percent-encoded in the TREC files", spaced),
            Found(
                "ids_shared",
                f"{len(shared)} ids are a document's and a prompt's: harmless here, but some evaluation tools drop"
                " a result that has its prompt's id",
                shared,
            ),
        ]
    )


def find_analyzer(data: Read) -> list[Found]:
    """Whether the analyzer plainly does not fit the documents."""
    said = say_unfit(data.parts.texts, data.config.keyword.analyzer) if data.config.list_source("keyword") is None else None
    return [] if said is None else [Found("analyzer", said)]


def find_in_config(config: Config) -> list[Found]:
    """What `tune` would say of engine and search space, whatever the trials bring."""
    found = [Found(name, message) for name, message in {**warn_of_engine(config), **warn_of_space(config)}.items()]
    points = count_points(config)
    if points is not None and points < config.search.trials:
        found.append(
            Found("small_space", f"the space has {points} settings for {config.search.trials} trials: each is computed once")
        )
    return found


def _times(examples: Sequence[Example]) -> str:
    return "once" if len(examples) == 1 else f"{len(examples)} times"


def _filled(found: Iterable[Found]) -> list[Found]:
    return [item for item in found if item.examples]


# Where it stands


def _ref(data: Read, query: Query) -> Ref:
    """A prompt as a reference, of the held-out file where it comes from there."""
    from_file = isinstance(data.config.held_out, HeldOutFiles) and query in data.held_out
    return Ref(HELD_OUT if from_file else PROMPT, query.query_id)


def look_up(found: Sequence[Found], data: Read) -> tuple[Note, ...]:
    """The findings with their first examples as places, each file read once more for the lines."""
    shown = [list(item.examples[:MOST_EXAMPLES]) for item in found]
    wanted: dict[str, set[str]] = {}
    for ref in (ref for examples in shown for example in examples for ref in example):
        wanted.setdefault(ref.kind, set()).add(ref.id)
    places, where = places_of(data.config), {}
    for kind, ids in wanted.items():
        where[kind] = find_places(places[kind], KINDS[kind], ids) if kind != JUDGEMENT else {}
    return tuple(
        Note(
            item.name,
            item.message,
            len(item.examples),
            tuple(tuple(place_of(ref, places, where) for ref in example) for example in examples),
        )
        for item, examples in zip(found, shown, strict=True)
    )


def places_of(config: Config) -> dict[str, Path | Source]:
    """Where the references of each kind are."""
    files, held = config.collection.files(), config.held_out_data
    later = held.queries if held is not None else files.queries
    corpus = {DOCUMENT: files.corpus} if files.corpus is not None else {}
    return {**corpus, PROMPT: files.queries, HELD_OUT: later, JUDGEMENT: files.labels}


def place_of(ref: Ref, places: Mapping[str, Path | Source], where: Mapping[str, Mapping[str, str]]) -> Place:
    """The reference with its file and line."""
    return Place(ref.kind, ref.id, f"{places[ref.kind]}:{ref.line}" if ref.line else where[ref.kind][ref.id])
