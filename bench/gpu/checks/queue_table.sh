# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# The table of the GPU queue: a row for each figure of each entry, or one row that says why there is none.

queue_columns=(entry kind commit hash card figure value unit prediction predicted rule verdict seconds note)

# tables_of_card: prints the tables of earlier runs on this card, the oldest first.
tables_of_card() { find "$results" -maxdepth 1 -name "*-$card.tsv" ! -path "$results/$table" 2>/dev/null | sort; }

# last_result ENTRY: prints `HASH VERDICT TABLE` of the entry's last run on this card. Fails if there is none.
last_result() {
  local tables
  mapfile -t tables < <(tables_of_card)
  ((${#tables[@]} > 0)) || return 1
  awk -F '\t' -v entry="$1" '
    $1 == entry && $12 ~ /^(PASS|FAIL|INFO|UNDECIDED|ERROR)$/ { n = split(FILENAME, path, "/"); last = $4 " " $12 " " path[n] }
    END { print last; exit last == "" }' "${tables[@]}"
}

# figure_value FIGURE: prints the figure of this run, or of the last run on this card. Fails if there is none.
figure_value() {
  local value tables
  value=$(cat "$log"/*.figures 2>/dev/null | awk -v figure="$1" '$1 == figure { value = $2 } END { print value }')
  if [[ -z $value ]]; then
    mapfile -t tables < <(tables_of_card)
    ((${#tables[@]} == 0)) ||
      value=$(awk -F '\t' -v figure="$1" '$6 == figure { value = $7 } END { print value }' "${tables[@]}")
  fi
  [[ -n $value ]] && echo "$value"
}

# decide RULE: prints PASS, FAIL, INFO (the rule is -), UNDECIDED (a figure of the rule has no value) or ERROR, and the
# reason. A rule is an expression of awk with names of figures of this entry or of others.
decide() {
  local rule=$1 name value status=0
  [[ $rule != - ]] || { echo "INFO" && return; }
  while read -r name; do
    value=$(figure_value "$name") || { echo "UNDECIDED $name has no value" && return; }
    [[ $value =~ ^-?[0-9.]+(e[-+]?[0-9]+)?$ ]] || { echo "ERROR $name is $value" && return; }
    rule=$(sed -E "s/\\b$name\\b/($value)/g" <<<"$rule")
  done < <(grep -oP '(?<![\w.])[a-zA-Z_]\w*' <<<"$1" | sort -u)
  awk "BEGIN { exit !($rule) }" 2>/dev/null || status=$?
  case $status in
    0) echo "PASS" ;;
    1) echo "FAIL" ;;
    *) echo "ERROR the rule cannot be read" ;;
  esac
}

# place VALUE LOW..HIGH: prints whether a value is below, in or above the range.
place() {
  [[ -n $2 ]] || { echo - && return; }
  awk -v value="$1" -v low="${2%..*}" -v high="${2#*..}" \
    'BEGIN { print (value + 0 < low + 0 ? "below" : (value + 0 > high + 0 ? "above" : "inside")) }'
}

# queue_row ENTRY FIGURE VALUE UNIT VERDICT NOTE: prints a row of the table.
queue_row() {
  local entry=$1 range=${header[$1.of.$2]:-}
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$entry" "${header[$entry.kind]:--}" "$commit" \
    "${entry_hash[$entry]:--}" "$card" "$2" "$3" "$4" "${range:--}" "$(place "$3" "$range")" "${header[$entry.rule]:--}" \
    "$5" "${entry_seconds[$entry]:--}" "${6:--}"
}

# rows_of ENTRY: prints the rows of an entry in its current state.
rows_of() {
  local entry=$1 verdict=${entry_state[$1]} note=${entry_note[$1]:-} figure value unit
  if [[ $verdict == RAN ]]; then read -r verdict note < <(decide "${header[$entry.rule]}"); fi
  if [[ ! -s $log/$entry.figures ]]; then
    queue_row "$entry" - - - "$verdict" "$note"
    return
  fi
  while read -r figure value unit; do
    queue_row "$entry" "$figure" "$value" "$unit" "$verdict" "$note"
  done <"$log/$entry.figures"
}

# write_table: writes the entries that have a state, in the order in which they were considered. It is written after
# each entry, so that the table exists even if the script is killed.
write_table() {
  local entry
  {
    (IFS=$'\t' && echo "${queue_columns[*]}")
    for entry in "${queue_order[@]}"; do [[ -z ${entry_state[$entry]:-} ]] || rows_of "$entry"; done
  } >"$log/table.tsv"
  mkdir -p "$results"
  install -m 644 "$log/table.tsv" "$results/.$table" && mv "$results/.$table" "$results/$table"
  [[ ! -f $TROUPE_CUDA_CHOICES ]] || install -m 644 "$TROUPE_CUDA_CHOICES" "$results/choices"
  [[ -z $copy ]] || copy_results
}

copy_results() {
  mkdir -p "$copy"
  cp "$results/$table" "$copy"
  [[ ! -f $results/choices ]] || cp "$results/choices" "$copy"
  tar -C "$(dirname "$log")" -czf "$copy/log.tar.gz" "$(basename "$log")"
}

print_queue() {
  awk -F '\t' '
    function line(a, b, c, d, e, f) { printf "%-24s | %-34s | %-28s | %-18s | %-9s | %s\n", a, b, c, d, e, f }
    NR == 1 { line("entry", "figure", "value", "prediction", "verdict", "note"); next }
    { line($1, $6, $7 == "-" ? "-" : $7 " " $8, $9 == "-" ? "-" : $9 " " $10, $12, $14) }
    !seen[$1]++ { ++count[$12] }
    END { text = ""; split("PASS FAIL ERROR INFO UNDECIDED UNCHANGED SKIPPED", order, " ")
          for (i = 1; i <= 7; ++i) text = text (i > 1 ? ", " : "") count[order[i]] + 0 " " order[i]
          print text }' "$log/table.tsv"
}
