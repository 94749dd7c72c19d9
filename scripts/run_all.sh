#!/usr/bin/env bash
# run_all.sh [--quick] [--family F] [--out DIR] [--build DIR] [--no-build]: the whole sweep.
#
# Builds all programs and runs each, in a process of its own, at each size that its family declares (--sizes sweep):
# a fault in one does not end the others. Writes DIR/<gpu>.jsonl (one record a line), DIR/<gpu>.txt (all tables and
# what failed), summary tables, and plots where matplotlib is found. Without a GPU the programs run on the simulator,
# once each at its small default size: checks and counts, no times.
#
#   --quick      10 samples, and the two smallest sizes
#   --family F   only this family
#   --out DIR    default: sweep, in the build directory
#   --build DIR  another build directory; --no-build takes what is in it
#
# Exit code: 0 all ran right; 1 something failed; 2 usage; 77 nothing could run.
# shellcheck source=scripts/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

usage() {
    echo "run_all.sh: $1 (see the top of the script)" >&2
    exit 2
}
quick=no family='*' out='' build=$default_build do_build=yes
while [[ $# -gt 0 ]]; do
    case $1 in
        --quick) quick=yes ;;
        --no-build) do_build=no ;;
        --family | --out | --build)
            [[ $# -ge 2 ]] || usage "$1 needs a value"
            case $1 in
                --family) family=$2 ;;
                --out) out=$2 ;;
                --build) build=$(realpath -m "$2") ;;
            esac
            shift
            ;;
        -h | --help)
            sed -n '2,16s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *) usage "unknown option $1" ;;
    esac
    shift
done
out=$(realpath -m "${out:-$build/sweep}")

if [[ $do_build == yes ]]; then
    configure_to_run "$build"
    show cmake --build "$build" --parallel >&2
fi
[[ -f $build/programs.txt ]] || usage "$build holds no build"

options=()
if have_gpu; then
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 | tr 'A-Z ' 'a-z-')
else
    name=simulated
    options+=(--simulate)
    echo "simulated on the CPU: counts, no times"
fi
[[ $quick == no ]] || options+=(--repeats 10 --warmup 10)

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/all.jsonl"
passed=0 failed=() skipped=()
while read -r program; do
    # shellcheck disable=SC2053 # the pattern * means every family
    [[ ${program%/*} == $family ]] || continue
    if [[ $name == simulated ]]; then
        echo '' >"$work/sizes"
    else
        "$build/$program" --sizes sweep >"$work/sizes" || echo "--sizes" >"$work/sizes"
        [[ $quick == no ]] || sed -i 2q "$work/sizes"
    fi
    while read -r -a size; do
        rm -f "$work/one.jsonl"
        code=0
        timeout 600 "$build/$program" "${size[@]}" "${options[@]}" --json "$work/one.jsonl" </dev/null \
            >"$work/stdout" 2>"$work/stderr" || code=$?
        cat "$work/stdout" "$work/stderr"
        echo
        [[ ! -f $work/one.jsonl ]] || cat "$work/one.jsonl" >>"$work/all.jsonl"
        if [[ $code == 77 ]]; then
            skipped+=("$program ${size[*]}: $(tail -n 1 "$work/stderr")")
        elif [[ $code == 0 && -s $work/one.jsonl ]]; then
            passed=$((passed + 1))
        else
            failed+=("$program ${size[*]}: exit code $code: $(tail -n 1 "$work/stderr")")
        fi
    done <"$work/sizes"
done <"$build/programs.txt" > >(tee "$work/all.txt")
# The loop's redirection ends with it; give tee its moment.
sleep 0.2

if [[ -s $work/all.jsonl ]]; then
    mv "$work/all.jsonl" "$out/$name.jsonl"
    mv "$work/all.txt" "$out/$name.txt"
    if command -v python3 >/dev/null; then
        python3 "$root/scripts/tables.py" "$out/$name.jsonl"
        python3 "$root/scripts/plot.py" "$out/$name.jsonl" --out "$out" || true
    fi
    echo "records: $out/$name.jsonl"
fi
[[ ${#skipped[@]} == 0 ]] || printf 'skipped: %s\n' "${skipped[@]}"
[[ ${#failed[@]} == 0 ]] || printf 'FAILED: %s\n' "${failed[@]}"
echo "$passed runs passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
[[ ${#failed[@]} == 0 ]] || exit 1
[[ $passed -gt 0 ]] || exit 77
