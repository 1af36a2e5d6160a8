# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# The table of results.

# row POINT CHECK REQUIRED MEASURED STATUS: adds a row. STATUS is PASS, FAIL, SKIPPED, or INFO if nothing is required.
row() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "${3:--}" "$(tr '\t' ' ' <<<"${4:--}")" "$5" >>"$rows"
  printf '%s  %-7s %s: %s\n' "$1" "$5" "$2" "${4:--}" >&2
}

# verdict POINT CHECK REQUIRED MEASURED COMMAND...: adds a row that passes if the command succeeds.
verdict() {
  local status=FAIL
  "${@:5}" && status=PASS
  row "$1" "$2" "$3" "$4" "$status"
}

# holds EXPRESSION: whether an expression of numbers holds, by awk. Fails for `nan`, `inf` and anything that is not a
# number.
holds() { [[ ! $1 =~ (^|[^a-z])(nan|inf)([^a-z]|$) ]] && awk "BEGIN { exit !($1) }" 2>/dev/null; }

print_table() {
  sort -s -t $'\t' -k1,1n "$rows" | awk -F '\t' '
    function line(a, b, c, d, e) { printf "%-5s | %-46s | %-24s | %-58s | %s\n", a, b, c, d, e }
    BEGIN { line("point", "check", "required", "measured", "status") }
    { line($1, $2, $3, $4, $5); ++count[$5] }
    END { printf "%d passed, %d failed, %d skipped, %d without a requirement\n",
          count["PASS"], count["FAIL"], count["SKIPPED"], count["INFO"] }'
}
