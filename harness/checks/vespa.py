"""Compare with Vespa: deploy the application first (vespa deploy application), then python check.py URL, such as http://localhost:8080

The application's rank profile is the exported one with the features bm25(text) and closeness(field, embedding) replaced by two
attributes that hold the fixture's scores, so that only the fusion is compared. Its documents are fed, and stay.
"""

import sys
import urllib.parse

from compare import DOCUMENTS, check, send, stop


def main(url):
    for d in DOCUMENTS:
        fields = {"query_id": d["query_id"], "doc": d["id"], "keyword": d["keyword"], "semantic": d["semantic"]}
        send("POST", f"{url}/document/v1/parity/parity/docid/{d['id']}", {"fields": fields})

    def ask(query, n):
        yql = f'select doc from parity where query_id contains "{query["id"]}"'
        parameters = urllib.parse.urlencode({"yql": yql, "ranking": "hybrid", "hits": n})
        answer = send("GET", f"{url}/search/?{parameters}")
        return [(hit["fields"]["doc"], hit["relevance"]) for hit in answer["root"].get("children", [])]

    return check(ask)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        stop(__doc__)
    sys.exit(main(sys.argv[1].rstrip("/")))
