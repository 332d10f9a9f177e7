"""From tokens to postings, a block of documents at a time. Pure: no dictionary for a document, arrays in between.

    blocks = (count_block(documents[part]) for part in split(len(documents)))   # in any process, at any time
    counted = merge(blocks)                                                     # in the order of the documents

A *block* knows its own terms, so blocks may be made anywhere (other processes, other machines) and merged in the order of their
documents: the result is that of one pass over all documents. A token's number is its place among the terms. Within a block a
(term, row) pair is one integer, `term << 16 | row`: one sort puts all of them in order, and equal neighbours are counted.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.types import IntArray

BLOCK = 1 << 15  # documents that are counted together
ROW_BITS = 16  # a row of a block fits in so many bits
Counts = np.ndarray[Any, np.dtype[Any]]  # of the smallest unsigned type that holds them


@dataclass(frozen=True)
class Block:
    """Postings of at most 2**16 documents: entries by the block's own term numbers, then row.

    `terms` are in the order in which the block's tokens show them; `found_in` (n_terms,) counts each one's documents. `rows` and
    `frequencies` are (n_entries,), rows counted from the block's first document; `lengths` (n_documents,) is in tokens.
    """

    terms: tuple[str, ...]
    found_in: IntArray
    rows: Counts
    frequencies: Counts
    lengths: IntArray


@dataclass(frozen=True)
class Counted:
    """Postings by term: term t's documents are rows[indptr[t]:indptr[t + 1]], ascending, with their frequencies.

    `terms` numbers them as first seen, first document first, first token first; `lengths` is (n_documents,), in tokens.
    """

    terms: dict[str, int]
    indptr: np.ndarray[tuple[int], np.dtype[np.int64]]
    rows: IntArray
    frequencies: Counts
    lengths: IntArray

    @property
    def found_in(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """In how many documents each term is, (n_terms,)."""
        return np.diff(self.indptr)


class Numbers(dict[str, int]):
    """Terms with their numbers; asking for a new one gives it the next."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def count_block(documents: Sequence[Sequence[str]]) -> Block:
    """The postings of these documents, given as lists of tokens."""
    numbers = Numbers()
    lengths = np.fromiter(map(len, documents), dtype=np.int32, count=len(documents))
    tokens = itertools.chain.from_iterable(documents)
    numbered = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int32, count=int(lengths.sum()))
    return _count(numbers, numbered, lengths)


def count_texts(texts: Sequence[str], analyze: Callable[[str], Sequence[str]]) -> Block:
    """The postings of these texts; a text's tokens are forgotten once they are numbers."""
    numbers = Numbers()
    numbered: MutableSequence[int] = array("i")
    lengths = np.zeros(len(texts), dtype=np.int32)
    for i, text in enumerate(texts):
        tokens = analyze(text)
        lengths[i] = len(tokens)
        numbered.extend(map(numbers.__getitem__, tokens))
    return _count(numbers, np.asarray(numbered, dtype=np.int32), lengths)


def split(n: int, size: int = BLOCK) -> Iterator[slice]:
    """The blocks of so many documents."""
    return (slice(start, min(n, start + size)) for start in range(0, n, size))


def _count(numbers: Numbers, numbered: IntArray, lengths: IntArray) -> Block:
    if lengths.size > 1 << ROW_BITS:
        raise ValueError(f"a block must have at most {1 << ROW_BITS} documents, got {lengths.size}")
    keys = numbered.astype(np.int64)
    keys <<= ROW_BITS
    keys |= np.repeat(np.arange(lengths.size, dtype=np.int64), lengths)
    keys.sort()
    fresh = np.ones(keys.size, dtype=bool)  # the first of each (term, row)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    starts = np.flatnonzero(fresh)
    frequencies = np.diff(starts, append=keys.size)
    distinct = keys[starts]
    return Block(
        tuple(numbers),
        np.bincount(distinct >> ROW_BITS, minlength=len(numbers)).astype(np.int32),
        distinct.astype(np.uint16),  # the lower bits
        shrink(frequencies),
        lengths,
    )


def shrink(numbers: np.ndarray[Any, np.dtype[Any]]) -> Counts:
    """The same numbers in the smallest unsigned type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def place_terms(terms: Sequence[str], numbers: Numbers) -> IntArray:
    """The number of each of these terms; new ones get the next."""
    return np.fromiter(map(numbers.__getitem__, terms), dtype=np.int32, count=len(terms))


def merge(blocks: Iterable[Block]) -> Counted:
    """The postings of all blocks, which come in the order of their documents; a block's terms are forgotten once numbered."""
    numbers, found_in = Numbers(), np.zeros(0, dtype=np.int64)
    parts: list[tuple[IntArray, Block]] = []
    for block in blocks:
        places = place_terms(block.terms, numbers)
        found_in = np.concatenate([found_in, np.zeros(len(numbers) - found_in.size, dtype=np.int64)])
        found_in[places] += block.found_in  # a block has a term once
        parts.append((places, replace(block, terms=())))
    return Counted(dict(numbers), *_scatter(parts, found_in))


def _scatter(parts: list[tuple[IntArray, Block]], found_in: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """indptr, rows, frequencies and lengths of `Counted`; empties `parts` as it goes."""
    indptr = np.concatenate([[0], np.cumsum(found_in)]).astype(np.int64)
    kind = max((block.frequencies.dtype for _, block in parts), key=lambda one: one.itemsize, default=np.dtype(np.uint8))
    rows = np.empty(int(indptr[-1]), dtype=np.int32)
    frequencies = np.empty(int(indptr[-1]), dtype=kind)
    lengths = np.concatenate([np.zeros(0, dtype=np.int32), *(block.lengths for _, block in parts)])
    free = indptr[:-1].copy()  # where each term's next entry goes
    first_row = 0
    while parts:
        places, block = parts.pop(0)
        starts = np.cumsum(block.found_in, dtype=np.int64) - block.found_in
        to = np.repeat(free[places] - starts, block.found_in)
        to += np.arange(to.size)
        rows[to] = block.rows + np.int32(first_row)
        frequencies[to] = block.frequencies
        free[places] += block.found_in
        first_row += block.lengths.size
    return indptr, rows, frequencies, lengths
