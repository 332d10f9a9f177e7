"""MAP@10 of the keyword retriever alone, by analyzer: `simple` beside the language's own, and French in its steps.

    HARNESS_COLLECTIONS=FOLDER python benchmarks/analyzers.py [--variant okapi]

FOLDER holds faq_fr, reading_fa and cranfield, each with corpus.jsonl, queries.jsonl and qrels/test.tsv. docs/languages.md has
what came out.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import Stemmer

from harness.analyzers import LANGUAGES, Analyze, drop_accents, make_analyzer, split_words, stop_words
from harness.blocks import Keyword
from harness.bm25 import rank_keyword
from harness.collection import DataFiles, read_dataset
from harness.keyword import build_index, select_postings
from harness.types import Dataset

COLLECTIONS = {"faq_fr": "french", "reading_fa": "persian", "cranfield": "english"}
CUTOFF = 10


def score(dataset: Dataset, documents: Analyze, prompts: Analyze, options: Keyword) -> float:
    """MAP@10, with R as the denominator, over the prompts with a relevant document."""
    index = build_index([documents(text) for text in dataset.texts], options)
    postings = select_postings(index, [prompts(query.text) for query in dataset.queries], options)
    lists = rank_keyword(postings, k1=options.k1, b=options.b, depth=CUTOFF).rows
    precisions = []
    for listed, judged, good in zip(lists, dataset.qrels.rows, dataset.qrels.relevant(1), strict=True):
        hits = np.isin(listed, judged[good & (judged >= 0)]) & (listed >= 0)
        precisions.append(float((np.cumsum(hits) / np.arange(1, CUTOFF + 1))[hits].sum()) / int(good.sum()))
    return float(np.mean(precisions))


def steps_of(language: str) -> Iterator[tuple[str, Analyze]]:
    """The language's analyzer with its steps added one by one."""
    rules, stopped, stemmer = LANGUAGES[language], stop_words(language), Stemmer.Stemmer(language)
    finish = rules.finish or str

    def words(text: str) -> list[str]:
        return list(split_words(text, rules))

    def kept(text: str) -> list[str]:
        return [word for word in words(text) if word not in stopped]

    yield "normal form and words", words
    yield "+ stop words out", kept
    yield "+ stems", lambda text: stemmer.stemWords(kept(text))
    yield "+ accents dropped", lambda text: [finish(token) for token in stemmer.stemWords(kept(text))]
    yield "normal form, stems, no stop words out", lambda text: stemmer.stemWords(words(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="okapi", help="the BM25 variant")
    options = Keyword(variant=parser.parse_args().variant)
    folder = Path(os.environ["HARNESS_COLLECTIONS"])
    for name, language in COLLECTIONS.items():
        files = DataFiles(*(folder / name / part for part in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")), "refuse")
        dataset = read_dataset(files, relevance_threshold=1)
        tried: list[tuple[str, Analyze]] = [(other, make_analyzer(other)) for other in ("simple", language)]
        if language in LANGUAGES:
            tried += steps_of(language)
        for title, analyze in tried:
            line = f"{name:<11} {title:<40} {score(dataset, analyze, analyze, options):.4f}"
            if language == "french":
                line += (
                    f"   prompts without accents {score(dataset, analyze, lambda t, a=analyze: a(drop_accents(t)), options):.4f}"
                )
            print(line)


if __name__ == "__main__":
    main()
