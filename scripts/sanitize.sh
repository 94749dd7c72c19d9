#!/usr/bin/env bash
# sanitize.sh [--build DIR] [PROGRAM...]: compute-sanitizer's four tools over the programs (default: all of the build), on
# a GPU: every rung once, at two odd sizes that the family declares. Baselines, whose code is not ours, are left out.
#
# Exit code: 0 clean; 1 something was found; 2 usage; 77 no compute-sanitizer or no GPU, or nothing could run.
# shellcheck source=scripts/build.sh
source "$(dirname "$(readlink -f "$0")")/build.sh"

build=$default_build
case ${1:-} in
    -h | --help)
        help
        exit 0
        ;;
    --build)
        [[ $# -ge 2 ]] || usage "$1 needs a value"
        build=$(realpath -m "$2")
        shift 2
        ;;
esac
[[ -f $build/programs.txt ]] || usage "$build holds no build"
for program in "$@"; do
    grep -qxF "$program" "$build/programs.txt" || usage "$program is not a program of $build"
done
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [[ ! -x $sanitizer ]] || ! have_gpu; then
    echo "sanitize.sh: needs compute-sanitizer and a GPU" >&2
    exit 77
fi
mapfile -t programs < <(if [[ $# -gt 0 ]]; then printf '%s\n' "$@"; else cat "$build/programs.txt"; fi)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0
for program in "${programs[@]}"; do
    mapfile -t variants < <("$build/$program" --list | awk '$2 != "baseline" {print $1}')
    # The last of the test sizes are those with the most of everything: several blocks, all of them ragged.
    mapfile -t sizes < <("$build/$program" --sizes test | tail -n 2)
    for size in "${sizes[@]}"; do
        for tool in memcheck racecheck initcheck synccheck; do
            code=0
            # shellcheck disable=SC2086 # a size is several words
            # API errors are the programs' own business: they check every call, and some ask for what must be refused.
            timeout 300 "$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 99 "$build/$program" $size --profile \
                --variant "${variants[@]}" >"$log" 2>&1 || code=$?
            # The summary is asked for as well: a tool that never started finds nothing either.
            if [[ $code == 77 ]] || { [[ $code == 0 ]] && grep -qE ' skipped$' "$log"; }; then
                skipped=$((skipped + 1))
                echo "$tool $program $size: $(grep -E ': skipped: |nothing could run' "$log" | head -n 1)"
            elif [[ $code == 0 ]] && grep -qE 'SUMMARY: 0 (errors|hazards)' "$log"; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                echo "$tool $program $size: exit code $code"
                grep -E '=========|WRONG' "$log" | head -n 20
            fi
        done
    done
done
echo "compute-sanitizer: $passed passed, $failed failed, $skipped with something skipped"
[[ $failed == 0 ]] || exit 1
[[ $passed -gt 0 ]] || exit 77
