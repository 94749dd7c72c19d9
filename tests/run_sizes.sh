#!/usr/bin/env bash
# run_sizes.sh WHICH PROGRAM [OPTIONS...]: runs every variant of a program once, checked, at each of its sizes of the
# kind WHICH (test: awkward and small; large: only a GPU can hold them). OPTIONS go to the program (--simulate).
#
# A refusal (77) counts as one where the family itself gives the reason for it (a variant's own "nothing could run here"),
# and for large sizes where memory does not suffice; any other is a failure.
#
# Exit code: 0 at least one size was right, the others too or refused; 77 all were refused; 2 usage; 1 otherwise.
set -u
which=${1:-} program=${2:-}
if [[ ! $which =~ ^(sweep|test|large)$ || ! -x $program ]]; then
    echo "run_sizes.sh: ${program:-no program} at sizes of the kind '$which': see the top of the script" >&2
    exit 2
fi
shift 2
# Under the simulator nothing is timed, and the whole proof costs little; on a GPU a launch each is enough.
once=(--profile)
[[ " $* " != *" --simulate "* ]] || once=()
right=0 refused=0 wrong=0 empty=0
mapfile -t sizes < <("$program" --sizes "$which")
for size in "${sizes[@]}"; do
    # shellcheck disable=SC2086 # a size is several words
    output=$("$program" $size "${once[@]}" "$@" 2>&1)
    code=$?
    if [[ $code == 0 && $output == *'nothing to do: '* ]]; then
        empty=$((empty + 1))
    elif [[ $code == 0 ]]; then
        right=$((right + 1))
    elif [[ $code == 77 ]] && { [[ $which == large ]] || [[ $output == *': nothing could run here: '* && $output != *' asked, '* && $output != *' needed, '* ]]; }; then
        refused=$((refused + 1))
    else
        wrong=$((wrong + 1))
        printf '%s %s: exit code %d\n%s\n' "$program" "$size" "$code" "$output"
    fi
done
echo "$program: $right sizes right, $wrong wrong, $refused refused, $empty with nothing to do"
[[ $wrong == 0 ]] || exit 1
[[ $right == 0 ]] || exit 0
[[ $refused == 0 ]] || exit 77
exit 1
