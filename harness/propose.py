"""What a first config should say, from what the data are like: analyzer, objective, K and cutoffs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from harness.files import Judgement
from harness.languages import Looks

SINGLE_SHARE = 0.9  # of the prompts have one relevant document: then only its rank counts


def choose_analyzer(looks: Looks) -> str:
    """The analyzer of the language where scripts and stop words tell it clearly, else `simple`."""
    return looks.language or "simple"


def choose_objective(judgements: Sequence[Judgement], relevant: Sequence[int]) -> str:
    """nDCG@10 where the relevant grades differ, MRR@10 where nearly every prompt has one relevant document, else MAP@10.

    `relevant` is the number of relevant documents of each used prompt.
    """
    if len({judgement.grade for judgement in judgements if judgement.grade > 0}) > 1:
        return "nDCG@10"
    single = sum(n == 1 for n in relevant)
    return "MRR@10" if single >= SINGLE_SHARE * len(relevant) else "MAP@10"


def choose_top_k(median_relevant: float, n_documents: int) -> tuple[int, int]:
    """The range of K: from half the median number of relevant documents to two and a half times it.

    The upper end is a multiple of 5, at least 10 and at most 50; neither end is above the number of documents.
    """
    high = min(50, max(10, 5 * -int(-2.5 * median_relevant // 5)))
    low = min(10, max(1, int(median_relevant // 2)))
    return min(low, n_documents), min(high, n_documents)


def choose_cutoffs(high: int) -> list[int]:
    """1, 3, 5, 10, and the upper end of K."""
    return sorted({*(cutoff for cutoff in (1, 3, 5, 10) if cutoff < high), high})
