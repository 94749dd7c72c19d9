#!/usr/bin/env bash
# run_all.sh [--quick] [--family F] [--resume] [--out DIR] [--build DIR] [--no-build]: the whole sweep.
#
# Builds all programs and runs each, in a process of its own, at each size that its family declares (--sizes sweep):
# a fault in one does not end the others. Writes DIR/<gpu>.jsonl (one record a line), DIR/<gpu>.txt (all tables), summary
# tables, and plots where matplotlib is found. Without a GPU the programs run on the simulator, once each at its small
# default size and several at once: checks and counts, no times.
#
# Ctrl-C ends it at once and keeps what was measured.
#
#   --quick      10 samples, and the two smallest sizes
#   --family F   only this family: its records are renewed, those of the others stay
#   --resume     goes on where an earlier sweep was ended; what failed runs again
#   --out DIR    default: sweep, in the build directory
#   --build DIR  another build directory; --no-build takes what is in it
#
# Exit code: 0 all ran right; 1 something failed; 2 usage; 77 nothing could run; 130, 143 interrupted.
# shellcheck source=scripts/build.sh
source "$(dirname "$(readlink -f "$0")")/build.sh"

quick=no family='' resume=no out='' build=$default_build do_build=yes
while [[ $# -gt 0 ]]; do
    case $1 in
        --quick) quick=yes ;;
        --resume) resume=yes ;;
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
            help
            exit 0
            ;;
        *) usage "unknown option $1" ;;
    esac
    shift
done
out=$(realpath -m "${out:-$build/sweep}")

if [[ $do_build == yes && $installed == no ]]; then
    configure_to_run "$build"
    build "$build"
fi
[[ -f $build/programs.txt ]] || usage "$build holds no build"
mapfile -t programs < <(grep -n "^${family:-[^/]*}/" "$build/programs.txt")
if [[ -n $family && ${#programs[@]} == 0 ]]; then
    usage "--family $family: the families are $(cut -d / -f 1 "$build/programs.txt" | uniq | paste -sd ' ')"
fi

options=() at_once=1
if ! have_gpu; then
    options+=(--simulate)
    at_once=$(jobs_at_once)
    echo "simulated on the CPU: counts, no times"
fi
[[ $quick == no ]] || options+=(--repeats 10 --warmup 10)

# Each run leaves three files in $runs: 012.reduce.shared.03 .jsonl, .txt and, when it is over, .code.
runs=$out/runs
[[ $resume == yes ]] || rm -rf "${runs:?}/"*".${family:-*}."*
mkdir -p "$runs" || usage "--out $out cannot be written"
names=() commands=() failed=() skipped=()
for program in "${programs[@]}"; do
    number=${program%%:*} program=${program#*:}
    sizes=('')
    if have_gpu; then
        mapfile -t sizes < <("$build/$program" --sizes sweep)
        [[ ${#sizes[@]} -gt 0 ]] || failed+=("$program: declares no sizes")
        [[ $quick == no ]] || sizes=("${sizes[@]:0:2}")
    fi
    for index in "${!sizes[@]}"; do
        names+=("$(printf '%03d.%s.%02d' "$number" "${program/\//.}" "$index")")
        commands+=("$program ${sizes[index]}")
    done
done
total=${#names[@]}

# run_one NAME PROGRAM SIZE...
run_one() {
    local name=$runs/$1 program=$2 code=0
    shift 2
    rm -f "$name".*
    trap 'kill $(jobs -p) 2>/dev/null; wait; exit 143' TERM
    timeout 600 "$build/$program" "$@" "${options[@]}" --json "$name.jsonl" </dev/null >"$name.out" 2>"$name.err" &
    wait $! || code=$?
    cat "$name.out" "$name.err" >"$name.txt"
    tail -n 1 "$name.err" >"$name.why"
    rm "$name.out" "$name.err"
    echo $code >"$name.code"
}

# progress: how far it is, and how long it may still take; on a terminal only.
begin=$SECONDS
progress() {
    [[ -t 2 && $ran -gt 0 ]] || return 0
    local left=$(((SECONDS - begin) * (total - finished) / ran))
    printf '[%d of %d, %d:%02d left]\n' "$finished" "$total" $((left / 60)) $((left % 60)) >&2
}

# files: renews <gpu>.jsonl and .txt from what has run. The GPU is the one in the records themselves. Records of programs
# that have not run in this sweep stay; those of a family's programs that are no more go with the whole sweep.
files() {
    local name gpu
    rm -f "$out"/*.new
    for name in "$runs"/*.jsonl; do
        [[ -s $name ]] || continue
        gpu=$(head -n 1 "$name" | sed -n 's/.*"gpu": *"\([^"]*\)".*/\1/p' | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//')
        ! grep -q '"simulated": *true' <(head -n 1 "$name") || gpu=simulated
        cat "$name" >>"$out/${gpu:-unknown}.jsonl.new"
        cat "${name%.jsonl}.txt" >>"$out/${gpu:-unknown}.txt.new"
        sed -n '1s/.*\("family": *"[^"]*", *"program": *"[^"]*"\).*/\1/p' "$name" >>"$out/${gpu:-unknown}.programs.new"
    done
    for name in "$out"/*.jsonl.new; do
        [[ -f $name ]] || continue
        gpu=${name%.jsonl.new}
        if [[ -f $gpu.jsonl && ($1 == part || -n $family) ]]; then
            grep -vFf "$gpu.programs.new" "$gpu.jsonl" >"$gpu.old.new" || true
            cat "$gpu.old.new" >>"$name"
            rm "$gpu.old.new"
        fi
        rm "$gpu.programs.new"
        mv "$name" "$gpu.jsonl"
        mv "$gpu.txt.new" "$gpu.txt"
        written+=("$gpu.jsonl")
    done
}

# summary: what passed, what did not, and why.
summary() {
    local index code name
    passed=0 written=()
    for index in "${!names[@]}"; do
        name=$runs/${names[index]}
        [[ -f $name.code ]] || continue
        code=$(<"$name.code")
        case $code in
            0)
                if [[ -s $name.jsonl ]]; then
                    passed=$((passed + 1))
                else
                    failed+=("${commands[index]}: wrote no records")
                fi
                ;;
            77) skipped+=("${commands[index]}: $(<"$name.why")") ;;
            124) failed+=("${commands[index]}: did not end in 600 s") ;;
            *) failed+=("${commands[index]}: exit code $code: $(<"$name.why")") ;;
        esac
    done
    files "$1"
    [[ ${#written[@]} == 0 ]] || printf 'records: %s\n' "${written[@]}"
    [[ ${#skipped[@]} == 0 ]] || printf 'skipped: %s\n' "${skipped[@]}"
    [[ ${#failed[@]} == 0 ]] || printf 'FAILED: %s\n' "${failed[@]}"
    echo "$passed runs passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
}

# interrupted CODE: the runs that are under way end without a .code, and count for nothing.
interrupted() {
    trap '' INT TERM
    local pid
    for pid in "${!running[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    for name in "${running[@]}"; do
        rm -f "$runs/$name".*
    done
    summary part
    echo "interrupted: $finished of $total runs; --resume goes on"
    exit "$1"
}

declare -A running=()
finished=0 ran=0
# reap: waits for a run to end, and shows it.
reap() {
    local pid='' name
    wait -n -p pid "${!running[@]}" || true
    name=${running[$pid]}
    unset "running[$pid]"
    cat "$runs/$name.txt"
    echo
    finished=$((finished + 1)) ran=$((ran + 1))
    progress
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
for index in "${!names[@]}"; do
    name=${names[index]}
    read -r -a command <<<"${commands[index]}"
    if [[ $runs/$name.code -nt $build/${command[0]} && $(<"$runs/$name.code") == @(0|77) ]]; then
        finished=$((finished + 1))
        continue
    fi
    [[ ${#running[@]} -lt $at_once ]] || reap
    run_one "$name" "${command[@]}" &
    running[$!]=$name
done
while [[ ${#running[@]} -gt 0 ]]; do reap; done
trap - INT TERM

# The tables come before the summary, so that what failed is the last that is seen.
tables=$(summary all)
if command -v python3 >/dev/null; then
    while read -r file; do
        python3 "$root/scripts/tables.py" "$file" || true
        python3 "$root/scripts/plot.py" "$file" --out "$out" || true
    done < <(sed -n 's/^records: //p' <<<"$tables")
fi
echo "$tables"
! grep -q '^FAILED: ' <<<"$tables" || exit 1
grep -q '^[1-9][0-9]* runs passed' <<<"$tables" || exit 77
