"""Run the exported retriever against Elasticsearch: python check.py URL [API_KEY], such as http://localhost:9200

Makes and deletes the index harness-parity. Both sides are function_score queries that return the fixture's scores, so that
only the fusion is compared.
"""

import copy
import json
import sys
from pathlib import Path

from compare import DOCUMENTS, check, send, stop

EXPORT = json.loads((Path(__file__).parent / "export.json").read_text(encoding="utf-8"))
HEADERS = {"Authorization": f"ApiKey {sys.argv[2]}"} if len(sys.argv) > 2 else {}


def scored(query_id, side):
    """Every document of this list, with the fixture's score."""
    return {
        "standard": {
            "query": {
                "function_score": {
                    "query": {"bool": {"filter": [{"term": {"query_id": query_id}}, {"exists": {"field": side}}]}},
                    "field_value_factor": {"field": side},
                    "boost_mode": "replace",
                }
            }
        }
    }


def set_up(url):
    send("DELETE", f"{url}/harness-parity", headers=HEADERS, missing_ok=True)
    fields = {"query_id": {"type": "keyword"}, "keyword": {"type": "float"}, "semantic": {"type": "float"}}
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    send("PUT", f"{url}/harness-parity", {"settings": settings, "mappings": {"properties": fields}}, HEADERS)
    lines = []
    for d in DOCUMENTS:
        source = {key: d[key] for key in ("query_id", "keyword", "semantic") if d[key] is not None}
        lines += [json.dumps({"index": {"_index": "harness-parity", "_id": d["id"]}}), json.dumps(source)]
    answer = send("POST", f"{url}/_bulk?refresh=true", "\n".join(lines) + "\n", HEADERS)
    if answer.get("errors"):
        stop(f"the documents were not indexed: {json.dumps(answer)[:500]}")


def main(url):
    set_up(url)

    def ask(query, n):
        retriever = copy.deepcopy(EXPORT["retriever"])
        (body,) = retriever.values()
        for entry, side in zip(body["retrievers"], ("keyword", "semantic"), strict=True):
            entry["retriever"] = scored(query["id"], side)
        answer = send("POST", f"{url}/harness-parity/_search", {"retriever": retriever, "size": n}, HEADERS)
        return [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]]

    try:
        return check(ask)
    finally:
        send("DELETE", f"{url}/harness-parity", headers=HEADERS, missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        stop(__doc__)
    sys.exit(main(sys.argv[1].rstrip("/")))
