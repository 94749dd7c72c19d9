#!/usr/bin/env bash
# profile.sh [--build DIR] PROGRAM [OPTIONS...]: what nvprof's metrics were, by Nsight Compute and by the simulator.
#
#   scripts/profile.sh memory/banks --type double
#   scripts/profile.sh transpose/padded --n 1024 --variant unpadded padded
#
# Each launch of the program (--profile: one of each variant) with its transactions a request, ideally 1.0 for 4-byte
# elements of shared memory and 4 sectors for 32 words of global memory:
#
#   nvprof                                     today
#   shared_load_transactions_per_request       l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
#                                              / smsp__inst_executed_op_shared_ld.sum
#   shared_store_transactions_per_request      ..._op_st.sum / smsp__inst_executed_op_shared_st.sum
#   gld_transactions_per_request               l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
#                                              / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
#   gst_transactions_per_request               ..._op_st.sum / ..._op_st.sum
#
# Without a GPU or without ncu there is the simulator's half. Exit code: 0; 1 a run failed; 2 usage; 77 neither is here.
# shellcheck source=scripts/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

build=$default_build
if [[ ${1:-} == --build && $# -ge 2 ]]; then
    build=$(realpath "$2")
    shift 2
fi
if [[ $# -lt 1 || $1 == -* ]]; then
    sed -n '2,20s/^# \{0,1\}//p' "$0"
    [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0 || exit 2
fi
program=$1
shift
if [[ ! -x $build/$program ]]; then
    echo "profile.sh: $build/$program is not there (scripts/run_demo.sh builds it)" >&2
    exit 2
fi
ncu=''
if have_gpu; then ncu=$(command -v ncu || true); fi
simulator=$build/simulator/libladder_simulator.so
[[ -f $simulator ]] || simulator=''
if [[ -z $ncu && -z $simulator ]]; then
    echo "profile.sh: neither ncu with a GPU nor $build/simulator/libladder_simulator.so is here" >&2
    exit 77
fi

exec python3 - "$root/scripts" "$ncu" "$simulator" "$build/$program" --profile --check none "$@" <<'PYTHON'
import pathlib, sys, tempfile

scripts, ncu, simulator, *command = sys.argv[1:]
sys.path.insert(0, scripts)
import compare_with_ncu as counters

KINDS = [("shared load", "shared_load_wavefronts", "shared_load_requests"),
         ("shared store", "shared_store_wavefronts", "shared_store_requests"),
         ("global load", "global_load_sectors", "global_load_requests"),
         ("global store", "global_store_sectors", "global_store_requests")]


def per_request(launch, cost, requests):
    return f"{launch[cost] / launch[requests]:.2f}" if launch and launch[requests] else "-"


try:
    with tempfile.TemporaryDirectory() as folder:
        measured = counters.measure(ncu, command, "profile", pathlib.Path(folder), 1000) if ncu else []
    simulated = counters.simulate(simulator, command, "profile")[:1000] if simulator else []
except (counters.Failure, counters.Skipped) as failure:
    sys.exit(f"profile.sh: {failure}")
if measured and simulated and len(measured) != len(simulated):
    sys.exit(f"profile.sh: {len(measured)} launches measured, {len(simulated)} simulated")

rows = [["kernel"] + [kind for kind, _, _ in KINDS]]
for i in range(max(len(measured), len(simulated))):
    on_chip = measured[i] if measured else None
    counted = simulated[i] if simulated else None
    rows.append([counters.short_name((on_chip or counted)["kernel"])] +
                [f"{per_request(on_chip, cost, requests)} / {per_request(counted, cost, requests)}"
                 for _, cost, requests in KINDS])
widths = [max(map(len, column)) for column in zip(*rows)]
print("transactions a request, ncu / simulator (-: none, or not here)")
for row in rows:
    print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
PYTHON
