"""Run Haystack's DocumentJoiner, as exported, over the fixture's lists: python check.py"""

import sys

from compare import check, ranked
from export import hybrid_joiner
from haystack import Document


def ask(query, n):
    lists = [
        [Document(id=d["id"], content=d["text"], score=d[side]) for d in ranked(query["id"], side)]
        for side in ("keyword", "semantic")
    ]
    found = hybrid_joiner().run(documents=lists, top_k=n)["documents"]
    return [(document.id, document.score) for document in found]


if __name__ == "__main__":
    sys.exit(check(ask))
