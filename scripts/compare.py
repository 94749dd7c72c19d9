#!/usr/bin/env python3
"""Two record files side by side: two machines, or two revisions.

    compare.py A.jsonl B.jsonl [--family F] [--all]

For each variant that both have, at the same options: how many times as fast B is as A (the ratio of the median times), with
a 95 % interval. The interval takes the samples of a run as independent (1.96 standard errors of both means); what changes
from one process to the next (clocks, where memory lies) is not in it. Without --all only those are listed whose interval
leaves 1 out. Records without a time on either side are counted, not compared.

Exit code: 0 compared, 2 usage or a file that holds no records.
"""
import argparse
import json
import math
import sys


def fail(message):
    print(f"compare.py: {message}", file=sys.stderr)
    sys.exit(2)


def read(path):
    """{(family, program, variant, type, options): record}"""
    records = {}
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    r = json.loads(line)
                    key = (r["family"], r["program"], r["variant"], r["type"], json.dumps(r["problem"], sort_keys=True))
                    r["time_ms_median"], r["headline"]
                except (ValueError, KeyError, TypeError):
                    fail(f"{path}:{number}: not a record of this suite")
                records[key] = r
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{path}: {getattr(error, 'strerror', None) or 'not a text file'}")
    if not records:
        fail(f"{path}: no records")
    return records


def speedup(a, b):
    """(ratio, low, high) of A's time to B's; low and high are None where a run has a single sample."""
    ratio = a["time_ms_median"] / b["time_ms_median"]
    if None in (a["time_ms_stddev"], b["time_ms_stddev"]):
        return ratio, None, None
    error = math.hypot(*(r["time_ms_stddev"] / r["time_ms_mean"] / math.sqrt(r["samples"]) for r in (a, b)))
    return ratio, ratio * math.exp(-1.96 * error), ratio * math.exp(1.96 * error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="A.jsonl")
    parser.add_argument("b", metavar="B.jsonl")
    parser.add_argument("--family")
    parser.add_argument("--all", action="store_true", help="those that do not differ too")
    arguments = parser.parse_args()
    a, b = ({key: r for key, r in read(path).items() if arguments.family in (None, key[0])} for path in (arguments.a, arguments.b))
    both = [key for key in a if key in b]
    timed = [key for key in both if a[key]["time_ms_median"] and b[key]["time_ms_median"]]
    rows, differ = [], 0
    for key in timed:
        ratio, low, high = speedup(a[key], b[key])
        differs = low is not None and not low <= 1 <= high
        differ += differs
        if differs or arguments.all:
            interval = f"{low:.3f} to {high:.3f}" if low is not None else "one sample"
            rows.append((f"{key[0]}/{key[1]}", key[2], a[key]["headline"], f"{ratio:.3f}", interval))
    heads = ("program", "variant", "problem", "B is x as fast", "95 %")
    widths = [max(len(row[c]) for row in [heads, *rows]) for c in range(len(heads))]
    for side, records in (("A", a), ("B", b)):
        first = next(iter(records.values()), {})
        print(f"{side}: {first.get('gpu')}, revision {first.get('revision')}, {str(first.get('date'))[:10]}")
    for row in [heads, *rows] if rows else []:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(f"{len(timed)} compared, {differ} differ; {len(both) - len(timed)} without a time; "
          f"{len(a) - len(both)} only in A, {len(b) - len(both)} only in B")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(141)
