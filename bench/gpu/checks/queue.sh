# shellcheck shell=bash disable=SC2034,SC2154  # run_all sets what the parts share
# The GPU queue: checks the correctness of everything that has changed since the last run on this card, then runs
# entries by their value while there is time.

queue_entries=() queue_order=()
# By entry: PENDING, RAN, or the verdict of an entry that did not run; the reason; seconds; the hash of its
# dependencies.
declare -A entry_state=() entry_note=() entry_seconds=() entry_hash=()

# end_entry ENTRY VERDICT NOTE: records and prints how an entry has ended.
end_entry() {
  entry_state[$1]=$2 entry_note[$1]=$3
  printf '%-9s %s: %s\n' "$2" "$1" "$3" >&2
}

read_entries() {
  local file entry
  hashes_of_sources >"$log/sources.txt"
  rm -f "$log"/*.figures
  for file in "$entries"/*.sh; do
    [[ -f $file ]] || continue
    entry=$(basename "$file" .sh)
    [[ -z $only || $entry =~ $only ]] || continue
    queue_entries+=("$entry")
    entry_state[$entry]=PENDING
    if ! read_header "$entry" "$file" >"$log/header.txt"; then
      end_entry "$entry" ERROR "$(<"$log/header.txt")"
    elif ! entry_hash[$entry]=$(hash_of "$entry" "$file"); then
      end_entry "$entry" ERROR "the sources lack a file that it depends on: ${header[$entry.depends]}"
    fi
  done
}

# leave_out: ends the entries that need not run, or cannot.
leave_out() {
  local entry need hash verdict where
  for entry in "${queue_entries[@]}"; do
    [[ ${entry_state[$entry]} == PENDING ]] || continue
    need=$(missing_need "$entry")
    if [[ -n ${header[$entry.card]} && ! $card =~ ${header[$entry.card]} ]]; then
      end_entry "$entry" SKIPPED "needs a card ${header[$entry.card]}"
    elif [[ -n $need ]]; then
      end_entry "$entry" SKIPPED "there is no $need"
    elif [[ $again == no ]] && read -r hash verdict where < <(last_result "$entry") &&
      [[ $hash == "${entry_hash[$entry]}" ]] && is_final "${header[$entry.kind]}" "$verdict"; then
      end_entry "$entry" UNCHANGED "as in $where: $verdict"
    fi
  done
}

# is_final KIND VERDICT: whether the entry need not run again. An ERROR may disappear by a change that no hash shows.
is_final() { [[ $2 == PASS || ($1 == speed && $2 != ERROR) ]]; }

# in_order: prints the entries, correctness before speed, then by descending value.
in_order() {
  local entry
  for entry in "${queue_entries[@]}"; do
    printf '%s\t%s\t%s\n' "${header[$entry.kind]:--}" "${header[$entry.value]:-0}" "$entry"
  done | sort -t $'\t' -k1,1 -k2,2nr -k3,3 | cut -f3
}

# run_entry ENTRY: runs an entry. Its figures go to the log.
run_entry() {
  local entry=$1 status=0 begin=$SECONDS most=${header[$1.limit]}
  if ((most > $(seconds_left))); then
    end_entry "$entry" SKIPPED "needs $most s, $(seconds_left) s are left"
    return
  fi
  QUEUE_LOG=$log/$entry QUEUE_LIMIT=$most QUEUE_BUILD=$build QUEUE_DATA=$data QUEUE_LIBRARIES=$libraries \
    run "$entry" "$most" bash "$here/checks/entry.sh" "$entries/$entry.sh" || status=$?
  entry_seconds[$entry]=$((SECONDS - begin))
  # A figure consists of a name, a value and a unit.
  printed "$entry" | grep -E '^figure [a-zA-Z_][a-zA-Z_0-9]* [^ ]+ [^ ]+$' | cut -d ' ' -f 2- >"$log/$entry.figures" || true
  judge_end "$entry" "$status"
}

# judge_end ENTRY STATUS: ends an entry by its status and its figures.
judge_end() {
  local entry=$1 lacking='' figure
  for figure in ${header[$entry.figures]}; do
    grep -q "^$figure " "$log/$entry.figures" || lacking+=" $figure"
  done
  if (($2 != 0)); then
    end_entry "$entry" ERROR "$(reason "$entry" "$2" | tr '\t' ' ')"
  elif [[ ! -s $log/$entry.figures ]]; then
    end_entry "$entry" ERROR "it printed no figure"
  elif [[ -n $lacking ]]; then
    end_entry "$entry" ERROR "it did not print$lacking"
  else
    end_entry "$entry" RAN "$(paste -sd ' ' "$log/$entry.figures" | cut -c1-120)"
  fi
}

# skip_queue REASON: ends all pending entries as SKIPPED.
skip_queue() {
  local entry
  for entry in "${queue_entries[@]}"; do
    [[ ${entry_state[$entry]} != PENDING ]] || end_entry "$entry" SKIPPED "$1"
  done
}

name_of_card() {
  local name
  name=$(gpu_name | sed 's/^NVIDIA //; s/[^A-Za-z0-9]/_/g')
  echo "${name:-emulated}"
}

# name_of_table: prints the name of this moment, or of the next moment that has no table.
name_of_table() {
  local moment name
  moment=$(date +%s)
  while name=$(date -u -d "@$moment" +%Y-%m-%dT%H%M%S)-$card.tsv && [[ -e $results/$name ]]; do moment=$((moment + 1)); done
  echo "$name"
}

# run_queue: fails if an entry for correctness fails, or any entry ends with an ERROR.
run_queue() {
  local why='' entry
  commit=$(commit_of_sources)
  if [[ -z $card ]]; then why=$(why_no_gpu) || card=$(name_of_card); fi
  if [[ -z $results ]]; then
    # Only measurements of a real card are to be committed.
    results=$log/results
    [[ -n $why || -z $(gpu_name) ]] || results=$root/bench/gpu/results
  fi
  card=${card:-none} table=$(name_of_table)
  if [[ -f $results/choices && $TROUPE_CUDA_CHOICES == */* && ! -f $TROUPE_CUDA_CHOICES ]]; then
    cp "$results/choices" "$TROUPE_CUDA_CHOICES"
  fi
  read_entries
  mapfile -t queue_order < <(in_order)
  if [[ -n $why ]]; then skip_queue "$why"; else leave_out; fi
  write_table
  for entry in "${queue_order[@]}"; do
    [[ ${entry_state[$entry]} == PENDING ]] || continue
    run_entry "$entry"
    write_table
  done
  print_queue
  echo "table: $results/$table"
  echo "log: $log"
  ! grep -qE $'\tERROR\t' "$log/table.tsv" && ! grep -qE $'^[^\t]*\tcorrectness\t.*\tFAIL\t' "$log/table.tsv"
}
