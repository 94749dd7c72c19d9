# shellcheck shell=bash
# build.sh: what run_demo.sh, run_all.sh and run_tests.sh share; sourced, not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# have_gpu: does this machine have a GPU that CUDA can use?
have_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }

# show COMMAND...: prints the command, then runs it.
show() {
    printf '+ %s\n' "$*" >&2
    "$@"
}

# configure DIR [CMAKE-OPTIONS...]: configures once; later with the options that are given, if any.
configure() {
    local dir=$1 first=()
    shift
    [[ ! -f $dir/CMakeCache.txt || $# -gt 0 ]] || return 0
    if [[ ! -f $dir/CMakeCache.txt ]] && command -v ninja >/dev/null; then first=(-G Ninja); fi
    show cmake -S "$root" -B "$dir" "${first[@]}" "$@" >&2
}

# configure_to_run DIR: without a GPU, for the simulator alone: machine code of one architecture, which nothing runs.
configure_to_run() {
    local options=(-DBUILD_TESTING=OFF)
    have_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
    [[ -f $1/CMakeCache.txt ]] || configure "$1" "${options[@]}"
}

# shellcheck disable=SC2034 # the scripts that source this use it
default_build=$root/$(have_gpu && echo build || echo build-simulator)
