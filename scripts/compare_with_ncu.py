#!/usr/bin/env python3
"""Compares the simulator's counters with those that Nsight Compute measures on a GPU.

    compare_with_ncu.py --simulator LIB --bin DIR            on a GPU machine: measure, simulate, write down both
    compare_with_ncu.py --check --simulator LIB --bin DIR    anywhere: simulate, compare with what was written down

DIR is the build directory: DIR/tests/simulator/patterns and all programs in DIR/transpose are run. The first form
writes a report (--out-md) and the measured counters (--out-data, h200-*.tsv); the second reads the latter, writes the
report where --out-md asks for it, and exits 1 on any difference that allowed-differences.tsv beside them does not
explain.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = [(127, 65, "float"), (256, 512, "double")]  # rows, columns and type of the transposed matrix: ragged, and not
NOT_COUNTED = {"tma"}  # what Hopper's copy engine moves
SECONDS = 900
LAUNCHES = 600  # of a program, at most: ncu takes a tenth of a second for each

# ncu's name of each counter, and the simulator's (simulator_api.h). Transactions first: requests differ more
# easily, because the chip also counts instructions that no lane takes part in.
COUNTERS = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "smsp__inst_executed_op_shared_ld.sum": "shared_load_requests",
    "smsp__inst_executed_op_shared_st.sum": "shared_store_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_load_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "global_store_requests",
}
# The one counter that a pattern of patterns.cu is about.
PATTERN_COUNTERS = {
    "ld.shared": "shared_load_wavefronts",
    "st.shared": "shared_store_wavefronts",
    "ld.global": "global_load_sectors",
    "st.global": "global_store_sectors",
}


class Failure(Exception):
    """What went wrong, in words for the user."""


class Skipped(Exception):
    """The program says that it cannot run here: exit 77."""


# ---- reading both sides: text in, [{"kernel": name, counter: value}] in the order of launches out


def short_name(kernel):
    """A kernel's name without return type, namespaces, parameters and the types of template values."""
    name = re.sub(r"^void ", "", kernel.strip())
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::|::_GLOBAL__N__\w*::", "", name)
    name = re.sub(r"\((?:int|bool|unsigned int|unsigned|long|unsigned long)\)", "", name)
    depth = 0
    for position, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0:
            name = name[:position]
            break
    return name.replace(" ", "")


def number(text):
    """The integer in ncu's text, which may have separators for thousands."""
    value = float(text.replace(",", "").replace("\u00a0", "").replace("\u202f", "").replace("'", ""))
    if value != int(value):
        raise Failure(f"ncu reports {text}: a whole number was expected")
    return int(value)


def parse_ncu_csv(text):
    """Reads ncu's --csv: one row for each metric of each launch, after lines like "==PROF== Connected"."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith('"ID"')]
    if not starts and "No kernels were profiled" in text:
        return []
    if not starts:
        tail = "\n".join(lines[-8:])
        raise Failure(f"ncu wrote no table; its last lines:\n{tail}")
    body = [line for line in lines[starts[0]:] if line.startswith('"')]
    launches = {}
    for row in csv.DictReader(io.StringIO("\n".join(body))):
        if "Metric Name" not in row:
            raise Failure("ncu's table has no column 'Metric Name'")
        counter = COUNTERS.get(row["Metric Name"])
        if counter is None:
            continue
        launch = launches.setdefault(int(row["ID"]), {"kernel": row["Kernel Name"]})
        launch[counter] = number(row["Metric Value"])
    result = [launches[key] for key in sorted(launches)]
    for launch in result:
        missing = [name for name in COUNTERS.values() if name not in launch]
        if missing:
            raise Failure(f"ncu measured no {missing[0]} for {launch['kernel']}")
    return result


def parse_launches(text):
    """Reads the simulator's LADDER_SIMULATOR_LAUNCHES: a line of JSON for each launch."""
    launches = []
    for line in text.splitlines():
        if not line.strip():
            continue
        record = json.loads(line)
        launches.append({"kernel": record["kernel"], **{name: int(record[name]) for name in COUNTERS.values()}})
    return launches


# ---- comparing: rows out


def compare(program, measured, simulated, patterns=None):
    """One row (a dict) for each launch and counter. With `patterns`, [(pattern, access)] of each launch, only the
    counter that the access is about is compared, and the row names the pattern in place of the kernel."""
    if len(measured) != len(simulated):
        raise Failure(f"{program}: {len(measured)} launches measured, {len(simulated)} simulated")
    if patterns is not None and len(patterns) != len(measured):
        raise Failure(f"{program}: {len(patterns)} patterns, {len(measured)} launches")
    rows = []
    for index, (real, counted) in enumerate(zip(measured, simulated)):
        kernel = short_name(real["kernel"])
        other = short_name(counted["kernel"])
        if kernel.split("<")[0].split("::")[-1] != other.split("<")[0].split("::")[-1]:
            raise Failure(f"{program}: launch {index} is {kernel} on the one side, {other} on the other")
        names = list(COUNTERS.values())
        if patterns is not None:
            pattern, access = patterns[index]
            kernel = f"{pattern}, {access}"
            names = [PATTERN_COUNTERS[access.rsplit(".", 1)[0]]]
        for name in names:
            rows.append({"program": program, "launch": index, "kernel": kernel, "counter": name,
                         "ncu": real[name], "simulator": counted[name]})
    return rows


def parse_allowed(text):
    """[(program, kernel, counter, reason)], the first three as regular expressions for the whole word."""
    allowed = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            program, kernel, counter, reason = line.split("\t")
            allowed.append((program, kernel, counter, reason))
    return allowed


def reason_for(row, allowed):
    """Why this row may differ, or None."""
    for program, kernel, counter, reason in allowed:
        if re.fullmatch(program, row["program"]) and re.fullmatch(kernel, row["kernel"]) \
                and re.fullmatch(counter, row["counter"]):
            return reason
    return None


def differing(rows):
    return [row for row in rows if row["ncu"] != row["simulator"]]


# ---- writing


def table(rows, allowed):
    lines = ["| launch | kernel | counter | ncu | simulator | equal? |", "|---:|---|---|---:|---:|---|"]
    for row in rows:
        equal = "yes"
        if row["ncu"] != row["simulator"]:
            equal = "**no**: " + (reason_for(row, allowed) or "not explained")
        kernel = row["kernel"].replace("|", "\\|")
        lines.append(f"| {row['launch']} | `{kernel}` | {row['counter']} | {row['ncu']} | {row['simulator']} | {equal} |")
    return lines


def markdown(results, allowed, device):
    """The report. `results` is [(title, rows, is_patterns)]; launches in which all is zero on both sides are left
    out of the tables, never out of the sums."""
    everything = [row for _, rows, _ in results for row in rows]
    wrong = differing(everything)
    explained = [row for row in wrong if reason_for(row, allowed)]
    lines = [
        "# The simulator's counters against Nsight Compute",
        "",
        f"Measured on {device} by `scripts/compare_with_ncu.py`, which ran the same binaries under the simulator.",
        "",
        f"**{len(everything) - len(wrong)} of {len(everything)} counters equal**"
        + (f"; {len(explained)} of the {len(wrong)} differences are explained." if wrong else "."),
        "",
    ]
    for title, rows, is_patterns in results:
        different = differing(rows)
        lines += [f"## {title}", "", f"{len(rows) - len(different)} of {len(rows)} equal.", ""]
        shown = different if is_patterns else [row for row in rows if row["ncu"] or row["simulator"]]
        if shown:
            lines += table(shown, allowed) + [""]
    return "\n".join(lines)


def data_tsv(rows):
    lines = ["# measured on an H200 with Nsight Compute by scripts/compare_with_ncu.py",
             "program\tlaunch\tkernel\tcounter\tvalue"]
    lines += [f"{row['program']}\t{row['launch']}\t{row['kernel']}\t{row['counter']}\t{row['ncu']}" for row in rows]
    return "\n".join(lines) + "\n"


def parse_data(text):
    rows = []
    for line in text.splitlines():
        if line.startswith("#") or line.startswith("program\t") or not line:
            continue
        program, launch, kernel, counter, value = line.split("\t")
        rows.append({"program": program, "launch": int(launch), "kernel": kernel, "counter": counter,
                     "ncu": int(value)})
    return rows


# ---- running


def execute(command, environment, what):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS)
    except FileNotFoundError:
        raise Failure(f"{command[0]}: not found")
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: still running after {SECONDS} s")
    if done.returncode == 77:
        raise Skipped(f"{what} (not simulated)")
    if done.returncode != 0:
        tail = (done.stdout + done.stderr).strip()[-1500:]
        raise Failure(f"{what}: exit {done.returncode}\n{tail}")
    return done.stdout


def measure(ncu, command, what, kept, launches):
    """ncu's counters of the first `launches` launches. Its table stays in the folder `kept`; one that is there already is
    taken as it is, so that a run which was cut short goes on where it stopped."""
    log = kept / (what.replace(" ", "-") + ".csv")
    if not log.exists() and shutil.which(ncu) is None:
        raise Skipped(f"{what} (not measured)")
    if not log.exists():
        kept.mkdir(parents=True, exist_ok=True)
        part = log.with_suffix(".part")  # a file of its own, because the program writes to stdout as well
        execute([ncu, "--csv", "--clock-control", "none", "--print-units", "base", "--log-file", str(part),
                 "--launch-count", str(launches), "--metrics", ",".join(COUNTERS), *command], None, f"ncu on {what}")
        part.rename(log)
    return parse_ncu_csv(log.read_text(errors="replace"))


def simulate(library, command, what):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "launches.json"
        # Counts only: some patterns store from several lanes to one cell, which is a race whose result
        # nobody reads.
        environment = dict(os.environ, LD_PRELOAD=os.path.abspath(library), LADDER_SIMULATOR_LAUNCHES=str(log),
                           LADDER_SIMULATOR_RACES="0")
        environment.pop("LADDER_PATTERNS_OUT", None)
        execute(command, environment, f"simulator on {what}")
        return parse_launches(log.read_text()) if log.exists() else []  # a program may launch nothing


def programs(folder):
    """[(group, name, command)]: what to run, in the order of the report."""
    folder = pathlib.Path(folder)
    patterns = folder / "tests" / "simulator" / "patterns"
    found = [("patterns", "patterns", [str(patterns)])] if patterns.exists() else []
    for program in sorted((folder / "transpose").glob("*")):
        if not program.is_file() or not os.access(program, os.X_OK) or program.suffix or program.name in NOT_COUNTED:
            continue
        # A library's kernels are not simulated.
        listed = [line.split() for line in execute([str(program), "--list"], None, program.name).splitlines()]
        own = [name for name, role, *_ in listed if role != "baseline"]
        for rows, columns, element in CASES:
            found.append(("kernels", f"{program.name} {rows}x{columns} {element}",
                          [str(program), "--profile", "--check", "none", "--rows", str(rows), "--cols", str(columns),
                           "--type", element, "--variant", *own]))
    return found


def pattern_list(command):
    """[(pattern, access)] of each launch of patterns.cu."""
    lines = execute([*command, "--list"], None, "patterns --list").splitlines()
    return [tuple(line.split("\t")[1:]) for line in lines]


def write_down(options, allowed, results, rows_of, skipped):
    """The report and the data files, as far as they go."""
    options.out_data.mkdir(parents=True, exist_ok=True)
    for group, rows in rows_of.items():
        (options.out_data / f"h200-{group}.tsv").write_text(data_tsv(rows))
    write_report(options, allowed, results, skipped)


def write_report(options, allowed, results, skipped=()):
    report = markdown(results, allowed, options.device)
    if skipped:
        report += "\nLeft out: " + ", ".join(skipped) + ".\n"
    options.out_md.parent.mkdir(parents=True, exist_ok=True)
    options.out_md.write_text(report)


def record(options, allowed):
    results, rows_of, skipped = [], {}, []
    for group, name, command in programs(options.bin):
        print(f"{name} ...", flush=True)
        patterns = pattern_list(command)[:LAUNCHES] if group == "patterns" else None
        try:
            simulated = simulate(options.simulator, command, name)[:LAUNCHES]
            rows = compare(name, measure(options.ncu, command, name, options.kept, LAUNCHES), simulated, patterns)
        except Skipped as reason:
            skipped.append(str(reason))
            continue
        results.append((title_of(group, name), rows, patterns is not None))
        rows_of.setdefault(group, []).extend(rows)
        write_down(options, allowed, results, rows_of, skipped)
    if not results:
        raise Failure(f"{options.bin}: nothing to compare there")
    return [row for _, rows, _ in results for row in rows]


def title_of(group, name):
    return "Single-access patterns" if group == "patterns" else name


def check(options, allowed):
    """The rows that were written down, with the simulator's counts of today."""
    runs = {name: (group, command) for group, name, command in programs(options.bin)}
    results = []
    files = sorted(options.out_data.glob("h200-*.tsv"))
    if not files:
        raise Failure(f"{options.out_data}: no h200-*.tsv")
    for file in files:
        recorded = {}
        for row in parse_data(file.read_text()):
            recorded.setdefault(row["program"], []).append(row)
        for name, wanted in recorded.items():
            if name not in runs:
                raise Failure(f"{name} was measured but is not in {options.bin}")
            group, command = runs[name]
            simulated = simulate(options.simulator, command, name)
            for row in wanted:
                if row["launch"] >= len(simulated):
                    raise Failure(f"{name}: launch {row['launch']} was measured, {len(simulated)} were simulated")
                row["simulator"] = simulated[row["launch"]][row["counter"]]
            results.append((title_of(group, name), wanted, group == "patterns"))
    results.sort(key=lambda result: not result[2])
    if options.out_md:
        write_report(options, allowed, results)
    return [row for _, rows, _ in results for row in rows]


def device_name():
    try:
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "a GPU"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the recorded counters, without a GPU")
    parser.add_argument("--simulator", required=True, help="the simulator's library")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="the build directory")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--out-md", type=pathlib.Path, help="default: results/simulator-vs-ncu.md; with --check none")
    parser.add_argument("--out-data", type=pathlib.Path, default=ROOT / "tests" / "simulator" / "data")
    parser.add_argument("--allowed", type=pathlib.Path,
                        default=ROOT / "tests" / "simulator" / "data" / "allowed-differences.tsv")
    parser.add_argument("--kept", type=pathlib.Path, help="where ncu's tables are kept (default: DIR/ncu)")
    parser.add_argument("--device", default=device_name(), help="the GPU on which the kept tables were measured")
    options = parser.parse_args()
    options.kept = options.kept or options.bin / "ncu"
    if not options.check:
        options.out_md = options.out_md or ROOT / "results" / "simulator-vs-ncu.md"
    allowed = parse_allowed(options.allowed.read_text()) if options.allowed.exists() else []
    try:
        rows = check(options, allowed) if options.check else record(options, allowed)
    except (Failure, Skipped) as failure:
        print(f"compare_with_ncu: {failure}", file=sys.stderr)
        return 1

    wrong = differing(rows)
    unexplained = [row for row in wrong if not reason_for(row, allowed)]
    for row in unexplained:
        print(f"{row['program']}, launch {row['launch']}, {row['kernel']}: {row['counter']} is {row['ncu']} on the "
              f"chip, {row['simulator']} in the simulator")
    print(f"{len(rows) - len(wrong)} of {len(rows)} counters equal, {len(wrong) - len(unexplained)} differences "
          f"explained, {len(unexplained)} not")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
