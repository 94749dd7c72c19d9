#!/usr/bin/env python3
"""What nvprof's metrics were, by Nsight Compute and by the simulator.

    scripts/profile.py memory/banks --type double
    scripts/profile.py transpose/padded --n 1024 --variant unpadded padded

Each launch of the program (--profile: one of each variant) with its transactions a request, ideally 1.0 for 4-byte
elements of shared memory and 4 sectors for 32 words of global memory:

    nvprof                                     today
    shared_load_transactions_per_request       l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
                                               / smsp__inst_executed_op_shared_ld.sum
    shared_store_transactions_per_request      ..._op_st.sum / smsp__inst_executed_op_shared_st.sum
    gld_transactions_per_request               l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
                                               / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
    gst_transactions_per_request               ..._op_st.sum / ..._op_st.sum

Without a GPU or without ncu there is the simulator's half. Exit code: 0; 1 a run failed; 2 usage; 77 neither is here.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compare_with_ncu as counters

KINDS = [("shared load", "shared_load_wavefronts", "shared_load_requests"),
         ("shared store", "shared_store_wavefronts", "shared_store_requests"),
         ("global load", "global_load_sectors", "global_load_requests"),
         ("global store", "global_store_sectors", "global_store_requests")]
LAUNCHES = 1000  # of a program, at most


def have_gpu():
    try:
        return "GPU" in subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False


def per_request(launch, cost, requests):
    return f"{launch[cost] / launch[requests]:.2f}" if launch and launch[requests] else "-"


def table(measured, simulated):
    """Lines of text; either list may be empty."""
    rows = [["kernel"] + [kind for kind, _, _ in KINDS]]
    for i in range(max(len(measured), len(simulated))):
        on_chip = measured[i] if measured else None
        counted = simulated[i] if simulated else None
        rows.append([counters.short_name((on_chip or counted)["kernel"])] +
                    [f"{per_request(on_chip, cost, requests)} / {per_request(counted, cost, requests)}"
                     for _, cost, requests in KINDS])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def say(text):
    print(f"profile.py: {text}", file=sys.stderr)


def main():
    gpu = have_gpu()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="DIR", type=pathlib.Path,
                        default=counters.ROOT / ("build" if gpu else "build-simulator"),
                        help="the build directory (default: %(default)s)")
    parser.add_argument("program", metavar="PROGRAM", help="FAMILY/NAME")
    parser.add_argument("options", metavar="OPTIONS", nargs=argparse.REMAINDER, help="the program's own options")
    options = parser.parse_args()
    program = options.build.resolve() / options.program
    if not (program.is_file() and os.access(program, os.X_OK)):
        parser.error(f"{program} is not there (scripts/run_demo.sh builds it)")
    simulator = options.build.resolve() / "simulator" / "libladder_simulator.so"
    ncu = shutil.which("ncu") if gpu else None
    if not ncu and not simulator.is_file():
        say(f"neither ncu with a GPU nor {simulator} is here")
        return 77
    if not ncu:
        say(("ncu is not here" if gpu else "there is no GPU here") + ": the simulator's half alone")

    command = [str(program), "--profile", "--check", "none", *options.options]
    try:
        with tempfile.TemporaryDirectory() as folder:
            measured = counters.measure(ncu, command, "profile", pathlib.Path(folder), LAUNCHES) if ncu else []
        simulated = counters.simulate(simulator, command, "profile")[:LAUNCHES] if simulator.is_file() else []
    except counters.Skipped as reason:
        say(reason)
        return 77
    except counters.Failure as failure:
        say(failure)
        return 1
    if measured and simulated and len(measured) != len(simulated):
        say(f"{len(measured)} launches measured, {len(simulated)} simulated")
        return 1
    if not measured and not simulated:
        say("the program launched no kernel")
        return 1
    print("transactions a request, ncu / simulator (-: none, or not here)")
    print("\n".join(table(measured, simulated)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
