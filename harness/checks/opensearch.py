"""Run the exported pipeline against OpenSearch: python check.py URL, such as http://localhost:9200

Makes and deletes the index and the search pipeline harness-parity. Both sides are function_score queries that return the
fixture's scores, so that only the fusion is compared.
"""

import json
import sys
from pathlib import Path

from compare import DOCUMENTS, check, send, stop

EXPORT = json.loads((Path(__file__).parent / "export.json").read_text(encoding="utf-8"))


def scored(query_id, side):
    """Every document of this list, with the fixture's score."""
    return {
        "function_score": {
            "query": {"bool": {"filter": [{"term": {"query_id": query_id}}, {"exists": {"field": side}}]}},
            "field_value_factor": {"field": side},
            "boost_mode": "replace",
        }
    }


def set_up(url):
    send("DELETE", f"{url}/harness-parity", missing_ok=True)
    fields = {"query_id": {"type": "keyword"}, "keyword": {"type": "float"}, "semantic": {"type": "float"}}
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    send("PUT", f"{url}/harness-parity", {"settings": settings, "mappings": {"properties": fields}})
    lines = []
    for d in DOCUMENTS:
        source = {key: d[key] for key in ("query_id", "keyword", "semantic") if d[key] is not None}
        lines += [json.dumps({"index": {"_index": "harness-parity", "_id": d["id"]}}), json.dumps(source)]
    answer = send("POST", f"{url}/_bulk?refresh=true", "\n".join(lines) + "\n")
    if answer.get("errors"):
        stop(f"the documents were not indexed: {json.dumps(answer)[:500]}")
    send("PUT", f"{url}/_search/pipeline/harness-parity", EXPORT["search_pipeline"])


def main(url):
    set_up(url)

    def ask(query, n):
        hybrid = {**EXPORT["query"]["hybrid"], "queries": [scored(query["id"], "keyword"), scored(query["id"], "semantic")]}
        body = {"size": n, "query": {"hybrid": hybrid}}
        answer = send("POST", f"{url}/harness-parity/_search?search_pipeline=harness-parity", body)
        return [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]]

    try:
        return check(ask)
    finally:
        send("DELETE", f"{url}/harness-parity", missing_ok=True)
        send("DELETE", f"{url}/_search/pipeline/harness-parity", missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        stop(__doc__)
    sys.exit(main(sys.argv[1].rstrip("/")))
