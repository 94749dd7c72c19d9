#!/usr/bin/env bash
# run_tests.sh [--build DIR] [CMAKE-OPTIONS...]: builds everything, tests included, and runs them. Needs no GPU; where there
# is one, every program also runs on it, at the awkward sizes that its family declares.
#
# Builds for this machine's GPU or, where there is none, for every architecture that the toolkit knows.
# Exit code: 0 all passed; 77 something is missing here.
# shellcheck source=scripts/build.sh
source "$(dirname "$(readlink -f "$0")")/build.sh"

build=$root/build-tests
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
[[ $installed == no ]] || usage "tests are built from the sources; these are installed programs"

set_up "$build" python3
configure "$build" "$@"
build "$build"
code=0
show ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(jobs_at_once)" || code=1
if have_gpu; then
    # 77 is a program that this GPU cannot run at all (Hopper's own): said, and no failure.
    refused=0 right=0
    while read -r program; do
        [[ $program != tests/* ]] || continue
        result=0
        "$root/tests/run_sizes.sh" test "$build/$program" || result=$?
        case $result in
            0) right=$((right + 1)) ;;
            77) refused=$((refused + 1)) ;;
            *) code=1 ;;
        esac
    done <"$build/programs.txt"
    echo "on this machine's GPU (sm_$(tr -d . <<<"$gpus" | sort -u | paste -sd ,)): $right programs right, $refused cannot run on it"
    [[ $right -gt 0 ]] || code=1
else
    echo "no GPU here: everything ran on the host and on the simulator"
fi
exit $code
