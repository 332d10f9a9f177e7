"""What can be wrong with a collection whose files all read well: look-alike ids, texts that stand twice, judgements that
meet nothing. Pure; what is found is named by its ids.

An *example* is a tuple of references that belong together: two ids that are nearly the same, say.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.answers import plain_text
from harness.collection import Parts
from harness.files import Judgement
from harness.types import Query

LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
DOCUMENT, PROMPT, HELD_OUT, JUDGEMENT = "document", "prompt", "held-out prompt", "judgement"


@dataclass(frozen=True)
class Ref:
    """An id and what it is the id of; `line` is that of a judgement, 0 for what its own file has to tell."""

    kind: str
    id: str
    line: int = 0


Example = tuple[Ref, ...]


def plain_id(text: str) -> str:
    """The id as somebody may have written it elsewhere: no white space, one case, one Unicode form, no leading zeros."""
    return LEADING_ZEROS.sub("", "".join(unicodedata.normalize("NFKC", text).casefold().split()))


def group_alike(keyed: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The ids of (id, key) pairs that share a key, two or more a group, in order of first appearance."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, key in keyed:
        groups[key].append(name)
    return [group for group in groups.values() if len(group) > 1]


def alike_ids(kind: str, ids: Iterable[str]) -> list[Example]:
    """Ids that differ only by what `plain_id` takes away."""
    return [tuple(Ref(kind, name) for name in group) for group in group_alike((name, plain_id(name)) for name in ids)]


def spaced_ids(kind: str, ids: Iterable[str]) -> list[Example]:
    """Ids with white space, which a TREC file cannot hold as they are."""
    return [(Ref(kind, name),) for name in ids if any(character.isspace() for character in name)]


def shared_ids(doc_ids: Iterable[str], query_ids: Iterable[str]) -> list[Example]:
    """Ids that are a document's and a prompt's."""
    documents = set(doc_ids)
    return [(Ref(PROMPT, name), Ref(DOCUMENT, name)) for name in query_ids if name in documents]


def same_prompts(queries: Sequence[Query]) -> list[list[Query]]:
    """Prompts of the same text, two or more a group."""
    by_id = {query.query_id: query for query in queries}
    alike = group_alike((query.query_id, plain_text(query.text)) for query in queries)
    return [[by_id[name] for name in group] for group in alike]


def apart(group: Sequence[Query]) -> bool:
    """Whether these prompts are not all in one cluster, and so count as independent."""
    return not group[0].cluster or len({query.cluster for query in group}) > 1


def same_across(queries: Sequence[Query], held_out: Sequence[Query], kind: str) -> list[Example]:
    """Prompts to tune on whose text is a held-out prompt's; `kind` is that of the held-out side."""
    text_of = {plain_text(query.text): query.query_id for query in held_out}
    pairs = ((query.query_id, text_of.get(plain_text(query.text))) for query in queries)
    return [(Ref(PROMPT, mine), Ref(kind, other)) for mine, other in pairs if other is not None]


def prompts_that_are_documents(queries: Sequence[Query], texts: Mapping[str, Sequence[str]]) -> list[Example]:
    """Prompts whose text is a document's; `texts` maps each plain text to the documents that have it."""
    pairs = ((query.query_id, texts.get(plain_text(query.text))) for query in queries)
    return [(Ref(PROMPT, mine), Ref(DOCUMENT, documents[0])) for mine, documents in pairs if documents]


def documents_by_text(doc_ids: Sequence[str], texts: Sequence[str]) -> dict[str, list[str]]:
    """The documents of each plain text, empty ones aside."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(doc_ids, texts, strict=True):
        groups[plain_text(text)].append(name)
    groups.pop("", None)
    return groups


def grades_by_prompt(judgements: Iterable[Judgement]) -> dict[str, dict[str, int]]:
    """Prompt → document → grade."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for judgement in judgements:
        grades[judgement.query_id][judgement.doc_id] = judgement.grade
    return grades


@dataclass(frozen=True)
class Twins:
    """Documents of one text that are not worth the same to a prompt: each example is the prompt, then the twins.

    `contradicting`: judged with different grades. `half_judged`: one is relevant and another has no judgement, so that
    it counts as not relevant.
    """

    contradicting: list[Example]
    half_judged: list[Example]


def uneven_twins(groups: Iterable[Sequence[str]], grades: Mapping[str, Mapping[str, int]], threshold: int) -> Twins:
    """What the judgements say of documents that share a text, group by group and prompt by prompt."""
    prompts_of: dict[str, list[str]] = defaultdict(list)
    for query_id, judged in grades.items():
        for doc_id in judged:
            prompts_of[doc_id].append(query_id)
    twins = Twins([], [])
    for group in groups:
        for query_id in dict.fromkeys(query_id for doc_id in group for query_id in prompts_of.get(doc_id, ())):
            given = [grades[query_id][doc_id] for doc_id in group if doc_id in grades[query_id]]
            example = (Ref(PROMPT, query_id), *(Ref(DOCUMENT, doc_id) for doc_id in group))
            if len(set(given)) > 1:
                twins.contradicting.append(example)
            elif max(given) >= threshold and len(given) < len(group):
                twins.half_judged.append(example)
    return twins


@dataclass(frozen=True)
class Missing:
    """Judged documents that the corpus lacks, in order of the qrels.

    Each example of `documents` is the judgement, then the document of the corpus that it looks like, if there is one.
    `prompts` are touched by one; `hopeless` have no relevant document but missing ones.
    """

    documents: list[Example]
    alike: int
    prompts: list[Example]
    hopeless: list[Example]


def missing_documents(parts: Parts, threshold: int) -> Missing:
    """What the qrels name and the corpus does not hold, for the prompts of the queries file."""
    corpus, prompts = set(parts.doc_ids), {query.query_id for query in parts.queries}
    lines: dict[str, int] = {}
    touched: dict[str, None] = {}
    for judgement in parts.judgements:
        if judgement.doc_id not in corpus and judgement.query_id in prompts:
            lines.setdefault(judgement.doc_id, judgement.line)
            touched[judgement.query_id] = None
    reachable = {j.query_id for j in parts.judgements if j.grade >= threshold and j.doc_id in corpus}
    wanted = {j.query_id for j in parts.judgements if j.grade >= threshold}
    documents = list(_with_lookalikes(lines, parts.doc_ids)) if lines else []
    return Missing(
        documents,
        sum(len(example) > 1 for example in documents),
        [(Ref(PROMPT, name),) for name in touched],
        [(Ref(PROMPT, name),) for name in touched if name in wanted - reachable],
    )


def _with_lookalikes(lines: Mapping[str, int], doc_ids: Iterable[str]) -> Iterator[Example]:
    by_key = {plain_id(name): name for name in doc_ids}
    for name, line in lines.items():
        known = by_key.get(plain_id(name))
        yield (Ref(JUDGEMENT, name, line), *((Ref(DOCUMENT, known),) if known is not None else ()))


def empty_but_relevant(parts: Parts, threshold: int) -> list[Example]:
    """Judgements that make a document relevant whose text is empty: no retriever returns it."""
    empty = {name for name, text in zip(parts.doc_ids, parts.texts, strict=True) if not text}
    return [
        (Ref(PROMPT, j.query_id), Ref(DOCUMENT, j.doc_id)) for j in parts.judgements if j.grade >= threshold and j.doc_id in empty
    ]
