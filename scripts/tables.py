#!/usr/bin/env python3
"""Tables from the records of a sweep (JSON Lines).

    tables.py RECORDS                     prints a summary of each family
    tables.py RECORDS --write FILE...     fills the tables between markers in Markdown files
    tables.py RECORDS --check FILE...     exits 1 where a table is not what the records say

A marker is <!-- table: FAMILY key=value ... --> and the table ends at <!-- /table -->. With keys (of the problem, or
type) it is the ladder at that size; without, the fraction of the ceiling at all sizes, programs with the same sizes in
one table. show=rate (or percent) shows that
figure of the records that the other keys choose, at all sizes.

With by=KEY figure=NAME beside the others it is that figure, a row for each value of KEY and a column for each variant.

A single number in a sentence is a marker too: <!-- value: TERM --> ... <!-- /value -->, or TERM / TERM for a ratio. A
TERM is FAMILY/PROGRAM/VARIANT "FIGURE" key=value ...: a figure that the program measured itself, a rate ("GB/s") or a key of the
record. With VARIANT ending in * it is the slope of the straight line through all such variants, against the
number that takes the place of the *, with the 95 % interval of the fit.
"""
import argparse
import json
import math
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


def one_ceiling(records):
    """The programs of a table measured its ceiling each for itself. Here all are held against one of them, the fastest of
    the same size: their fractions change by what their own ceiling was slower."""
    def ceilings(size):
        return [r for r in records if r["role"] == "ceiling" and r["variant"] == r["ceiling"] and r["headline"] == size
                and r["time_ms_median"]]

    for size in dict.fromkeys(r["headline"] for r in records):
        times = {r["program"]: r["time_ms_median"] for r in ceilings(size)}
        if len(times) < 2:
            continue
        fastest, slowest = min(times.values()), max(times.values())
        for r in records:
            if r["headline"] != size or r["fraction_of_ceiling"] is None or r["program"] not in times:
                continue
            share = fastest / times[r["program"]]
            for key in ("fraction_of_ceiling", "fraction_low", "fraction_high"):
                r[key] = r[key] and r[key] * share
        for r in ceilings(size):
            r["ceiling_spread"] = fastest / slowest
    return records


def percent(record):
    """The fraction of the ceiling, with half the width of its 95 % interval; or why there is none. Of a ceiling that
    several programs measured: down to what."""
    fraction = record["fraction_of_ceiling"]
    if record.get("ceiling_spread") and fraction == 1:
        return f'100.0 (others: from {100 * record["ceiling_spread"]:.1f})'
    if fraction is None:
        return {"wrong": "WRONG", "failed": "FAILED", "skipped": "skipped"}.get(record["status"], "-")
    low, high = record["fraction_low"], record["fraction_high"]
    return f"{100 * fraction:.1f}" + (f" ± {50 * (high - low):.1f}" if low is not None else "")


def figure(record, key, form, times=1):
    """One figure; nothing where the record has none."""
    value = record.get(key)
    return "" if value is None else format(times * value, form)


def units(records):
    """Of the rates that the records have."""
    return list(dict.fromkeys(unit for r in records for unit, value in r["rates"].items() if value is not None))


def rate(record, unit=None):
    """A rate with four digits that count (the first, unless a unit is given); or why there is none."""
    value = record["rates"].get(unit) if unit else next(iter(record["rates"].values()), None)
    if value is None:
        return {"wrong": "WRONG", "failed": "FAILED", "skipped": "skipped"}.get(record["status"], "") or "-"
    text = f"{value:.{max(0, 3 - int(math.log10(value))) if value >= 1 else 3}f}"
    first = unit is None or unit == next(iter(record["rates"]))
    return text + (" (L2)" if record["l2_resident"] and first else "")


def own_figure(record, name):
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
    has_rate = bool(units(records))
    has_ceiling = records[0]["ceiling"] is not None
    rows = [["variant", "what it shows"] + units(records)[:1] + [f'% of {records[0]["ceiling"]}'] * has_ceiling +
            [f"{name} ({records[0]['figures'][name]['unit']})".replace(" ()", "") for name in names]]
    for r in records:
        if r["time_ms_mean"] is not None:
            row = [r["variant"], r["note"]]
            if has_rate:
                row.append(rate(r) + (" (above DRAM's peak)" if r["above_peak"] else ""))
            if has_ceiling:
                row.append(percent(r))
            rows.append(row + [own_figure(r, name) for name in names])
    return markdown(rows)


def ladder(records):
    """One size: every variant with its time and rate. A ceiling's row is shown once, the fastest. Columns that
    only some families have (the host's clock, updates, steps, a model, a baseline) are there where a record has them."""
    ceiling = records[0]["ceiling"]
    several_steps = any(r.get("steps", 1) > 1 for r in records)
    columns = {
        "program": lambda r: r["program"],
        "variant": lambda r: r["variant"],
        "what it shows": lambda r: r["note"],
        "time (ms)": lambda r: f'{r["time_ms_mean"]:.4f} ± {r["time_ms_stddev"]:.4f}',
        "by the host's clock": lambda r: figure(r, "host_time_ms_median", ".4f"),
        **{unit: lambda r, unit=unit: rate(r, unit) for unit in units(records)},
        "steps": lambda r: str(r.get("steps", 1)) if several_steps else "",
        f"% of {ceiling}": percent,
        "% of the model": lambda r: figure(r, "fraction_of_model", ".1f", 100),
        "times the baseline": lambda r: figure(r, "speedup_over_baseline", ".3f"),
    }
    for optional in ("by the host's clock", "steps", "% of the model", "times the baseline"):
        if not any(columns[optional](r) for r in records):
            del columns[optional]
    rows = [list(columns)]
    shown = {}  # of each ceiling, the fastest
    for r in records:
        if r["role"] == "ceiling" and r["time_ms_mean"] is not None:
            shown[r["variant"]] = min(shown.get(r["variant"], r), r, key=lambda c: c["time_ms_median"])
    for r in [*shown.values(), *(r for r in records if r["role"] != "ceiling" and r["time_ms_mean"] is not None)]:
        rows.append([cell(r) for cell in columns.values()])
    return markdown(rows)


def overview(records, cell=percent):
    """All sizes: the fraction of the ceiling, or another figure, of every rung and baseline. Simulated records: the counts a
    request."""
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
        if r["role"] != "ceiling" or cell is not percent:
            own = list(r.get("figures") or {})
            text = own_figure(r, own[0]) if own and r["ceiling"] is None and r["time_ms_mean"] else cell(r)
            table.setdefault((r["program"], r["variant"]), {})[r["headline"]] = text
    rows = [["program", "variant"] + sizes]
    rows += [[*key] + [cells.get(size, "") for size in sizes] for key, cells in table.items()]
    return markdown(rows)


def select(records, family, wanted):
    """The records of a family whose problem, or record, has these values."""
    return [r for r in records if r["family"] == family
            and all(str(r["problem"].get(key, r.get(key))) == value for key, value in wanted.items())]


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
        chosen = select(records, family, dict(word.split("=") for word in [f"program={program}", *filters.split()]))

        def of(record, name=name):
            own = (record.get("figures") or {}).get(name)
            return own["value"] if own else record["rates"].get(name, record.get(name))

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
        cells = {r["variant"]: own_figure(r, name) for r in records if r["problem"][by] == size and r["time_ms_mean"]}
        rows.append([str(size)] + [cells.get(variant, "") for variant in variants])
    return markdown(rows)


def programs_by_sizes(records):
    """The programs, those with the same sizes together: a table each."""
    sizes = {}
    for r in records:
        sizes.setdefault(r["program"], {})[r["headline"]] = True
    groups = {}
    for program, headlines in sizes.items():
        groups.setdefault(tuple(headlines), []).append(program)
    return groups.values()


def table_for(records, family, filters):
    wanted = dict(word.split("=") for word in filters.split())
    shape = {key: wanted.pop(key) for key in ("show", "by", "figure") if key in wanted}
    chosen = one_ceiling([dict(r) for r in select(records, family, wanted)])
    if not chosen:
        return f"(no records of {family} {filters.strip()})\n".replace(" )", ")")
    first = chosen[0]
    one_size = wanted and not shape
    if "by" in shape:
        table = curve(chosen, shape["by"], shape["figure"])
    elif first.get("figures") and not first["simulated"]:
        programs = dict.fromkeys(r["program"] for r in chosen)
        table = own_ladder(chosen) if one_size else "\n".join(
            f"{program}:\n\n" + overview([r for r in chosen if r["program"] == program]) for program in programs)
    elif one_size:
        table = ladder(chosen)
    else:
        cell = {"percent": percent, "rate": rate}[shape.get("show", "percent")]
        table = "\n".join(overview([r for r in chosen if r["program"] in programs], cell)
                          for programs in programs_by_sizes(chosen))
    source = "simulated on the CPU: counts a request, no times" if first["simulated"] else (
        f'{first["gpu"]}, driver CUDA {first["driver"]}, runtime {first["runtime"]}, {first["compiler"]}, '
        f'revision {first["revision"]}, {first["date"][:10]}')
    if one_size and not first["simulated"]:
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
