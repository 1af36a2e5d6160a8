#!/usr/bin/env bash
# entry.sh FILE: runs an entry of the GPU queue with the variables that bench/gpu/run_all has set, and these functions.
set -euo pipefail
export LC_ALL=C

here=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
# Used by entries and by the checks of run_all:
# shellcheck disable=SC2034
root=$(readlink -f "$here/../..") log=$QUEUE_LOG limit=$QUEUE_LIMIT build=$QUEUE_BUILD data=$QUEUE_DATA
# shellcheck disable=SC2034
libraries=$QUEUE_LIBRARIES
mkdir -p "$log"
rows=$log/rows.tsv
: >"$rows"
for part in table programs machine training results memory ranks speed bad_input; do
  # shellcheck source=/dev/null
  source "$here/checks/$part.sh"
done

# figure NAME VALUE UNIT: prints a figure for the table of the queue.
figure() { echo "figure $1 $2 $3"; }

# gpu_bench ARGUMENTS...: runs Troupe's measurements. With --figures NAME they print figures.
gpu_bench() { ours "$build/bench/gpu_bench" "$@"; }

# checks NAME COMMAND...: runs a command that adds rows, as the points of run_all do, and prints figures that count the
# rows.
checks() {
  local name=$1 status
  shift
  "$@" || row 0 "$name" "" "the script failed" FAIL
  print_table
  for status in passed:PASS failed:FAIL skipped:SKIPPED; do
    figure "${name}_${status%:*}" "$(grep -c $'\t'"${status#*:}\$" "$rows" || true)" checks
  done
}

# shellcheck source=/dev/null
source "$1"
