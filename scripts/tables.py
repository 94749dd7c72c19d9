#!/usr/bin/env python3
"""Tables from the records of a sweep (JSON Lines).

    tables.py RECORDS                     prints a summary of each family
    tables.py RECORDS --write FILE...     fills the tables between markers in Markdown files
    tables.py RECORDS --check FILE...     exits 1 where a table is not what the records say

A marker is <!-- table: FAMILY key=value ... --> and the table ends at <!-- /table -->. With keys (of the problem, or
type) it is the ladder at that size; without, the fraction of the ceiling at all sizes.
"""
import argparse
import json
import re
import sys

MARKER = re.compile(r"(<!-- table: (\w+)([^>]*?) ?-->\n).*?(<!-- /table -->)", re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0])] + lines[1:]) + "\n"


def percent(record):
    """The fraction of the ceiling, with half the width of its 95 % interval; or why there is none."""
    fraction = record["fraction_of_ceiling"]
    if fraction is None:
        return {"wrong": "WRONG", "skipped": "skipped"}.get(record["status"], "-")
    low, high = record["fraction_low"], record["fraction_high"]
    return f"{100 * fraction:.1f}" + (f" ± {50 * (high - low):.1f}" if low is not None else "")


def rate(record):
    if record["tflops"] is not None:
        return f'{record["tflops"]:.2f}'
    return f'{record["gbps"]:.0f}' + (" (L2)" if record["l2_resident"] else "")


def ladder(records):
    """One size: every variant with its time and rate. The ceiling's row is shown once, from the first program. Updates
    a second, and steps a launch, where the records have them."""
    ceiling = records[0]["ceiling"]
    updates = any(r.get("gpts") is not None for r in records)
    steps = any(r.get("steps", 1) > 1 for r in records)
    unit = "TFLOP/s" if any(r["tflops"] is not None for r in records) else "GB/s"
    rows = [["program", "variant", "what it shows", "time (ms)", unit, *["GPt/s"] * updates, *["steps"] * steps,
             f"% of {ceiling}", "times the peer"]]
    seen_ceiling = False
    for r in records:
        if r["time_ms_mean"] is None or (r["role"] == "ceiling" and seen_ceiling):
            continue
        seen_ceiling |= r["role"] == "ceiling"
        speedup = f'{r["speedup_over_peer"]:.3f}' if r["speedup_over_peer"] is not None else ""
        rows.append([r["program"], r["variant"], r["note"], f'{r["time_ms_mean"]:.4f} ± {r["time_ms_stddev"]:.4f}',
                     rate(r), *[f'{r["gpts"]:.1f}' if r.get("gpts") else ""] * updates, *[str(r.get("steps", 1))] * steps,
                     percent(r), speedup])
    if not any(r["role"] == "peer" for r in records):
        rows = [row[:-1] for row in rows]
    return markdown(rows)


def overview(records):
    """All sizes: the fraction of the ceiling of every rung and peer. Simulated records: the counts a request."""
    if records[0]["simulated"]:
        rows = [["program", "variant", "shared load", "shared store", "global load", "global store", "status"]]
        for r in records:
            counts = r["counts"] or {}
            cells = [counts.get(f"{place}_{way}_{unit}") for place, unit in (("shared", "wavefronts"), ("global", "sectors"))
                     for way in ("load", "store")]
            rows.append([r["program"], r["variant"]] + ["-" if c is None else f"{c:.2f}" for c in cells] + [r["status"]])
        return markdown(rows)
    sizes = list(dict.fromkeys(r["headline"] for r in records))
    table = {}
    for r in records:
        if r["role"] != "ceiling":
            table.setdefault((r["program"], r["variant"]), {})[r["headline"]] = percent(r)
    rows = [["program", "variant"] + sizes]
    rows += [[*key] + [cells.get(size, "") for size in sizes] for key, cells in table.items()]
    return markdown(rows)


def table_for(records, family, filters):
    chosen = [r for r in records if r["family"] == family]
    wanted = dict(word.split("=") for word in filters.split())
    for key, value in wanted.items():
        chosen = [r for r in chosen if str(r["problem"].get(key, r.get(key))) == value]
    if not chosen:
        return f"(no records of {family} {filters.strip()})\n".replace(" )", ")")
    first = chosen[0]
    table = ladder(chosen) if wanted else overview(chosen)
    source = "simulated on the CPU: counts a request, no times" if first["simulated"] else (
        f'{first["gpu"]}, driver CUDA {first["driver"]}, runtime {first["runtime"]}, {first["compiler"]}, '
        f'revision {first["revision"]}, {first["date"][:10]}')
    if wanted and not first["simulated"]:
        source = first['headline'] + '; ' + source
    return f"{table}\n{source}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", nargs="+", metavar="FILE")
    group.add_argument("--check", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    records = read(arguments.records)

    stale = []
    for path in arguments.write or arguments.check or []:
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = MARKER.sub(lambda m: m[1] + table_for(records, m[2], m[3]) + m[4], old)
        if new != old and arguments.check:
            stale.append(path)
        elif new != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    for path in stale:
        print(f"{path}: its tables are not those of {arguments.records} (scripts/tables.py --write)", file=sys.stderr)
    if not (arguments.write or arguments.check):
        for family in dict.fromkeys(r["family"] for r in records):
            what = "" if records[0]["simulated"] else ": % of the ceiling"
            print(f"\n## {family}{what}\n\n{table_for(records, family, '')}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
