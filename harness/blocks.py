"""Where both retrievers' lists come from: the config's blocks `keyword`, `semantic`, `live` and `scale`."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PrivateAttr, model_validator

from harness.analyzers import ANALYZERS, CODES
from harness.bm25 import VARIANTS
from harness.embedder import check_name
from harness.statements import check_connection, read_statement
from harness.values import K1, B, Block, Delta, Filled, Flag, Text, filled, one_of, real, shown, whole

PACKAGED_MODEL = "all-MiniLM-L6-v2"
BACKENDS = ("torch", "torch-bfloat16", "openvino", "openvino-bfloat16")  # what each is: harness/backends.py
DEFAULT_BACKEND = "torch"
A_DAY = 86_400  # seconds
MOST_TIMES = 100  # that a field counts: its text is repeated as often
RAY_ADDRESS = re.compile(r"(ray://)?[^\s/:]+:\d{1,5}|(ray://)?\[[0-9A-Fa-f:.]+\]:\d{1,5}")


def check_analyzer(value: Any) -> str:
    """The name of an analyzer; ValueError with the nearest for another one."""
    if isinstance(value, str) and value in ANALYZERS:
        return value
    near = difflib.get_close_matches(str(value).lower(), ANALYZERS, n=3)
    if isinstance(value, str) and value.lower()[:2] in CODES and re.fullmatch("[A-Za-z]{2}([-_][A-Za-z]+)?", value):
        near = [CODES[value.lower()[:2]]]
    advice = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(ANALYZERS)}"
    raise ValueError(f"must be the name of an analyzer, got {shown(value)}; {advice}")


def _embedder(value: Any) -> str:
    return check_name(filled(value))


FieldWeight = Annotated[int, BeforeValidator(whole(0, MOST_TIMES))]


class Fields(Block):
    """How many times each field of a document counts to the keyword index."""

    title: FieldWeight = 1
    text: FieldWeight = 1

    @model_validator(mode="after")
    def _one_counts(self) -> Fields:
        if not any(weight for _, weight in self):
            raise ValueError("must have a field above 0, got 0 for title and text: nothing would be indexed")
        return self


class Keyword(Block):
    """BM25: variant and analyzer decide the index; k1 and b are query-time parameters."""

    variant: Annotated[str, BeforeValidator(one_of(*VARIANTS))] = "okapi"
    k1: K1 = 1.5
    b: B = 0.75
    epsilon: Delta = 0.25
    delta: Delta | None = None  # rank-bm25's own: .5 for l, 1 for plus
    analyzer: Annotated[str, BeforeValidator(check_analyzer)] = "simple"
    fields: Fields | None = None  # None: title, one space, text
    run: Filled | None = None  # a TREC run in the place of the index


class GivenVectors(Block):
    """Vectors that were made elsewhere: .npy or a FAISS index, each with a file of ids, or Parquet with id and vector.

    Those of the documents are left out where a live engine holds them.
    """

    documents: Filled | None = None
    queries: Filled
    document_ids: Filled | None = None
    query_ids: Filled | None = None


class Semantic(Block):
    """The embedding model and the FAISS index over its vectors; or a function, vectors or lists from elsewhere."""

    model: Filled = PACKAGED_MODEL
    revision: Filled | None = None
    device: Filled | None = None
    backend: Annotated[str, BeforeValidator(one_of(*BACKENDS))] = DEFAULT_BACKEND
    index: Filled = "Flat"
    query_prompt: Text | None = None  # None: the model's own
    document_prompt: Text | None = None
    max_seq_length: Annotated[int, BeforeValidator(whole(1, 1_000_000))] | None = None
    normalize: Flag = True
    vectors: GivenVectors | None = None
    run: Filled | None = None  # a TREC run in the place of the model and the index
    embedder: Annotated[str, BeforeValidator(_embedder)] | None = None  # module:function, in the place of the model
    _may_run_code: bool = PrivateAttr(default=False)  # no key: leave is given on the command line alone

    @property
    def may_run_code(self) -> bool:
        """Whether the embedder may be imported and called."""
        return self._may_run_code

    def allow_code(self) -> Semantic:
        """The same with leave to run the embedder."""
        allowed = self.model_copy()
        allowed._may_run_code = True
        return allowed


def _ray_address(value: Any) -> str:
    text = filled(value)
    if text != "auto" and not RAY_ADDRESS.fullmatch(text):
        raise ValueError(f"must be auto, or a cluster's address: HOST:PORT or ray://HOST:PORT, got {shown(value)}")
    return text


class Scale(Block):
    """The corpus in shards of rows, for Ray's workers to count, encode and search."""

    ray: Annotated[str, BeforeValidator(_ray_address)] = "auto"
    shards: Annotated[int, BeforeValidator(whole(1, 100_000))] = 16


def _connection(value: Any) -> str:
    return check_connection(filled(value))


def _keyword_statement(value: Any) -> str:
    if "vector" in read_statement(filled(value)).names:
        raise ValueError("must not name :vector, which is the semantic side's; name :prompt")
    return str(value)


def _semantic_statement(value: Any) -> str:
    read_statement(filled(value))
    return str(value)


class Live(Block):
    """A search engine that answers while the study is made: its lists stand in the place of one retriever's or of both.

    A statement names what the server binds: `:prompt`, `:vector` (the prompt's, by the model or given) and `:depth`.
    """

    connection: Annotated[str, BeforeValidator(_connection)]
    keyword: Annotated[str, BeforeValidator(_keyword_statement)] | None = None
    semantic: Annotated[str, BeforeValidator(_semantic_statement)] | None = None
    timeout: Annotated[float, BeforeValidator(real(0, A_DAY, above=True))] = 30.0  # seconds a statement

    @property
    def statements(self) -> dict[str, str]:
        """The statements by side."""
        return {side: text for side, text in (("keyword", self.keyword), ("semantic", self.semantic)) if text is not None}

    @property
    def wants_vectors(self) -> bool:
        """Whether the semantic statement asks for the prompt's vector; another embeds the prompt in the server."""
        return self.semantic is not None and "vector" in read_statement(self.semantic).names
