"""A corpus by its fields, title and text, for a keyword index that weighs them.

A field of weight 3 is analysed three times: that is BM25 on a text which repeats the field. Without weights nothing here is
needed: the indexed text is title, one space, text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import chunks, tables
from harness.blocks import Keyword
from harness.collection import Place, Source, is_table, is_text, table_of
from harness.errors import HarnessError, Problems
from harness.files import hash_lines, read_records
from harness.types import Dataset


def with_titles(dataset: Dataset, corpus: Place | None, options: Keyword) -> Dataset:
    """The dataset with its documents' titles, where the keyword index weighs them; as it is where it does not.

    HarnessError where the corpus has none.
    """
    if options.fields is None or corpus is None:
        return dataset
    by_id = read_titles(corpus)
    titles = tuple(by_id.get(doc_id, "").strip() for doc_id in dataset.doc_ids[: dataset.counts.documents])
    if options.fields.title and not any(titles):
        raise HarnessError(
            f"keyword.fields.title: must be a field of the corpus, and no document of {corpus} has a title; name the column with"
            " title:, or take the key out"
        )
    return replace(dataset, titles=titles)


def read_titles(corpus: Place) -> Mapping[str, str]:
    """Titles by document, of a corpus that reads well; nothing where its form has none apart from the text."""
    source = corpus if isinstance(corpus, Source) else Source(str(corpus))
    if source.ir_datasets:
        raise HarnessError(f"keyword.fields: must be left out over {source}, which gives each document as one text")
    if is_text(corpus):
        found = chunks.read_chunks(source.path, source.chunking or chunks.Chunking())
        return {chunk.id: chunk.title for chunk in found.chunks}
    problems = Problems()
    if isinstance(corpus, Source) or is_table(corpus):
        rows = tables.read_rows(*_table(corpus))
        return {
            str(tables.read_id(row, "id", problems)): tables.read_words(row, "title", problems, required=False) for row in rows
        }
    return {doc_id: str(record.get("title") or "") for _, doc_id, record in read_records(corpus, problems)}


def _table(corpus: Place) -> tuple[Path, str, Mapping[str, str]]:
    path, columns = table_of(corpus)
    return path, "corpus", columns


def texts_to_index(dataset: Dataset, options: Keyword) -> Sequence[str]:
    """What the keyword index analyses of each document: its text, or each field as often as it weighs."""
    fields = options.fields
    if fields is None:
        return dataset.texts
    assert len(dataset.titles) == len(dataset.texts)  # `with_titles` sees to it
    bodies = (text[len(title) :].strip() for title, text in zip(dataset.titles, dataset.texts, strict=True))
    return [" ".join([title] * fields.title + [body] * fields.text) for title, body in zip(dataset.titles, bodies, strict=True)]


def content_to_index(dataset: Dataset, options: Keyword) -> str:
    """SHA-256 of what the index is made of: the corpus's own without weights."""
    fields = options.fields
    if fields is None:
        return dataset.hashes.corpus
    return hash_lines([dataset.hashes.corpus, *(f"{name} {weight}" for name, weight in fields), *dataset.titles])
