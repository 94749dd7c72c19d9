#!/usr/bin/env python3
"""Runs every program of faults.cu under the simulator: planted faults must be named, correct twins must be silent.

    run_faults.py --simulator LIB --program BIN [--only NAME]

A faulty program must exit 1 and name on stderr the kind of the fault and the marked line (faults_expected.tsv);
a correct one (NAME-fixed, clean-NAME) must exit 0 and write nothing on stderr. Without --simulator only the correct
ones run, on the GPU. Prints one line for each and a sum; exits 1 if anything failed.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 60  # a program that hangs has failed; each needs far less than a second


def marked_lines(source):
    """{fault name: [line numbers]} from the comments "fault: NAME" in the text of the source."""
    lines = {}
    for number, text in enumerate(source.splitlines(), 1):
        for name in re.findall(r"// fault: ([\w-]+)", text):
            lines.setdefault(name, []).append(number)
    return lines


def expected_faults(table, lines):
    """{fault name: (kind, place)}: the regular expressions, with LINE replaced; place is None where there is none."""
    expected = {}
    for row in table.splitlines():
        if not row or row.startswith("#"):
            continue
        name, kind, place = row.split("\t")
        if place == "-":
            place = None
        elif "LINE" in place:
            if name not in lines:
                raise SystemExit(f"run_faults: no line is marked 'fault: {name}'")
            place = place.replace("LINE", "(?:" + "|".join(map(str, lines[name])) + r")\b")
        expected[name] = (kind, place)
    return expected


def judge(code, stderr, expected):
    """Why a run failed, or None. `expected` is (kind, place) for a planted fault, None for a correct program."""
    if expected is None:
        if code != 0:
            return f"exit {code} instead of 0"
        return "a false alarm" if stderr.strip() else None
    kind, place = expected
    if code != 1:
        return f"exit {code} instead of 1"
    if not re.search(kind, stderr):
        return f"nothing on stderr matches {kind}"
    if place and not re.search(place, stderr):
        return f"nothing on stderr matches {place}"
    return None


def run(program, name, simulator):
    environment = dict(os.environ)
    if simulator:
        environment["LD_PRELOAD"] = simulator
    try:
        done = subprocess.run([program, name], env=environment, capture_output=True, text=True, timeout=SECONDS)
        return done.returncode, done.stderr
    except subprocess.TimeoutExpired as late:
        return "none", (late.stderr or b"").decode(errors="replace") + f"still running after {SECONDS} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", help="the simulator's library; left out on a GPU")
    parser.add_argument("--program", required=True, help="the faults program")
    parser.add_argument("--only", help="run this one program")
    options = parser.parse_args()
    simulator = options.simulator and os.path.abspath(options.simulator)

    lines = marked_lines((HERE / "programs" / "faults.cu").read_text())
    expected = expected_faults((HERE / "faults_expected.tsv").read_text(), lines)
    names = subprocess.run([options.program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in expected:
        if name not in names or name + "-fixed" not in names:
            raise SystemExit(f"run_faults: {name} or its twin is not in the program's list")
    if options.only:
        if options.only not in names:
            raise SystemExit(f"run_faults: no program {options.only}")
        names = [options.only]

    passed = failed = 0
    for name in names:
        correct = name.endswith("-fixed") or name.startswith("clean-")
        if not correct and name not in expected:
            raise SystemExit(f"run_faults: {name} is not in faults_expected.tsv")
        if not simulator and not correct:
            continue
        code, stderr = run(options.program, name, simulator)
        reason = judge(code, stderr, None if correct else expected[name])
        if reason is None:
            passed += 1
            print(f"ok      {name}", flush=True)
        else:
            failed += 1
            print(f"FAILED  {name}: {reason}", flush=True)
            for text in stderr.strip().splitlines()[:6]:
                print(f"            {text}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
