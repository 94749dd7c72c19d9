#!/usr/bin/env bash
# run_demo.sh [--build DIR] FILE.cu [ARGUMENTS...]: builds any CUDA file and runs it, on the GPU or, where there is none,
# on the simulator, which then prints what each source line costs.
#
#   scripts/run_demo.sh transpose/padded.cu --n 4096      a program of this suite, with its options
#   scripts/run_demo.sh ~/mine.cu some arguments          your own: one line of nvcc, which is shown
#
# What else nvcc needs for your file goes into NVCC_APPEND_FLAGS ("-Iinclude -lcublas"), which nvcc reads itself.
# Exit codes: the program's own; 1 does not compile; 2 there is no such file; 77 something is missing here.
# shellcheck source=scripts/build.sh
source "$(dirname "$(readlink -f "$0")")/build.sh"

build=$default_build
while [[ ${1:-} == -* ]]; do
    case $1 in
        -h | --help)
            help
            exit 0
            ;;
        --build)
            [[ $# -ge 2 ]] || usage "$1 needs a value"
            build=$(realpath -m "$2")
            shift
            ;;
        *) usage "unknown option $1: the program's own go behind FILE.cu" ;;
    esac
    shift
done
[[ $# -ge 1 ]] || usage "which file?"
[[ $1 == *.cu ]] || usage "$1 is not a .cu file"
file=$1
# From anywhere, transpose/padded.cu is the suite's own.
[[ -f $file || ! -f $root/$file ]] || file=$root/$file
[[ -f $file ]] || usage "$1 is not there"
file=$(realpath "$file")
shift

program=${file#"$root"/}
program=${program%.cu}
if [[ $installed == no && $file == "$root"/*/*.cu ]]; then
    configure_to_run "$build"
    if grep -qxF "$program" "$build/programs.txt"; then
        if have_gpu; then
            build "$build" "${program/\//_}"
            show "$build/$program" "$@"
        else
            build "$build" "${program/\//_}" ladder_simulator
            show "$build/$program" --simulate "$@"
        fi
        exit
    fi
fi

[[ $file$build != *\$* ]] || usage "nvcc itself takes no path with a dollar sign in it"
set_up "$build"
nvcc=${CUDACXX:-nvcc}
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v "$nvcc")")")")
# Machine code for the first GPU with its PTX, or PTX alone for the simulator; the lines of the source; a CUDA runtime that
# the simulator can take the place of.
flags=(-O2 -std=c++17 -lineinfo --no-compress -cudart shared)
if have_gpu; then
    flags+=("-arch=sm_$(head -n 1 <<<"$gpus" | tr -d .)")
else
    flags+=(-gencode "arch=compute_90,code=compute_90")
fi
for folder in "$toolkit"/lib64 "$toolkit"/lib; do
    ! compgen -G "$folder/libcudart.so*" >/dev/null || flags+=(-Xlinker "-rpath=$folder")
done
mkdir -p "$build/demo"
binary=$build/demo/$(basename "${file%.cu}")
show "$nvcc" "${flags[@]}" "$file" -o "$binary" >&2 || {
    echo "run_demo.sh: $file does not compile as it is; further flags go into NVCC_APPEND_FLAGS" >&2
    exit 1
}
if have_gpu; then
    show "$binary" "$@"
    exit
fi
if [[ $installed == no ]]; then
    configure_to_run "$build"
    build "$build" ladder_simulator
fi
echo "no GPU here: simulated on the CPU (counts, no times; LADDER_SIMULATOR_REPORT=0 leaves them out)" >&2
# By its descriptor: LD_PRELOAD cannot name a path with a space or a colon.
printf '+ LD_PRELOAD=%s %s\n' "$build/simulator/libladder_simulator.so" "$binary $*" >&2
exec 9<"$build/simulator/libladder_simulator.so"
LADDER_SIMULATOR_REPORT=${LADDER_SIMULATOR_REPORT:-1} LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}/proc/self/fd/9 "$binary" "$@"
