"""`init`: from a folder of data to a first config, every key with a comment that says where its value comes from."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.blocks import PACKAGED_MODEL
from harness.collection import Place, join_parts
from harness.config import STUDY_NAME
from harness.discover import Discovery, Fit, discover
from harness.engines import ENGINES
from harness.errors import HarnessError
from harness.files import write_text
from harness.languages import CJK_SHARE, ENOUGH, Looks, look_at
from harness.propose import choose_analyzer, choose_cutoffs, choose_objective, choose_top_k
from harness.splits import number_units
from harness.traffic import count_units, has_weights, weights_of
from harness.types import Dataset
from harness.yamlfile import dump_yaml

FOLDER = Path("configs")
SEED, TRIALS, DEPTH = 7, 200, 100
ENOUGH_TO_HOLD_OUT = 100  # independent prompts: a fifth of them still says something
PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")
MOST_NAMED = 8  # groups or grades in a comment
WIDTH = 110  # of a comment
OBJECTIVES = {
    "nDCG@10": "The grades differ: nDCG pays more for the better documents, and for the first ranks",
    "MRR@10": "Nearly every prompt has one relevant document: what counts is how far up it stands",
    "MAP@10": "Several relevant documents of one grade: MAP wants all of them, and far up",
}
SIMPLE = "Split at everything that is no letter or digit, no stemming: safe for any language written with spaces"
CJK = "Runs of Chinese, Japanese and Korean characters in pairs"


@dataclass(frozen=True)
class Init:
    """The config that was written, what it was made from, and the commands to run next."""

    path: Path
    name: str
    text: str
    discovery: Discovery
    settings: dict[str, Any]

    @property
    def next(self) -> list[str]:
        """The next two commands."""
        return [f"python -m harness {command} {shlex.quote(str(self.path))}" for command in ("check", "tune")]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        found = self.discovery
        files = {role: {"path": str(fit.path), "size": fit.size} for role, fit in found.chosen.items()}
        also = {role: [{"path": str(fit.path), "size": fit.size} for fit in fits] for role, fits in found.alternatives.items()}
        return {
            "config": str(self.path),
            "name": self.name,
            "looked_at": found.looked_at,
            "files": files,
            "alternatives": {role: fits for role, fits in also.items() if fits},
            "settings": self.settings,
            "next": self.next,
        }


@dataclass(frozen=True)
class Seen:
    """The data in numbers: what the settings are chosen from, and what the comments say."""

    dataset: Dataset
    median_relevant: float
    n_units: int
    looks: Looks
    objective: str
    top_k: tuple[int, int]

    @property
    def analyzer(self) -> str:
        """The analyzer that the documents' looks ask for."""
        return choose_analyzer(self.looks)


def init(folder: str | Path, *, out: str | Path | None = None, force: bool = False) -> Init:
    """Write a first config for the data in `folder` to `out` (configs/NAME.yaml without it).

    HarnessError where the folder holds no collection, or where a file is in the way and `force` is not set.
    """
    found = discover(_from_here(Path(folder)))
    name = study_name(Path(folder))
    path = Path(out) if out is not None else FOLDER / f"{name}.yaml"
    if path.is_dir() or (path.exists() and not force):
        advice = "name another with --out" if path.is_dir() else "name another with --out, or overwrite it with --force"
        raise HarnessError(f"{path}: must not be there yet, got a {'folder' if path.is_dir() else 'file'}; {advice}")
    seen = look_at_data(found)
    text = compose(name, path, Path(folder), found, seen)
    write_text(path, text)
    low, high = seen.top_k
    settings = {"analyzer": seen.analyzer, "objective": seen.objective, "top_k": [low, high], "report_at": choose_cutoffs(high)}
    return Init(path, name, text, found, settings)


def study_name(folder: Path) -> str:
    """The folder's name with everything replaced that a study's name may not hold; `study` where nothing is left."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).lstrip("._-").rstrip("-")[:100]
    return name if STUDY_NAME.fullmatch(name) and name.upper() != "README.MD" else "study"


def _from_here(folder: Path) -> Path:
    """The folder relative to the working directory where it lies inside, else absolute."""
    here, there = Path.cwd().resolve(), folder.resolve()
    return there.relative_to(here) if there.is_relative_to(here) else there


def look_at_data(found: Discovery) -> Seen:
    """What the chosen files hold; HarnessError where `tune` would refuse them."""
    dataset = join_parts(found.parts, found.files, 1)
    relevant = dataset.qrels.count_relevant(1)
    middle = float(np.median(relevant))
    return Seen(
        dataset,
        middle,
        count_units(number_units([query.cluster for query in dataset.queries]), weights_of(dataset.queries)),
        look_at(found.parts.texts),
        choose_objective(found.parts.judgements, relevant.tolist()),
        choose_top_k(middle, dataset.counts.documents),
    )


# The text


def compose(name: str, path: Path, folder: Path, found: Discovery, seen: Seen) -> str:
    """The config as text; HarnessError where a path cannot be written in UTF-8."""
    blocks = [
        _head(path, folder, seen),
        [comment(f"The study's folder will be studies/{name}."), f"name: {scalar(name)}"],
        [comment("All chance follows from it: the same data, config and seed give the same study."), f"seed: {SEED}"],
        _engine(),
        _collection(found, seen),
        _keyword(seen),
        _semantic(seen),
        [comment("How many documents each retriever hands to the fusion for a prompt."), f"depth: {DEPTH}"],
        _objective(seen),
        _search(seen),
        _current(seen),
        _held_out(seen),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def comment(text: str, indent: int = 0) -> str:
    """The text as comment lines of at most WIDTH characters."""
    start = " " * indent + "# "
    wrapped = textwrap.wrap(text, WIDTH - len(start), break_long_words=False, break_on_hyphens=False)
    return "\n".join(start + line for line in wrapped)


def _head(path: Path, folder: Path, seen: Seen) -> list[str]:
    counts, config = seen.dataset.counts, shlex.quote(str(path))
    config = config if config.isprintable() else scalar(config)
    return [
        comment(
            f"A first config for {scalar(str(folder))}: {counts.documents} documents, {counts.queries} prompts,"
            f" {counts.judgements} judgements. Written by `python -m harness init`: every value is a proposal, and the comment"
            " says what it rests on. docs/config.md explains every key, also those that are left out here."
        ),
        "#",
        f"#   python -m harness check {config}    what in the data deserves a look",
        f"#   python -m harness tune {config}     the study",
    ]


def _engine() -> list[str]:
    return [
        comment(
            f"The search engine that will run the setting: one of {', '.join(ENGINES)}. Without it the harness's own fusions"
            " hold. An engine has fusions of its own names (docs/engines.md): with it, take search.space.fusion out."
        ),
        f"# engine: {next(iter(ENGINES))}",
    ]


def _collection(found: Discovery, seen: Seen) -> list[str]:
    counts, place = seen.dataset.counts, found.files.corpus
    assert place is not None  # nothing is discovered without one
    (queries, of_queries), (documents, of_documents) = found.found["queries"], found.found["corpus"]
    corpus = f"{counts.documents} documents: {_form(place)}."
    prompts = f"{counts.queries} prompts, {len(seen.dataset.queries)} of them with a relevant document: only those count."
    joined = (
        f"{queries} of {of_queries} judged prompts are in the queries file, {documents} of {of_documents} judged documents in the"
        " corpus"
        if found.files.qrels is not None
        else f"of the {of_queries} prompts with answers {queries} have one in the corpus, in {documents} of its {of_documents}"
        " documents"
    )
    lines = [
        comment(f"Chosen among {found.looked_at} files by their contents: {joined}."),
        "collection:",
        comment(f"{corpus}{_also(found.alternatives['corpus'], 'documents')}", 2),
        f"  corpus: {written(place)}",
        comment(f"{prompts}{_segments(found)}{_also(found.alternatives['queries'], 'prompts')}", 2),
        f"  queries: {written(found.files.queries)}",
        *_qrels(found, counts.judgements),
    ]
    if found.files.unmatched == "ignore":
        lost = f"{of_queries - queries} judged prompts are not in the queries file; `refuse` would end with an error."
        lines += [comment(lost, 2), "  unmatched: ignore"]
    return lines


def _qrels(found: Discovery, judgements: int) -> list[str]:
    """The labels' lines: a file, or a comment that says what stands in its place."""
    if found.files.qrels is None:
        said = "No qrels: a document is relevant to a prompt if it contains one of the prompt's answers, word for word."
        return [comment(f"{said} That makes {judgements} labels.", 2)]
    said = f"{judgements} judgements: {_grades(found)}. Relevant from grade 1 on (measures.relevance_threshold)."
    return [comment(f"{said}{_also(found.alternatives['qrels'], 'judgements')}", 2), f"  qrels: {written(found.files.qrels)}"]


def _form(corpus: Place) -> str:
    """How the corpus is read."""
    if isinstance(corpus, Path):
        return "one JSON object a line, with _id, text and, if there is one, title"
    if corpus.chunking is not None:
        size, overlap = corpus.chunking.size, corpus.chunking.overlap
        return f"chunks of at most {size} characters, which repeat up to {overlap} of the one before (docs/bring.md)"
    return "one row each, the columns taken by their names"


def written(place: Place) -> str:
    """A place as the config writes it: a path, or a block on one line."""
    if isinstance(place, Path):
        return scalar(str(place))
    keys = {"path": place.path, **place.columns}
    items = [f"{key}: {scalar(value)}" for key, value in keys.items()]
    if place.chunking is not None:
        items.append(f"chunk: {{size: {place.chunking.size}, overlap: {place.chunking.overlap}}}")
    return f"{{{', '.join(items)}}}"


def _also(fits: Sequence[Fit], what: str) -> str:
    """The files that would have fitted as well, as a sentence; nothing where there are none."""
    named = ", ".join(f"{scalar(str(fit.path))} ({fit.size} {what})" for fit in fits)
    return f" Fits as well, and was not taken for its name or size: {named}." if fits else ""


def _segments(found: Discovery) -> str:
    """What there is to say of groups, weights and clusters."""
    groups = Counter(query.group for query in found.parts.queries if query.group)
    clusters = Counter(query.cluster for query in found.parts.queries if query.cluster)
    named = ", ".join(f"{scalar(group)} {n}" for group, n in groups.most_common(MOST_NAMED))
    rest = f" and {len(groups) - MOST_NAMED} more" if len(groups) > MOST_NAMED else ""
    said = f" {len(groups)} groups, which the tables show one by one: {named}{rest}." if groups else ""
    said += " The prompts have weights: each counts by its own in every mean." if has_weights(found.parts.queries) else ""
    if clusters:
        return f"{said} {len(clusters)} clusters with {sum(clusters.values())} prompts: each counts as one question."
    return f"{said} No clusters: where several prompts ask the same thing, give them one `cluster` in the file."


def _grades(found: Discovery) -> str:
    grades = Counter(judgement.grade for judgement in found.parts.judgements)
    return ", ".join(f"{grades[grade]} of grade {grade}" for grade in sorted(grades, reverse=True)[:MOST_NAMED])


def _keyword(seen: Seen) -> list[str]:
    what = {"simple": SIMPLE, "cjk": CJK}.get(seen.analyzer, f"{seen.analyzer.title()} stop words out, words stemmed")
    return [
        "keyword:",
        comment(
            f"How text becomes words. {what}. {_looks(seen.looks)} docs/languages.md has the other analyzers; which one serves"
            " your prompts best, only a study with each can tell.",
            2,
        ),
        f"  analyzer: {seen.analyzer}",
        comment("BM25 as rank-bm25 computes it; `lucene` is that of Elasticsearch, OpenSearch and most engines.", 2),
        "  variant: okapi",
    ]


def _looks(looks: Looks) -> str:
    """What the choice of the analyzer rests on: the two largest shares of stop words, and the CJK letters."""
    largest = sorted(looks.stop_words.items(), key=lambda item: -item[1])[:2]
    shares = " and ".join(f"{share:.0%} {name.title()}" for name, share in largest) or "no language's"
    return (
        f"Among the words here are {shares} stop words: a language is taken from {ENOUGH:.0%} on, if it is clearly ahead. Of the"
        f" letters {looks.scripts['cjk']:.0%} are Chinese, Japanese or Korean: `cjk` is taken from {CJK_SHARE:.0%} on."
    )


def _semantic(seen: Seen) -> list[str]:
    mind = "" if seen.analyzer == "english" else " These texts do not look English: try one made for their language."
    text = (
        "The embedding model. This one comes with the program and was trained on English texts; another is the folder or the"
        f" name of a sentence-transformers model.{mind}"
    )
    return ["semantic:", comment(text, 2), f"  model: {PACKAGED_MODEL}"]


def _objective(seen: Seen) -> list[str]:
    _, high = seen.top_k
    return [
        comment(f"What is maximised (docs/measures.md). {OBJECTIVES[seen.objective]}."),
        f"objective: {seen.objective}",
        comment("Where tables report precision and recall: 1, 3, 5, 10 and the upper end of K below."),
        f"report_at: {choose_cutoffs(high)}",
    ]


def _search(seen: Seen) -> list[str]:
    low, high = seen.top_k
    encode = f"A trial takes a few milliseconds; what is slow, encoding {seen.dataset.counts.documents} documents, is done once"
    rule = (
        f"How many results are returned (K). A prompt has {seen.median_relevant:g} relevant documents in the median. The range"
        " begins at half of that (from 1 to 10) and ends at two and a half times that, in fives (from 10 to 50, and never more"
        " than there are documents)."
    )
    return [
        "search:",
        comment(f"{encode} and cached.", 2),
        f"  trials: {TRIALS}",
        "  space:",
        comment("The share of the semantic retriever; the keyword retriever has the rest.", 4),
        "    semantic_weight: {low: 0.0, high: 1.0}",
        comment(rule, 4),
        f"    top_k: {{low: {low}, high: {high}}}",
        comment("How two lists become one: by scores in three ways, or by ranks (docs/fusion.md).", 4),
        "    fusion: [minmax, theoretical, zscore, rrf]",
        comment("The constant of rank fusion, drawn only with rrf.", 4),
        "    rrf_k: {low: 1, high: 100, log: true}",
    ]


def _current(seen: Seen) -> list[str]:
    text = (
        "What runs in production today, if you know it: the verdict then says whether the pick is better than that. Without it"
        " the pick has to beat equal weights."
    )
    return [comment(text), f"# current: {{semantic_weight: 0.5, top_k: {min(10, seen.top_k[1])}, fusion: rrf, rrf_k: 60}}"]


def _held_out(seen: Seen) -> list[str]:
    why = "The verdict is cross-fitted, so it rests on prompts that were not chosen on anyway."
    if seen.n_units < ENOUGH_TO_HOLD_OUT:
        few = f"{seen.n_units} independent prompts are too few to hold some out; think of it from {ENOUGH_TO_HOLD_OUT} on."
        return [comment(f"{few} {why}")]
    return [
        comment(f"{seen.n_units} independent prompts are enough to hold a fifth out and score it once, at the very end. {why}"),
        "# held_out: 0.2",
    ]


def scalar(text: str) -> str:
    """The text as YAML on one line: plain where that reads as the same text, else in double quotes."""
    if PLAIN.fullmatch(text) and dump_yaml({"k": text}) == f"k: {text}\n":
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise HarnessError("the path of the data must be UTF-8, got a name with other bytes; rename the folder")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
