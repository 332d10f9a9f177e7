"""Run the exported search against Azure AI Search: python check.py https://SERVICE.search.windows.net ADMIN_KEY

Makes and deletes the index harness-parity. All texts have one length, so that BM25 ranks by the term's frequency, and the
vectors' cosines are the fixture's semantic scores. Ranks decide; scores are not compared.
"""

import json
import sys
import time
from pathlib import Path

from compare import DOCUMENTS, check, send, stop

EXPORT = json.loads((Path(__file__).parent / "export.json").read_text(encoding="utf-8"))
VERSION = "api-version=2024-11-01-preview"


def main(url, key):
    headers = {"api-key": key}
    send("DELETE", f"{url}/indexes/harness-parity?{VERSION}", headers=headers, missing_ok=True)
    fields = [
        {"name": "id", "type": "Edm.String", "key": True},
        {"name": "query_id", "type": "Edm.String", "filterable": True},
        {"name": "text", "type": "Edm.String", "searchable": True},
        {
            "name": "embedding",
            "type": "Collection(Edm.Single)",
            "searchable": True,
            "dimensions": 2,
            "vectorSearchProfile": "exact",
        },
    ]
    vector_search = {
        "algorithms": [{"name": "knn", "kind": "exhaustiveKnn", "exhaustiveKnnParameters": {"metric": "cosine"}}],
        "profiles": [{"name": "exact", "algorithm": "knn"}],
    }
    index = {"name": "harness-parity", "fields": fields, "vectorSearch": vector_search}
    send("PUT", f"{url}/indexes/harness-parity?{VERSION}", index, headers)
    documents = [{"id": d["id"], "query_id": d["query_id"], "text": d["text"], "embedding": d["vector"]} for d in DOCUMENTS]
    send("POST", f"{url}/indexes/harness-parity/docs/index?{VERSION}", {"value": documents}, headers)
    time.sleep(5)  # the service indexes in the background

    def ask(query, n):
        body = {name: value for name, value in EXPORT.items() if name != "notes"}
        body |= {"filter": f"query_id eq '{query['id']}'", "top": n}
        if "search" in body:
            body["search"] = query["text"]
        if "vectorQueries" in body:
            body["vectorQueries"] = [{**body["vectorQueries"][0], "vector": query["vector"]}]
        answer = send("POST", f"{url}/indexes/harness-parity/docs/search?{VERSION}", body, headers)
        return [(found["id"], None) for found in answer["value"]]

    try:
        return check(ask)
    finally:
        send("DELETE", f"{url}/indexes/harness-parity?{VERSION}", headers=headers, missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        stop(__doc__)
    sys.exit(main(sys.argv[1].rstrip("/"), sys.argv[2]))
