"""Run the exported call against Weaviate: python check.py [HOST [PORT [GRPC_PORT]]], by default localhost 8080 50051

Makes and deletes the collections HarnessParity*. All texts have one length, so that BM25 (k1 1.2, Weaviate's default) gives
the fixture's keyword scores but for a factor, and the vectors' cosines are its semantic scores.
"""

import sys

import export
import weaviate
from compare import DOCUMENTS, check
from weaviate.classes.config import Configure, DataType, Property
from weaviate.classes.data import DataObject
from weaviate.classes.query import MetadataQuery

host, port, grpc_port = [*sys.argv[1:], *["localhost", "8080", "50051"][len(sys.argv) - 1 :]]
client = weaviate.connect_to_local(host=host, port=int(port), grpc_port=int(grpc_port))


def ask(query, n):
    name = f"HarnessParity{query['id'].upper()}"
    client.collections.delete(name)
    collection = client.collections.create(
        name,
        properties=[
            Property(name="text", data_type=DataType.TEXT),
            Property(name="doc", data_type=DataType.TEXT, index_searchable=False),
        ],
        vector_config=Configure.Vectors.self_provided(),
    )
    for d in DOCUMENTS:
        if d["query_id"] == query["id"]:
            extra = {"vector": d["vector"]} if d["vector"] is not None else {}
            collection.data.insert_many([DataObject(properties={"text": d["text"], "doc": d["id"]}, **extra)])
    objects = export.hybrid_search(Wide(collection, n), query["text"], query["vector"])
    client.collections.delete(name)
    return [(found.properties["doc"], found.metadata.score) for found in objects]


class Wide:
    """The collection with another number of results and with scores: the fixture compares whole lists."""

    def __init__(self, inner, n):
        self.inner, self.n, self.query = inner, n, self

    def hybrid(self, **arguments):
        return self.inner.query.hybrid(**{**arguments, "limit": self.n, "return_metadata": MetadataQuery(score=True)})


if __name__ == "__main__":
    try:
        code = check(ask)
    finally:
        client.close()
    sys.exit(code)
