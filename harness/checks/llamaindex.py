"""Run LlamaIndex's QueryFusionRetriever, as exported, over the fixture's lists: python check.py"""

import sys

from compare import check, ranked
from export import hybrid_retriever
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode


class Listed(BaseRetriever):
    """A retriever that returns one list of the fixture."""

    def __init__(self, side):
        self.side = side
        super().__init__()

    def _retrieve(self, query_bundle):
        listed = ranked(query_bundle.query_str, self.side)
        # LlamaIndex takes nodes of equal text and metadata for one, so the text carries the id
        return [NodeWithScore(node=TextNode(id_=d["id"], text=d["id"]), score=d[self.side]) for d in listed]


def ask(query, n):
    retriever = hybrid_retriever(Listed("keyword"), Listed("semantic"))
    retriever.similarity_top_k = n
    return [(node.node.node_id, node.score) for node in retriever.retrieve(query["id"])]


if __name__ == "__main__":
    sys.exit(check(ask))
