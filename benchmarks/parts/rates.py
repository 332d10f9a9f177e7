"""How much of each step one machine does: documents a second, from files to lists. `docs/scale.md` reckons with these.

Documents are of the collection, cut to 60 words and repeated with a word of their own, so that none is like another.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.measuring import Row, bare, seconds
from benchmarks.parts.collection import prepare_collection
from harness.analyzers import make_analyzer
from harness.blocks import Keyword
from harness.collection import read_dataset
from harness.config import parse_config
from harness.indexing import index_texts
from harness.progress import Silence
from harness.semantic import encode, find_model, load_model

PART = "rates"
WORDS = 60
READ, TOKENISED, ENCODED = 100_000, 20_000, 256
UNIT = "documents a second"


def measure(*, quick: bool) -> list[Row]:
    """A row a step."""
    rounds, part = (1, 0.1) if quick else (3, 1.0)
    prepared = prepare_collection()
    options = prepared.config.semantic
    passages = [" ".join(text.split()[:WORDS]) for text in prepared.dataset.texts if text]

    def make(n: int) -> list[str]:
        return [f"{passages[i % len(passages)]} own{i}" for i in range(n)]

    def rate(what: str, n: int, took: list[float], note: str = "") -> Row:
        return bare(PART, what, [n / one for one in took], None, UNIT, at_least=True, note=note)

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), make(int(READ * part))
        _write(folder, texts)
        files = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"}
        config = parse_config({"name": "x", "collection": {key: str(folder / file) for key, file in files.items()}})
        took = [seconds(lambda: read_dataset(config.collection.files(), relevance_threshold=1)) for _ in range(rounds)]
        rows.append(rate("reading and checking JSON lines", len(texts), took))
        for analyzer in ("simple", "english"):
            analyze = make_analyzer(analyzer)
            some = texts[: int(TOKENISED * part)]
            took = [seconds(lambda analyze=analyze, some=some: [analyze(text) for text in some]) for _ in range(rounds)]
            rows.append(rate(f"tokenising, {analyzer}, one core", len(some), took))
        paths = iter(folder / f"index{i}.npz" for i in range(100))
        took = [seconds(lambda: index_texts(texts, Keyword(analyzer="english"), next(paths), Silence())) for _ in range(rounds)]
        rows.append(rate("from texts to the keyword index, english, all cores", len(texts), took))
    for backend in ("torch", "openvino-bfloat16"):
        try:
            loaded = load_model(find_model(options), options.model_copy(update={"backend": backend}))
            some = make(int(ENCODED * part))
            encode(loaded, some[:32], "document", options)
        except Exception as error:
            print(f"{backend} is left out: {error}")
            continue
        took = [seconds(lambda loaded=loaded, some=some: encode(loaded, some, "document", options)) for _ in range(rounds)]
        rows.append(rate(f"encoding, {options.model}, {backend}, all cores", len(some), took))
    return rows


def _write(folder: Path, texts: list[str]) -> None:
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"_id": f"d{i}", "title": "", "text": text}) + "\n")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": texts[0]}) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td0\t1\n", encoding="utf-8")
