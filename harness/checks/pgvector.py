"""Run the exported function on PostgreSQL with pgvector: python check.py postgresql://USER:PASSWORD@HOST/DATABASE

Works in a schema of its own, harness_parity, inside one transaction that is rolled back.
"""

import re
import sys
from pathlib import Path

import psycopg
from compare import DOCUMENTS, check, stop

SQL = (Path(__file__).parent / "export.sql").read_text(encoding="utf-8")


def ask(query, n):
    with psycopg.connect(sys.argv[1]) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA harness_parity")
        connection.execute("SET LOCAL search_path TO harness_parity, public")
        connection.execute("CREATE TABLE documents (id text, text text, embedding vector(2))")
        for d in DOCUMENTS:
            if d["query_id"] == query["id"]:
                connection.execute(
                    "INSERT INTO documents VALUES (%s, %s, %s)", (d["id"], d["text"], d["vector"] and str(d["vector"]))
                )
        connection.execute(re.sub(r"LIMIT \d+\n\$\$", f"LIMIT {n}\n$$", SQL))  # the whole list, not only the first K
        found = connection.execute(
            "SELECT id, score FROM hybrid_search(%s, %s)", (query["text"], str(query["vector"]))
        ).fetchall()
        connection.rollback()
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        stop(__doc__)
    sys.exit(check(ask))
