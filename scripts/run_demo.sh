#!/usr/bin/env bash
# run_demo.sh FILE.cu [OPTIONS...]: builds one program and runs it, on the GPU or, where there is none, on the simulator.
#
#   scripts/run_demo.sh transpose/padded.cu --n 4096
#
# Exit codes: the program's own; 2 where FILE.cu is not a program of this suite.
# shellcheck source=scripts/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

if [[ $# -lt 1 || $1 == -* ]]; then
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0 || exit 2
fi
program=${1#"$root"/}
program=${program#./}
shift
if [[ $program != */*.cu || ! -f $root/$program ]]; then
    echo "run_demo.sh: $program is not a program of this suite; there are: $(cd "$root" && echo */*.cu)" >&2
    exit 2
fi
program=${program%.cu}

configure_to_run "$default_build"
simulate=()
targets=("${program/\//_}")
if ! have_gpu; then
    simulate=(--simulate)
    targets+=(ladder_simulator)
fi
show cmake --build "$default_build" --parallel --target "${targets[@]}" >&2
show "$default_build/$program" "${simulate[@]}" "$@"
