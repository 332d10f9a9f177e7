"""Run LangChain's EnsembleRetriever, as exported, over the fixture's lists: python check.py"""

import sys

from compare import check, ranked
from export import hybrid_retriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Listed(BaseRetriever):
    """A retriever that returns one list of the fixture."""

    side: str

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=d["text"], metadata={"id": d["id"]}) for d in ranked(query, self.side)]


def ask(query, n):
    found = hybrid_retriever(Listed(side="keyword"), Listed(side="semantic")).invoke(query["id"])
    return [(document.metadata["id"], None) for document in found[:n]]


if __name__ == "__main__":
    sys.exit(check(ask))
