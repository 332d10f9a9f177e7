"""The values that pass between modules. Ids are strings outside and row numbers inside.

Rows: documents are numbered in the code-point order of their ids, so "score, then row" is "score, then doc_id".
Queries are numbered in the code-point order of theirs; only those with a relevant document are used.
Padding: -1 for a row, 0 for a rank, NaN for a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Query:
    """One prompt: `group` is a segment to report on, `cluster` the prompts that belong together.

    `answers` are texts that make the documents which contain one relevant, where there are no judgements. `weight` is what
    the prompt counts in a mean, its share of the traffic; None where the prompts have no weights.
    """

    query_id: str
    text: str
    group: str = ""
    cluster: str = ""
    answers: tuple[str, ...] = ()
    weight: float | None = None


@dataclass(frozen=True)
class Qrels:
    """The judgements of the used queries, padded: rows and grades are (n_queries, most_judged), row -1 where padded.

    Rows are ascending within a query. A row ≥ the number of documents is a judged document that the corpus lacks: it
    is never returned and stays among the relevant.

    `sources`, of the same shape, is there where sources are judged and not their documents: rows with one number are of one
    source, all with its grade, and count once; -1 where padded.
    """

    rows: IntArray
    grades: IntArray
    sources: IntArray | None = None

    def __post_init__(self) -> None:
        if self.rows.shape != self.grades.shape or self.rows.ndim != 2:
            raise ValueError(f"rows and grades must be one 2-d shape, got {self.rows.shape} and {self.grades.shape}")
        if self.sources is not None and self.sources.shape != self.rows.shape:
            raise ValueError(f"sources must have the shape of rows, {self.rows.shape}, got {self.sources.shape}")

    @property
    def judged(self) -> BoolArray:
        """True where there is a judgement, (n_queries, most_judged)."""
        return self.rows >= 0

    def relevant(self, threshold: int) -> BoolArray:
        """True where the judgement makes the document relevant: grade ≥ threshold and above 0."""
        return self.judged & (self.grades >= max(threshold, 1))

    @property
    def first_of_source(self) -> BoolArray:
        """True for one judgement of each source, the first, (n_queries, most_judged); `judged` where documents are judged."""
        if self.sources is None:
            return self.judged
        keys = number_sources(self.sources)
        first = np.zeros(keys.size, dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        return first.reshape(keys.shape) & self.judged

    def count_relevant(self, threshold: int) -> IntArray:
        """How many relevant documents each query has, (n_queries,); sources, where these are judged."""
        counts: IntArray = (self.relevant(threshold) & self.first_of_source).sum(axis=1, dtype=np.int32)
        return counts

    def select(self, queries: NDArray[np.integer[Any]]) -> Qrels:
        """The judgements of these queries alone, by their numbers."""
        return Qrels(self.rows[queries], self.grades[queries], None if self.sources is None else self.sources[queries])


def number_sources(sources: IntArray) -> NDArray[np.int64]:
    """A number for each source of each query, (n_queries, most_judged): equal where query and source are."""
    width = int(sources.max(initial=0)) + 2  # one more for the padding
    numbers: NDArray[np.int64] = np.arange(sources.shape[0], dtype=np.int64)[:, None] * width + sources + 1
    return numbers


@dataclass(frozen=True)
class Remark:
    """What reading the data makes worth saying: its name, a sentence, and the prompts that it is about."""

    name: str
    message: str
    query_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """What was read, for the report; the tuples name the queries that are left out of every mean."""

    documents: int
    queries: int
    judgements: int
    empty_documents: tuple[str, ...] = ()
    unknown_documents: int = 0
    without_judgements: tuple[str, ...] = ()
    without_relevant: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class Hashes:
    """SHA-256 of the content (not of the lines' order) and of the bytes of the three files."""

    corpus: str
    queries: str
    qrels: str
    files: dict[str, str] = field(default_factory=dict)


Listed = tuple[tuple[str, float], ...]  # document ids with their scores, best first


@dataclass(frozen=True)
class Fetched:
    """One side's lists from a server, by query id: as a live engine gave them, all of one moment, with their SHA-256.

    `server` names it with its versions, `vectors` says what the prompts' vectors were made by (nothing where none was asked
    for), `seconds` is what each answer took.
    """

    lists: Mapping[str, Listed]
    sha256: str
    server: Mapping[str, str]
    vectors: Mapping[str, Any]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Dataset:
    """Corpus, used queries and their judgements, ids resolved to rows.

    `doc_ids` holds the corpus in row order, followed by the judged documents that the corpus lacks; `texts` holds the
    corpus only (title, one space, text, stripped). `fetched` holds what a live engine was asked for, by side. `sources` names
    each document's source, parallel to `doc_ids`, where sources are judged; else it is empty. `cuts` says of each document of a
    corpus that is cut into chunks in several ways which of them it comes from: size and overlap.
    """

    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    queries: tuple[Query, ...]
    qrels: Qrels
    counts: Counts
    hashes: Hashes
    fetched: Mapping[str, Fetched] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()
    titles: tuple[str, ...] = ()  # of the corpus, where the keyword index weighs fields

    def names_of(self, rows: Sequence[int] | IntArray) -> list[str]:
        """The ids under which a list's documents are judged: where sources are, the first of each has its source's name."""
        if not self.sources:
            return [self.doc_ids[row] for row in rows]
        seen: set[str] = set()
        names = []
        for row in rows:
            source = self.sources[row]
            names.append(self.doc_ids[row] if source in seen else source)
            seen.add(source)
        return names


@dataclass(frozen=True)
class RankedLists:
    """One retriever's lists, best first: rows and scores are (n_queries, depth); row -1 and score NaN behind the end."""

    rows: IntArray
    scores: FloatArray

    def __post_init__(self) -> None:
        if self.rows.shape != self.scores.shape or self.rows.ndim != 2:
            raise ValueError(f"rows and scores must be one 2-d shape, got {self.rows.shape} and {self.scores.shape}")


@dataclass(frozen=True)
class Candidates:
    """Per query the union of both retrievers' lists, one column a document, rows ascending, padding at the end.

    All arrays are (n_queries, width). A rank counts from 1 and is 0 where the list does not hold the document; its
    score is NaN there.
    """

    rows: IntArray
    keyword_scores: FloatArray
    semantic_scores: FloatArray
    keyword_ranks: IntArray
    semantic_ranks: IntArray

    def __post_init__(self) -> None:
        shapes = {array.shape for array in vars(self).values()}
        if len(shapes) != 1 or self.rows.ndim != 2:
            raise ValueError(f"all arrays of Candidates must be one 2-d shape, got {sorted(shapes)}")


@dataclass(frozen=True)
class Postings:
    """The keyword index, reduced to the terms of the used queries; entries sorted by query, then row, then term.

    `query`, `row`, `frequency` (of the term in the document), `length_ratio` (document length / average length) and
    `weight` (idf times the term's count in the query) are (n_entries,); `base` (n_queries,) is the sum of weights of all
    query terms, which BM25+ gives to every document.
    """

    variant: str
    delta: float
    query: IntArray
    row: IntArray
    frequency: FloatArray
    length_ratio: FloatArray
    weight: FloatArray
    base: FloatArray


IndexChoice = tuple[str, str, str, int, int]  # analyzer, variant, model, chunk_size, chunk_overlap; empty: the config's own


@dataclass(frozen=True)
class Params:
    """The parameters of one trial; `rrf_k` counts only where ranks are fused.

    The last five say which index is searched, and are filled only where the study tries several; chunks are measured in
    characters or tokens, as the config says.
    """

    semantic_weight: float = 0.5
    top_k: int = 10
    fusion: str = "minmax"
    rrf_k: int = 60
    depth: int = 100
    k1: float = 1.5
    b: float = 0.75
    analyzer: str = ""
    variant: str = ""
    model: str = ""
    chunk_size: int = 0
    chunk_overlap: int = -1  # 0 is an overlap

    @property
    def index(self) -> IndexChoice:
        """Which index these parameters search."""
        return self.analyzer, self.variant, self.model, self.chunk_size, self.chunk_overlap


@dataclass(frozen=True)
class Conventions:
    """What the field leaves open (docs/measures.md); the defaults are what `trec_eval -c` does."""

    relevance_threshold: int = 1
    ap_denominator: str = "R"
    precision_denominator: str = "K"
    gain: str = "linear"


@dataclass(frozen=True)
class Retrieved:
    """All that a trial needs, and what there is to say about how it was made.

    `postings` is None unless k1 or b is searched. `facts` is plain JSON: index facts and counts. `warnings` are
    sentences for the user. `others` holds the same of every other index that the study tries; those have no `others`.
    """

    candidates: Candidates
    postings: Postings | None
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    others: Mapping[IndexChoice, Retrieved] = field(default_factory=dict)
