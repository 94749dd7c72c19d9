#!/usr/bin/env bash
# run_sizes.sh WHICH PROGRAM [OPTIONS...]: runs every variant of a program once, checked, at each of its sizes of the
# kind WHICH (test: awkward and small; large: only a GPU can hold them). OPTIONS go to the program (--simulate).
#
# Exit code: 0 where every size was right or refused with 77, and at least one was right; 1 otherwise.
set -u
which=$1 program=$2
shift 2
right=0 refused=0 wrong=0
mapfile -t sizes < <("$program" --sizes "$which")
for size in "${sizes[@]}"; do
    # shellcheck disable=SC2086 # a size is several words
    output=$("$program" $size --profile "$@" 2>&1)
    code=$?
    case $code in
        0) right=$((right + 1)) ;;
        77) refused=$((refused + 1)) ;;
        *)
            wrong=$((wrong + 1))
            printf '%s %s: exit code %d\n%s\n' "$program" "$size" "$code" "$output"
            ;;
    esac
done
echo "$program: $right sizes right, $wrong wrong, $refused refused"
[[ $wrong == 0 && $right -gt 0 ]]
