#!/usr/bin/env bash
# run_tests.sh [CMAKE-OPTIONS...]: builds everything, tests included, and runs them. Needs no GPU.
#
# Builds for this machine's GPU or, where there is none, for every architecture that the toolkit knows.
# shellcheck source=scripts/build.sh
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

build=$root/build-tests
configure "$build" "$@"
show cmake --build "$build" --parallel "$(nproc)"
show ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)"
