"""Reads an export of the ledger as Parquet, and compares every value with the same export as JSON Lines."""

import json
import sys

import pyarrow.parquet

SAME = (
    "replica", "sequence", "caller", "kind", "server", "exposed", "native", "era", "status", "duration_us",
    "price_reserved", "price_settled", "policy_revision",
)  # fmt: skip

parquet, lines = sys.argv[1:]
table = pyarrow.parquet.read_table(parquet)
table = table.set_column(0, "time_us", table.column("time_us").cast("int64"))
with open(lines, encoding="utf-8") as file:
    expected = [json.loads(line) for line in file]
rows = table.to_pylist()
assert expected and len(rows) == len(expected), f"{len(rows)} rows, {len(expected)} lines"
for row, line in zip(rows, expected):
    assert row["time_us"] == line["time_us"], (row, line)
    assert row["groups"] == ",".join(line["groups"]), (row, line)
    assert row["error_code"] == line.get("error_code", 0), (row, line)
    assert row["trace_id"] == line.get("trace_id", ""), (row, line)
    for name in SAME:
        assert row[name] == line[name], (name, row, line)
    for name in ("arguments", "result"):
        body = line.get(name, {"size": 0, "digest": ""})
        assert (row[f"{name}_size"], row[f"{name}_digest"]) == (body["size"], body["digest"]), (row, line)
        if "body" in body:
            assert (row[name] if body.get("cut") else json.loads(row[name])) == body["body"], (row, line)
print(f"{len(rows)} rows")
