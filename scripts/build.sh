# shellcheck shell=bash
# build.sh: what run_demo.sh, run_all.sh, run_tests.sh and sanitize.sh share; sourced, not run.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/setup.sh
source "$root/scripts/setup.sh"
gpus=$("$root/scripts/gpu.sh")

# have_gpu: does this machine have a GPU that CUDA can use?
have_gpu() { [[ -n $gpus ]]; }

# usage MESSAGE: ends the script that the user called, with 2.
usage() {
    echo "$(basename "$0"): $1 (see the top of the script)" >&2
    exit 2
}

# help: the comment at the top of the script that the user called.
help() { sed -n '2,/^[^#]/{/^# shellcheck/d;/^#/s/^# \{0,1\}//p}' "$0"; }

# show COMMAND...: prints the command, then runs it.
show() {
    printf '+ %s\n' "$*" >&2
    "$@"
}

# jobs_at_once: as many as there are cores, and 1.5 GB of memory for each: nvcc takes so much.
jobs_at_once() {
    local cores memory limit
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
    # A container's own limit.
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
    [[ ! $limit =~ ^[0-9]+$ ]] || memory=$((limit / 1500000000 < memory ? limit / 1500000000 : memory))
    echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# configured DIR: did a configure end well there? (One that failed leaves a CMakeCache.txt too.)
configured() { [[ -f $1/build.ninja || -f $1/Makefile ]]; }

# configure DIR [CMAKE-OPTIONS...]: configures once; later with the options that are given, if any.
configure() {
    local dir=$1 first=()
    shift
    ! configured "$dir" || [[ $# -gt 0 ]] || return 0
    mkdir -p "$dir"
    if ! configured "$dir"; then
        first=(--fresh)
        ! command -v ninja >/dev/null || first+=(-G Ninja)
    fi
    show cmake -S "$root" -B "$dir" "${first[@]}" "$@" >"$dir/configure.log" 2>&1 && return
    # The first error, and not what CMake has to say around it.
    sed -n '/^CMake Error/,/^Call Stack\|^-- /{/^Call Stack/d;/^-- /d;/^$/d;p}' "$dir/configure.log" | head -n 4 >&2
    echo "configure.log has all of it: $dir/configure.log" >&2
    ! grep -q 'Neither installed nor fetched' "$dir/configure.log" || exit 77
    exit 1
}

# configure_to_run DIR: without a GPU, for the simulator alone: machine code of one architecture, which nothing runs.
configure_to_run() {
    local options=(-DBUILD_TESTING=OFF)
    set_up "$1"
    have_gpu || options+=(-DCMAKE_CUDA_ARCHITECTURES=90)
    configured "$1" || configure "$1" "${options[@]}"
}

# build DIR [TARGET...]: builds them, or all.
build() {
    local dir=$1 targets=()
    shift
    [[ $# == 0 ]] || targets=(--target "$@")
    show cmake --build "$dir" --parallel "$(jobs_at_once)" "${targets[@]}" >&2
}

# cmake --install puts the scripts beside the programs: nothing is built there.
# shellcheck disable=SC2034 # the scripts that source this use both
if [[ -f $root/programs.txt ]]; then
    installed=yes default_build=$root
else
    installed=no default_build=$root/$(have_gpu && echo build || echo build-simulator)
fi
