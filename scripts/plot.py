#!/usr/bin/env python3
"""Plots from the records of a sweep: for each family, the fraction of the ceiling of every rung at its largest size.

    plot.py RECORDS --out DIR     writes DIR/FAMILY.png; needs matplotlib
"""
import argparse
import json
import os
import sys


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
    measured = [r for r in records if r["fraction_of_ceiling"] is not None]
    for family in dict.fromkeys(r["family"] for r in measured):
        mine = [r for r in measured if r["family"] == family]
        largest = max(mine, key=lambda r: r["bytes"] or r["flops"] or 0)
        rows = [r for r in mine if r["headline"] == largest["headline"] and r["role"] != "ceiling"]
        names = [f'{r["program"]}: {r["variant"]}' for r in rows]
        values = [100 * r["fraction_of_ceiling"] for r in rows]
        colours = ["tab:orange" if r["role"] == "peer" else "tab:blue" for r in rows]
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
