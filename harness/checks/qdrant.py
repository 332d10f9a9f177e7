"""Run the exported query against Qdrant: python check.py [URL [API_KEY]]; without a URL in the client's local mode.

Makes and deletes the collections harness-parity-*.
"""

import inspect
import sys

import export
from compare import check, ranked
from qdrant_client import QdrantClient, models

client = QdrantClient(url=sys.argv[1], api_key=(sys.argv[2:] or [None])[0]) if len(sys.argv) > 1 else QdrantClient(":memory:")


def ask(query, n):
    """A sparse and a dense vector of one number each: their dot products with 1 are the fixture's scores."""
    name = f"harness-parity-{query['id']}"
    if client.collection_exists(name):
        client.delete_collection(name)
    client.create_collection(
        name,
        vectors_config={"semantic": models.VectorParams(size=1, distance=models.Distance.DOT)},
        sparse_vectors_config={"keyword": models.SparseVectorParams()},
    )
    documents = {d["id"]: d for side in ("keyword", "semantic") for d in ranked(query["id"], side)}
    points = []
    for number, document in enumerate(documents.values()):
        vector = {}
        if document["keyword"] is not None:
            vector["keyword"] = models.SparseVector(indices=[0], values=[document["keyword"]])
        if document["semantic"] is not None:
            vector["semantic"] = [document["semantic"]]
        points.append(models.PointStruct(id=number, vector=vector, payload={"id": document["id"]}))
    client.upsert(name, points, wait=True)
    found = export.hybrid_search(Wide(client, n), name, models.SparseVector(indices=[0], values=[1.0]), [1.0])
    client.delete_collection(name)
    return [(point.payload["id"], point.score) for point in found]


class Wide:
    """The client with another number of results: the fixture compares whole lists."""

    def __init__(self, inner, n):
        self.inner, self.n = inner, n

    def query_points(self, **arguments):
        assert set(arguments) <= set(inspect.signature(self.inner.query_points).parameters)
        return self.inner.query_points(**{**arguments, "limit": self.n, "with_payload": True})


if __name__ == "__main__":
    sys.exit(check(ask))
