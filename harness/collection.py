"""The collection: corpus, prompts and labels from wherever they come, each read and checked for itself, then joined by ids.

A plain path is BEIR's or TREC's file, a table by its ending (.csv, .tsv, .parquet), or a folder, pattern or file of texts. A
`Source` also says which columns count, how texts are cut, or that ir_datasets has the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import chunks, published, tables
from harness.answers import MANY, Passage, find_answers, find_torn, plain_answer
from harness.chunks import Chunk, Chunking
from harness.errors import HarnessError, Problems
from harness.files import (
    Judgement,
    find_lines,
    hash_bytes,
    hash_lines,
    pad_qrels,
    pad_sources,
    read_corpus,
    read_qrels,
    read_queries,
)
from harness.progress import Progress
from harness.traffic import all_zero
from harness.types import Counts, Dataset, Hashes, Query, Remark


@dataclass(frozen=True)
class Source:
    """A place of data with what there is to know for reading it: the columns of roles, how texts are cut, or a data set's name.

    Either `path` or `ir_datasets` is filled.
    """

    path: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    chunking: Chunking | None = None
    ir_datasets: str = ""

    def __str__(self) -> str:
        return self.path or f"ir_datasets {self.ir_datasets}"


Place = Path | Source


@dataclass(frozen=True)
class DataFiles:
    """Where corpus, queries and qrels are; without qrels the queries' answers are the labels.

    Without a corpus (None) the documents are those that the retrievers' lists name, which come from elsewhere.

    `unmatched` says what happens to judged queries that the queries lack; `split` which rows of tables with a split count.
    With `by_source` the labels name sources, and any document of a source counts for it. `cuts` are several ways of cutting the
    corpus into chunks: it then holds the chunks of all of them.
    """

    corpus: Place | None
    queries: Place
    qrels: Place | None
    unmatched: str = "refuse"
    split: str | None = None
    by_source: bool = False
    cuts: tuple[Chunking, ...] = ()

    @property
    def labels(self) -> Place:
        """Where the labels are."""
        return self.queries if self.qrels is None else self.qrels


@dataclass(frozen=True)
class Documents:
    """A corpus in order of ids; for chunks also what the files say (`bodies`, without titles) and where it stands there.

    `sources` names where each document comes from, for chunks and tables with such a column; else it is empty. `cuts` is size
    and overlap of each chunk where texts are cut in several ways.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    bodies: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    remarks: tuple[Remark, ...] = ()
    digest: str | None = None
    sources: tuple[str, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Parts:
    """What the three places hold, each checked for itself and not yet joined; `files` has the hash of each one's bytes.

    `sources` are the documents', where the labels name sources; else it is empty.
    """

    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    queries: tuple[Query, ...]
    judgements: list[Judgement]
    remarks: tuple[Remark, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()


def read_dataset(paths: DataFiles, *, relevance_threshold: int = 1, progress: Progress | None = None) -> Dataset:
    """The collection, ids resolved to rows; only prompts with a relevant document are used, the others are counted.

    HarnessError holds the problems of all three places; ids that do not join are refused before anything is built.
    """
    return join_parts(read_parts(paths, progress), paths, relevance_threshold)


def read_parts(paths: DataFiles, progress: Progress | None = None) -> Parts:
    """The three places; HarnessError holds the problems of all of them."""
    problems = Problems()

    def attempt(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except HarnessError as error:
            problems.lines.extend(error.problems)
            return None

    corpus = paths.corpus
    documents = (
        attempt(lambda: read_documents(corpus, progress, by_source=paths.by_source, cuts=paths.cuts))
        if corpus is not None
        else Documents((), ())
    )
    if paths.by_source and documents is not None and corpus is not None:
        attempt(lambda: check_sources(documents, paths))
    queries = attempt(lambda: read_prompts(paths))
    judgements = attempt(lambda: read_labels(paths)) if paths.qrels is not None else []
    if paths.split is not None:
        attempt(lambda: check_split(paths))
    problems.raise_any()
    remarks = documents.remarks
    if paths.qrels is None:
        judgements, more = label_by_answers(documents, queries, paths)
        remarks += more
    else:
        judgements = drop_other_splits(judgements, queries, paths)
    files = {"corpus": documents.digest or (hash_place(corpus) if corpus is not None else "")}
    files |= {
        name: hash_place(place) for name, place in (("queries", paths.queries), ("qrels", paths.qrels)) if place is not None
    }
    sources = documents.sources if paths.by_source else ()
    files = {name: digest for name, digest in files.items() if digest}
    return Parts(documents.ids, documents.texts, queries, judgements, remarks, files, sources, documents.cuts)


def check_sources(documents: Documents, paths: DataFiles) -> None:
    """HarnessError where a source is to be judged and the corpus names none, or a document could be taken for a source."""
    if not documents.sources:
        raise HarnessError(
            f"{paths.corpus}: must say which source each document is of where collection.relevance is source, got a corpus"
            " without; cut files into chunks, or name a table's column with source:"
        )
    several = {source for source, count in Counter(documents.sources).items() if count > 1}
    alike = sorted(several & set(documents.ids))
    if alike:
        raise HarnessError(
            f"{paths.corpus}: no document may have the id of a source with several documents, got {_some(tuple(alike))};"
            " rename either"
        )


def hash_place(place: Place) -> str:
    """SHA-256 of a file's bytes; empty for what is no file."""
    path = place.path if isinstance(place, Source) else str(place)
    return hash_bytes(Path(path)) if path else ""


# Corpus


def read_documents(
    place: Place, progress: Progress | None = None, *, by_source: bool = False, cuts: Sequence[Chunking] = ()
) -> Documents:
    """The corpus in code-point order of its ids; a table's documents have their sources only with `by_source`.

    Texts are cut in each of the ways of `cuts`, where there are any.
    """
    source = place if isinstance(place, Source) else Source(str(place))
    path = Path(source.path)
    if source.ir_datasets:
        return in_order(published.read_published_corpus(source.ir_datasets))
    if is_text(place):
        return (
            join_cuts([read_texts(replace(source, chunking=cut), progress) for cut in cuts], cuts)
            if cuts
            else read_texts(source, progress)
        )
    if isinstance(place, Source) or path.suffix.lower() in tables.ENDINGS:
        found = in_order(tables.read_table_corpus(path, source.columns))
        sources = tables.read_table_sources(path, source.columns) if by_source else {}
        return replace(found, sources=tuple(sources[doc_id] for doc_id in found.ids)) if sources else found
    return Documents(*read_corpus(path))


def is_text(place: Place) -> bool:
    """Whether a corpus is cut into chunks: a folder, a pattern, Markdown or HTML, or anything that a chunking is given for."""
    if isinstance(place, Source):
        named = Path(place.path).suffix.lower() in chunks.ENDINGS  # .txt too: a plain path of that name is JSON lines, as ever
        return place.chunking is not None or (not place.ir_datasets and (named or chunks.means_chunks(place.path)))
    return chunks.means_chunks(str(place))


def in_order(texts: Mapping[str, str]) -> Documents:
    """Documents by id as a corpus."""
    ids = tuple(sorted(texts))
    return Documents(ids, tuple(texts[doc_id] for doc_id in ids))


def read_texts(source: Source, progress: Progress | None = None) -> Documents:
    """The chunks of a folder of texts as a corpus: title, one space, text."""
    if source.columns:
        named = ", ".join(source.columns)
        raise HarnessError(f"{source}: texts are cut into chunks and have no columns, got {named}; take the keys out")
    found = chunks.read_chunks(source.path, source.chunking or Chunking(), progress)
    ordered: Sequence[Chunk] = sorted(found.chunks, key=lambda chunk: chunk.id)
    left = ", ".join(f"{count} {reason}" for reason, count in found.skipped.most_common())
    remarks = (
        [Remark("files_left_aside", f"{source.path}: {found.n_files} files were read, left aside were {left}")] if left else []
    )
    long = chunks.say_long(source.chunking or Chunking())
    remarks += [Remark("long_chunks", long)] if long is not None else []
    return Documents(
        tuple(chunk.id for chunk in ordered),
        tuple(f"{chunk.title} {chunk.text}".strip() for chunk in ordered),
        tuple(chunk.text for chunk in ordered),
        tuple(Passage(chunk.source, chunk.start, chunk.end) for chunk in ordered),
        tuple(remarks),
        found.digest,
        tuple(chunk.source for chunk in ordered),
    )


def join_cuts(parts: Sequence[Documents], cuts: Sequence[Chunking]) -> Documents:
    """The chunks of several ways of cutting the same texts as one corpus; an id says which way: `guide.md#0003@400/60`."""
    named = [
        (f"{doc_id}@{cut.size}/{cut.overlap}", n, i)
        for n, (part, cut) in enumerate(zip(parts, cuts, strict=True))
        for i, doc_id in enumerate(part.ids)
    ]
    named.sort()
    counted = ", ".join(
        f"{len(part.ids)} of {cut.size} with overlap {cut.overlap}" for part, cut in zip(parts, cuts, strict=True)
    )
    said = Remark("cuts", f"the texts are cut in {len(cuts)} ways, and all chunks are counted as documents: {counted}")
    return Documents(
        tuple(name for name, _, _ in named),
        tuple(parts[n].texts[i] for _, n, i in named),
        tuple(parts[n].bodies[i] for _, n, i in named),
        tuple(replace(parts[n].passages[i], source=f"{parts[n].passages[i].source}@{n}") for _, n, i in named),
        (*parts[0].remarks, said),
        parts[0].digest,
        tuple(parts[n].sources[i] for _, n, i in named),
        tuple((cuts[n].size, cuts[n].overlap) for _, n, _ in named),
    )


# Prompts and labels


def read_prompts(paths: DataFiles) -> tuple[Query, ...]:
    """The prompts of the split in code-point order of their ids."""
    place = paths.queries
    if isinstance(place, Source) and place.ir_datasets:
        found = published.read_published_queries(place.ir_datasets)
    elif isinstance(place, Source) or is_table(place) or paths.qrels is None or paths.split is not None:
        path, columns = table_of(place)
        found = tables.read_table_queries(path, columns, paths.split, answers=paths.qrels is None)
    else:
        return read_queries(place)
    return tuple(sorted(found, key=lambda query: query.query_id))


def read_labels(paths: DataFiles) -> list[Judgement]:
    """The judgements of the split."""
    place = paths.qrels
    assert place is not None  # asked only then
    if isinstance(place, Source) and place.ir_datasets:
        return published.read_published_qrels(place.ir_datasets)
    if isinstance(place, Source) or (is_table(place) and place.suffix.lower() != ".tsv"):  # .tsv is BEIR's, as ever
        path, columns = table_of(place)
        return tables.read_table_qrels(path, columns, paths.split)
    return read_qrels(place)


def is_table(path: Path) -> bool:
    """Whether the file's name says that it is a table."""
    return path.suffix.lower() in tables.ENDINGS


def table_of(place: Place) -> tuple[Path, Mapping[str, str]]:
    """Path and named columns of a table."""
    return (Path(place.path), place.columns) if isinstance(place, Source) else (place, {})


def has_split(place: Place | None, kind: str) -> bool:
    """Whether this table has a column that says which split a row belongs to."""
    if place is None or (isinstance(place, Source) and place.ir_datasets):
        return False
    path, columns = table_of(place)
    if isinstance(place, Path) and kind == "qrels" and (not is_table(place) or place.suffix.lower() == ".tsv"):
        return False
    return columns.get("split", "split") in tables.columns_of(path)


def check_split(paths: DataFiles) -> None:
    """HarnessError where a split is asked for and neither prompts nor labels have a column for it."""
    if not has_split(paths.queries, "queries") and not has_split(paths.qrels, "qrels"):
        raise HarnessError(
            f"collection.split: {paths.queries} or {paths.labels} must have a column that names a row's split, got none called"
            f" 'split'; name it with split: in the block, or take collection.split out (it is {paths.split!r})"
        )


def drop_other_splits(judgements: list[Judgement], queries: Sequence[Query], paths: DataFiles) -> list[Judgement]:
    """The judgements without those of prompts that the queries file holds in another split."""
    if paths.split is None or not has_split(paths.queries, "queries"):
        return judgements
    everything = tables.read_table_queries(*table_of(paths.queries), None, answers=False)
    elsewhere = {query.query_id for query in everything} - {query.query_id for query in queries}
    return [judgement for judgement in judgements if judgement.query_id not in elsewhere]


# Answers as labels


def label_by_answers(
    documents: Documents, queries: Sequence[Query], paths: DataFiles
) -> tuple[list[Judgement], tuple[Remark, ...]]:
    """Grade 1 for every document that contains an answer, and what there is to say of answers that no or many documents hold.

    HarnessError where no prompt has an answer, an answer is empty, or not one of them is in any document.
    """
    asked = [query for query in queries if query.answers]
    problems = Problems()
    for query in asked:
        for answer in query.answers:
            if not plain_answer(answer):
                problems.add(str(paths.queries), f"an answer must have letters or digits, got {answer!r} for {query.query_id!r}")
    problems.raise_any()
    if not asked:
        raise HarnessError(
            f"{paths.queries}: the prompts must have answers where no qrels are given, got none; name the column with answers:,"
            " or give collection.qrels"
        )
    if paths.corpus is None:
        raise HarnessError(
            f"{paths.queries}: answers are labels only where there is a corpus to find them in; give collection.qrels"
        )
    answers = [query.answers for query in asked]
    rows = find_answers(answers, documents.bodies or documents.texts)
    found = [[documents.ids[row] for row in held] for held in rows]
    if paths.by_source:  # a source contains what the end of a chunk has torn
        torn = find_torn(answers, documents.bodies, documents.passages) if documents.passages else {}
        found = [
            list(dict.fromkeys(documents.sources[row] for row in [*held, *torn.get(prompt, ())]))
            for prompt, held in enumerate(rows)
        ]
    if not any(found):
        raise HarnessError(
            f"{paths.queries}: at least one answer must be in a document of {paths.corpus}, got none of the answers of"
            f" {len(asked)} prompts in {len(documents.ids)} documents; an answer counts where it stands word for word"
        )
    judgements = [Judgement(0, query.query_id, name, 1) for query, names in zip(asked, found, strict=True) for name in names]
    return judgements, remark_on_answers(asked, found, documents, paths)


def remark_on_answers(
    asked: Sequence[Query], found: Sequence[Sequence[str]], documents: Documents, paths: DataFiles
) -> tuple[Remark, ...]:
    """Prompts whose answers are in no document (or source), torn by the end of a chunk, or in many."""
    what = "source" if paths.by_source else "document"
    lost = [query for query, names in zip(asked, found, strict=True) if not names]
    torn: Mapping[int, list[int]] = {}
    if lost and documents.passages and not paths.by_source:
        torn = find_torn([query.answers for query in lost], documents.bodies, documents.passages)
    split = tuple(query.query_id for i, query in enumerate(lost) if i in torn)
    nowhere = tuple(query.query_id for i, query in enumerate(lost) if i not in torn)
    many = {query.query_id: len(names) for query, names in zip(asked, found, strict=True) if len(names) > MANY}
    most = max(many, key=lambda name: many[name], default="")
    remarks = [
        Remark(
            "answers_nowhere",
            f"{len(nowhere)} of {len(asked)} prompts have answers that no {what} contains: they have no label and are left out"
            " of every mean",
            nowhere,
        ),
        Remark(
            "answers_torn",
            f"{len(split)} of {len(asked)} prompts have an answer that only two neighbouring chunks contain together: they have"
            " no label and are left out of every mean; a larger chunk.overlap or chunk.size finds it",
            split,
        ),
        Remark(
            "answers_in_many",
            f"{len(many)} of {len(asked)} prompts have answers in more than {MANY} {what}s each (most: {most!r},"
            f" {many.get(most, 0)}): all of those count as relevant; is the answer specific enough?",
            tuple(many),
        ),
    ]
    return tuple(remark for remark in remarks if remark.query_ids)


# Where an id stands


def find_places(place: Place, kind: str, ids: set[str]) -> dict[str, str]:
    """Where each of these ids stands, as file:line or file and row; `kind` is corpus or queries, and the place reads well."""
    if isinstance(place, Source) and place.ir_datasets:
        return dict.fromkeys(ids, str(place))
    if kind == "corpus" and is_text(place):
        return {name: f"{place} {name}" for name in ids}
    if isinstance(place, Source) or is_table(place):
        path, columns = table_of(place)
        return _places_in_table(path, kind, columns, ids)
    return {name: f"{place}:{line}" for name, line in find_lines(place, ids).items()}


def _places_in_table(path: Path, kind: str, columns: Mapping[str, str], ids: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in tables.read_rows(path, kind, columns):
        name = tables.read_id(row, "id", Problems())
        if name in ids and name is not None:
            found.setdefault(name, row.where)
    return found


# The join


def join_parts(parts: Parts, paths: DataFiles, relevance_threshold: int) -> Dataset:
    """Resolve the ids of the judgements and choose the used queries; see `read_dataset`."""
    doc_ids, texts, queries, judgements = parts.doc_ids, parts.texts, parts.queries, parts.judgements
    known = {query.query_id for query in queries}
    judged: dict[str, dict[str, int]] = {}
    for judgement in judgements:
        judged.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.grade
    unmatched = tuple(sorted(set(judged) - known))
    found = len(judged) - len(unmatched)
    if found == 0 or (unmatched and paths.unmatched == "refuse"):
        advice = (
            "; ids must be written alike in both files"
            if found == 0
            else "; add them to the queries file, or set collection.unmatched: ignore"
        )
        raise HarnessError(
            f"{paths.labels}: every judged query must be in {paths.queries}: {found} of {len(judged)} judged queries found,"
            f" missing {_some(unmatched)}{advice}"
        )
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(parts.sources or doc_ids):
        rows_of.setdefault(name, []).append(row)
    unknown = sorted({doc for query_id in judged if query_id in known for doc in judged[query_id]} - set(rows_of))
    rows_of |= {doc_id: [len(doc_ids) + i] for i, doc_id in enumerate(unknown)}

    threshold = max(relevance_threshold, 1)
    has_relevant = {q: any(grade >= threshold for grade in judged[q].values()) for q in judged}
    used = tuple(query for query in queries if has_relevant.get(query.query_id, False))
    counts = Counts(
        documents=len(doc_ids),
        queries=len(queries),
        judgements=len(judgements),
        empty_documents=tuple(doc for doc, text in zip(doc_ids, texts, strict=True) if not text),
        unknown_documents=len(unknown),
        without_judgements=tuple(q.query_id for q in queries if q.query_id not in judged),
        without_relevant=tuple(q.query_id for q in queries if q.query_id in judged and not has_relevant[q.query_id]),
        unmatched=unmatched,
        remarks=parts.remarks,
    )
    if not used:
        raise HarnessError(
            f"{paths.labels}: at least one prompt must have a relevant document (relevance ≥ {threshold}),"
            f" got none in {len(judgements)} judgements"
        )
    if all_zero(used):
        raise HarnessError(
            f"{paths.queries}: a prompt with a relevant document must have a weight above 0, got 0 for all {len(used)} of them"
        )
    return Dataset(
        doc_ids=doc_ids + tuple(unknown),
        texts=texts,
        queries=used,
        qrels=pad_sources([{name: (grade, rows_of[name]) for name, grade in judged[q.query_id].items()} for q in used])
        if parts.sources
        else pad_qrels([{rows_of[doc][0]: grade for doc, grade in judged[q.query_id].items()} for q in used]),
        counts=counts,
        hashes=Hashes(
            corpus=hash_lines(part for pair in zip(doc_ids, texts, strict=True) for part in pair),
            queries=hash_lines(part for q in queries for part in _parts_of(q)),
            qrels=hash_lines(
                [
                    *(part for j in sorted(judgements, key=_by_pair) for part in (j.query_id, j.doc_id, str(j.grade))),
                    *parts.sources,  # whose labels they are, is a part of the labels
                ]
            ),
            files=dict(parts.files),
        ),
        sources=(*parts.sources, *unknown) if parts.sources else (),
        cuts=parts.cuts,
    )


def check_found(dataset: Dataset, paths: DataFiles) -> None:
    """HarnessError where the used prompts' labels name nothing that the corpus has: every system would score 0."""
    n_documents, rows = dataset.counts.documents, dataset.qrels.rows
    if paths.corpus is None or ((rows >= 0) & (rows < n_documents)).any():
        return
    missing = dataset.doc_ids[n_documents:]
    corpus = dataset.doc_ids[:n_documents]
    advice = "ids must be written alike in both"
    if not dataset.sources and any(doc_id.startswith(f"{name}#") for name in missing[:5] for doc_id in corpus):
        advice = "they name the files of chunks: set collection.relevance: source"
    raise HarnessError(
        f"{paths.labels}: judged {'sources' if dataset.sources else 'documents'} must be in {paths.corpus}:"
        f" 0 of {len(missing)} found, missing {_some(missing)}; {advice}"
    )


def _parts_of(query: Query) -> tuple[str, ...]:
    """What a prompt is made of, as text; its weight only where it has one."""
    weight = () if query.weight is None else (f"weight {query.weight!r}",)
    return query.query_id, query.text, query.group, query.cluster, *weight


def _by_pair(judgement: Judgement) -> tuple[str, str]:
    return judgement.query_id, judgement.doc_id


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(map(repr, ids[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
