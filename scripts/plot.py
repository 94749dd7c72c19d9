#!/usr/bin/env python3
"""Plots from the records of a sweep: for each family, the fraction of the ceiling of every rung at the largest of the
sizes that most of its programs have; of the family memory, latency against the working set and cycles against the ways
of a bank conflict.

    plot.py RECORDS --out DIR     writes DIR/FAMILY.png and DIR/memory-*.png; needs matplotlib
"""
import argparse
import json
import os
import sys


def curve(pyplot, path, title, x_label, y_label, lines, **axes_options):
    """lines: {name: [(x, y)]}."""
    if not any(lines.values()):
        return
    figure, axes = pyplot.subplots(figsize=(8, 4))
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points)), marker="o", markersize=3, label=name)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.set(**axes_options)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    print(f"plot: {path}")


def memory_curves(pyplot, records, out):
    latency, ways = {}, {}
    for r in records:
        if r["family"] != "memory" or r["time_ms_mean"] is None:
            continue
        if r["program"] == "latency":
            latency.setdefault(r["variant"], []).append((r["problem"]["bytes"], r["figures"]["latency"]["value"]))
        elif r["program"] == "banks" and r["variant"].startswith("ways_") and r["type"] == "float":
            for name in ("load latency", "load", "store"):
                if r["figures"][name]["value"] is not None:
                    ways.setdefault(name, []).append((int(r["variant"][5:]), r["figures"][name]["value"]))
    gpu = next((r["gpu"] for r in records), "")
    curve(pyplot, os.path.join(out, "memory-latency.png"), f"a load's latency, {gpu}", "bytes of the working set",
          "cycles", latency, xscale="log", yscale="log")
    curve(pyplot, os.path.join(out, "memory-banks.png"), f"N lanes at N words of a bank, {gpu}", "N",
          "cycles a request", ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records")
    parser.add_argument("--out", default=".")
    arguments = parser.parse_args()
    try:
        import matplotlib
    except ImportError:
        print("plot.py: no plots: matplotlib is not installed", file=sys.stderr)
        return 0
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with open(arguments.records, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    memory_curves(pyplot, records, arguments.out)
    # Programs that measure figures of their own have a ceiling each, or none.
    measured = [r for r in records if r["fraction_of_ceiling"] is not None and not r.get("figures")]
    for family in dict.fromkeys(r["family"] for r in measured):
        mine = [r for r in measured if r["family"] == family]
        programs = {}
        for r in mine:
            programs.setdefault(r["headline"], set()).add(r["program"])
        largest = max(mine, key=lambda r: (len(programs[r["headline"]]), next(iter(r["rates"].values()), 0) * r["time_ms_median"]))
        rows = [r for r in mine if r["headline"] == largest["headline"] and r["role"] != "ceiling"]
        names = [f'{r["program"]}: {r["variant"]}' for r in rows]
        values = [100 * r["fraction_of_ceiling"] for r in rows]
        colours = ["tab:orange" if r["role"] == "baseline" else "tab:blue" for r in rows]
        figure, axes = pyplot.subplots(figsize=(8, 0.32 * len(rows) + 1.2))
        axes.barh(names[::-1], values[::-1], color=colours[::-1])
        axes.axvline(100, color="black", linewidth=1)
        axes.set_xlabel(f'% of {rows[0]["ceiling"]}')
        axes.set_title(f'{family}: {largest["headline"]}, {largest["gpu"]}', fontsize=10)
        figure.tight_layout()
        path = os.path.join(arguments.out, f"{family}.png")
        figure.savefig(path, dpi=110)
        pyplot.close(figure)
        print(f"plot: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
