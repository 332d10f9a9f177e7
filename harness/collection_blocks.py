"""The config's block `collection`: where corpus, prompts and labels are, as plain paths or as blocks that say more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag, model_validator

from harness.chunks import Chunking
from harness.collection import DataFiles, Place, Source, is_text
from harness.tables import ENDINGS
from harness.values import Block, Filled, one_of, shown, whole

MOST_CHARACTERS = 1_000_000  # of a chunk
AS_PATH, AS_BLOCK = "<path>", "<block>"  # the branches of a place, as pydantic names them in an error's location
TAGS = (AS_PATH, AS_BLOCK)


class Chunk(Block):
    """How texts are cut: the size of a chunk and what it repeats of the one before, both at most, in one unit."""

    size: Annotated[int, BeforeValidator(whole(20, MOST_CHARACTERS))] = Chunking.size
    overlap: Annotated[int, BeforeValidator(whole(0, MOST_CHARACTERS))] = Chunking.overlap
    unit: Annotated[str, BeforeValidator(one_of("characters", "tokens"))] = "characters"

    @model_validator(mode="after")
    def _overlap_is_less(self) -> Chunk:
        if self.overlap >= self.size:
            raise ValueError(f"overlap < size must hold, got overlap={self.overlap}, size={self.size}")
        return self


class SourceBlock(Block):
    """What the three kinds of source share: a path, or the name of a data set in ir_datasets instead of all other keys."""

    path: Filled | None = None
    ir_datasets: Filled | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SourceBlock:
        if self.ir_datasets is None and self.path is None:
            raise ValueError("must name a path (or ir_datasets), got neither")
        others = [name for name, value in self if value is not None and name != "ir_datasets"]
        if self.ir_datasets is not None and others:
            raise ValueError(f"must hold nothing beside ir_datasets, got {', '.join(others)}; the data set says the rest")
        return self

    def place(self) -> Source:
        """The same for reading."""
        columns = {name: value for name, value in self if name not in ("path", "ir_datasets", "chunk") and value is not None}
        return Source(self.path or "", columns, None, self.ir_datasets or "")


class CorpusSource(SourceBlock):
    """A table's columns, or how texts are cut into chunks."""

    id: Filled | None = None
    text: Filled | None = None
    title: Filled | None = None
    source: Filled | None = None
    chunk: Chunk | None = None

    @model_validator(mode="after")
    def _columns_or_chunks(self) -> CorpusSource:
        columns = [name for name in ("id", "text", "title", "source") if getattr(self, name) is not None]
        if self.chunk is not None and columns:
            raise ValueError(f"must not name columns ({', '.join(columns)}) beside chunk: texts have none; take one out")
        if self.chunk is not None and self.path is not None and Path(self.path).suffix.lower() in (*ENDINGS, ".jsonl"):
            raise ValueError(f"chunk is for Markdown, text and HTML, got the table {self.path!r}; take chunk out")
        return self

    def place(self) -> Source:
        """The same for reading."""
        source, chunk = super().place(), self.chunk
        return Source(
            source.path, source.columns, Chunking(chunk.size, chunk.overlap, chunk.unit) if chunk else None, source.ir_datasets
        )


class QueriesSource(SourceBlock):
    """A table's columns: `answers` are labels where there are no qrels."""

    id: Filled | None = None
    text: Filled | None = None
    answers: Filled | None = None
    group: Filled | None = None
    cluster: Filled | None = None
    weight: Filled | None = None
    split: Filled | None = None


class QrelsSource(SourceBlock):
    """A table's columns."""

    query: Filled | None = None
    document: Filled | None = None
    relevance: Filled | None = None
    split: Filled | None = None


def _branch(value: Any) -> str:
    return AS_BLOCK if isinstance(value, (dict, Block)) else AS_PATH


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a path, text that is not empty, or a block with path, got {shown(value)}")
    return value


Path_ = Annotated[str, BeforeValidator(_path), Tag(AS_PATH)]
CorpusPlace = Annotated[Path_ | Annotated[CorpusSource, Tag(AS_BLOCK)], Discriminator(_branch)]
QueriesPlace = Annotated[Path_ | Annotated[QueriesSource, Tag(AS_BLOCK)], Discriminator(_branch)]
QrelsPlace = Annotated[Path_ | Annotated[QrelsSource, Tag(AS_BLOCK)], Discriminator(_branch)]


def place_of(written: str | SourceBlock) -> Place:
    """The place that a path or a block means."""
    return Path(written) if isinstance(written, str) else written.place()


class Collection(Block):
    """Corpus, prompts and labels, and what to do with judged queries that the queries lack.

    Without `qrels` the prompts' answers are the labels; `corpus` is left out where both retrievers' lists come from elsewhere
    (`harness.config` sees to it). `split` says which rows count where a table has a split. `relevance` says what a label names:
    a document, or a source of which any document counts, once.
    """

    corpus: CorpusPlace | None = None
    queries: QueriesPlace
    qrels: QrelsPlace | None = None
    unmatched: Annotated[str, BeforeValidator(one_of("refuse", "ignore"))] = "refuse"
    split: Filled | None = None
    relevance: Annotated[str, BeforeValidator(one_of("document", "source"))] = "document"

    @model_validator(mode="after")
    def _labels_from_one_place(self) -> Collection:
        if isinstance(self.queries, QueriesSource) and self.queries.answers is not None and self.qrels is not None:
            raise ValueError("queries.answers and qrels must not both be given: labels come from one place; take one out")
        places = {"queries": self.queries, "qrels": self.qrels}
        named = [name for name, place in places.items() if isinstance(place, (QueriesSource, QrelsSource)) and place.split]
        if named and self.split is None:
            raise ValueError(f"split must be given where {named[0]} names a column for it; say which rows count, or take it out")
        return self

    @model_validator(mode="after")
    def _sources_are_judged(self) -> Collection:
        named = self.corpus.source if isinstance(self.corpus, CorpusSource) else None
        if named is not None and self.relevance == "document":
            raise ValueError(
                f"corpus.source ({named!r}) does nothing where labels name documents; set relevance: source, or take it out"
            )
        return self

    @property
    def chunk(self) -> Chunk:
        """How texts are cut, by the corpus's block or by default."""
        return (self.corpus.chunk if isinstance(self.corpus, CorpusSource) else None) or Chunk()

    @property
    def cuts_texts(self) -> bool:
        """Whether the corpus is texts that are cut into chunks."""
        if self.corpus is None:
            return False
        place = place_of(self.corpus)
        path = Path(place.path if isinstance(place, Source) else place)
        return is_text(place) or not (path.exists() or path.suffix)  # a folder that is not there may well have been one

    def files(self) -> DataFiles:
        """The same for reading."""
        qrels = place_of(self.qrels) if self.qrels is not None else None
        corpus = place_of(self.corpus) if self.corpus is not None else None
        return DataFiles(corpus, place_of(self.queries), qrels, self.unmatched, self.split, self.relevance == "source")
