"""The example's CSV tables as Parquet files: python configs/examples/make_parquet.py FOLDER (needs the extra `parquet`)."""

import sys
from pathlib import Path

from pyarrow import csv, parquet

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name in ("faq", "tickets", "labels"):
    parquet.write_table(csv.read_csv(f"corpora/examples/{name}.csv"), folder / f"{name}.parquet")
