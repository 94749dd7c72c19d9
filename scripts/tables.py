#!/usr/bin/env python3
"""Tables from the records of a sweep (JSON Lines).

    tables.py RECORDS                     prints a summary of each family
    tables.py RECORDS --write FILE...     fills the tables between markers in Markdown files
    tables.py RECORDS --check FILE...     exits 1 where a table is not what the records say

A marker is <!-- table: FAMILY key=value ... --> and the table ends at <!-- /table -->. With keys (of the problem, or
type) it is the ladder at that size; without, the fraction of the ceiling at all sizes.

With by=KEY figure=NAME beside the others it is that figure, a row for each value of KEY and a column for each variant.

A single number in a sentence is a marker too: <!-- value: TERM --> ... <!-- /value -->, or TERM / TERM for a ratio. A
TERM is FAMILY/PROGRAM/VARIANT "FIGURE" key=value ...: a figure that the program measured itself, or a key of the
record ("gbps"). With VARIANT ending in * it is the slope of the straight line through all such variants, against the
number that takes the place of the *, with the 95 % interval of the fit.
"""
import argparse
import json
import re
import sys

MARKER = re.compile(r"(<!-- table: (\w+)([^>]*?) ?-->\n).*?(<!-- /table -->)", re.DOTALL)
VALUE = re.compile(r"(<!-- value: ([^>]*?) -->).*?(<!-- /value -->)")
TERM = re.compile(r'(\w+)/(\w+)/(\w+\*?) "([^"]+)"((?: \w+=\S+)*)')


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
        return f'{record["tflops"]:.2f} TFLOP/s'
    return f'{record["gbps"]:.0f}' + (" (L2)" if record["l2_resident"] else "")


def figure(record, name):
    """A figure that the program measured itself, with half the width of its interval, as text."""
    own = record["figures"][name]
    if own["value"] is None:
        return ""
    varies = own["low"] is not None and own["low"] < own["high"]
    whole = own["value"] == int(own["value"]) and not varies
    text = f'{own["value"]:.{0 if whole or own["value"] >= 1000 else 2}f}'
    if varies:
        text += f' ± {(own["high"] - own["low"]) / 2:.2f}'
    return text + (" (beyond the limit)" if own["beyond_limit"] else "")


def own_ladder(records):
    """As ladder(), for programs that measure figures of their own."""
    names = list(records[0]["figures"])
    has_rate = any(r["gbps"] is not None for r in records)
    has_ceiling = records[0]["ceiling"] is not None
    rows = [["variant", "what it shows"] + ["GB/s"] * has_rate + [f'% of {records[0]["ceiling"]}'] * has_ceiling +
            [f"{name} ({records[0]['figures'][name]['unit']})".replace(" ()", "") for name in names]]
    for r in records:
        if r["time_ms_mean"] is not None:
            row = [r["variant"], r["note"]]
            if has_rate:
                row.append(rate(r) + (" (above DRAM's peak)" if r["above_peak"] else ""))
            if has_ceiling:
                row.append(percent(r))
            rows.append(row + [figure(r, name) for name in names])
    return markdown(rows)


def ladder(records):
    """One size: every variant with its time and rate. The ceiling's row is shown once, from the first program."""
    ceiling = records[0]["ceiling"]
    rows = [["program", "variant", "what it shows", "time (ms)", "GB/s", f"% of {ceiling}", "times the peer"]]
    seen_ceiling = False
    for r in records:
        if r["time_ms_mean"] is None or (r["role"] == "ceiling" and seen_ceiling):
            continue
        seen_ceiling |= r["role"] == "ceiling"
        speedup = f'{r["speedup_over_peer"]:.3f}' if r["speedup_over_peer"] is not None else ""
        rows.append([r["program"], r["variant"], r["note"], f'{r["time_ms_mean"]:.4f} ± {r["time_ms_stddev"]:.4f}',
                     rate(r), percent(r), speedup])
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
            own = list(r.get("figures") or {})
            cell = figure(r, own[0]) if own and r["ceiling"] is None and r["time_ms_mean"] else percent(r)
            table.setdefault((r["program"], r["variant"]), {})[r["headline"]] = cell
    rows = [["program", "variant"] + sizes]
    rows += [[*key] + [cells.get(size, "") for size in sizes] for key, cells in table.items()]
    return markdown(rows)


def select(records, family, filters):
    chosen = [r for r in records if r["family"] == family]
    for key, value in (word.split("=") for word in filters.split()):
        chosen = [r for r in chosen if str(r["problem"].get(key, r.get(key))) == value]
    return chosen


def slope(points):
    """Of the least-squares line through [(x, y)], as text: with the 95 % interval of the fit."""
    n = len(points)
    if n < 6:
        return "(no records)"
    mean_x, mean_y = (sum(p[k] for p in points) / n for k in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in points)
    # Student's t: the first terms of its expansion around the normal, right to 2 % from four degrees of freedom on.
    z, free = 1.96, n - 2
    student = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    error = student * (rest / free / spread) ** 0.5
    return f"{rise:.3f} ± {error:.3f}"


def value_for(records, expression):
    """The number that a value marker asks for, as text."""
    values = []
    for term in expression.split(" / "):
        match = TERM.fullmatch(term)
        if not match:
            return f"(not a term: {term})"
        family, program, variant, name, filters = match.groups()
        chosen = select(records, family, f"program={program}{filters}")

        def of(record, name=name):
            own = (record.get("figures") or {}).get(name)
            return own["value"] if own else record.get(name)

        if variant.endswith("*"):
            prefix = variant[:-1]
            return slope([(int(r["variant"][len(prefix):]), of(r)) for r in chosen
                          if re.fullmatch(re.escape(prefix) + r"\d+", r["variant"]) and of(r) is not None])
        found = [of(r) for r in chosen if r["variant"] == variant and of(r) is not None]
        if len(found) != 1:
            return "(no records)" if not found else f"({len(found)} records)"
        values += found
    value = values[0] / values[1] if len(values) == 2 else values[0]
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def curve(records, by, name):
    """A figure of all variants (columns), against a size of the problem (rows)."""
    variants = list(dict.fromkeys(r["variant"] for r in records))
    rows = [[by] + variants]
    for size in sorted({r["problem"][by] for r in records}):
        cells = {r["variant"]: figure(r, name) for r in records if r["problem"][by] == size and r["time_ms_mean"]}
        rows.append([str(size)] + [cells.get(variant, "") for variant in variants])
    return markdown(rows)


def table_for(records, family, filters):
    shape = dict(word.split("=") for word in filters.split() if word.startswith(("by=", "figure=")))
    filters = " ".join(word for word in filters.split() if not word.startswith(("by=", "figure=")))
    chosen = select(records, family, filters)
    wanted = filters.split()
    if not chosen:
        return f"(no records of {family} {filters.strip()})\n".replace(" )", ")")
    first = chosen[0]
    if shape:
        table = curve(chosen, shape["by"], shape["figure"])
    elif first.get("figures") and not first["simulated"]:
        programs = dict.fromkeys(r["program"] for r in chosen)
        table = own_ladder(chosen) if wanted else "\n".join(
            f"{program}:\n\n" + overview([r for r in chosen if r["program"] == program]) for program in programs)
    else:
        table = ladder(chosen) if wanted else overview(chosen)
    source = "simulated on the CPU: counts a request, no times" if first["simulated"] else (
        f'{first["gpu"]}, driver CUDA {first["driver"]}, runtime {first["runtime"]}, {first["compiler"]}, '
        f'revision {first["revision"]}, {first["date"][:10]}')
    if wanted and not shape and not first["simulated"]:
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
        new = VALUE.sub(lambda m: m[1] + value_for(records, m[2]) + m[3], new)
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
