# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# The entries of the GPU queue: one script each, whose first comment lines are a header `# KEY: VALUE`. A key may have
# several lines.

entry_keys=(question kind prediction rule limit value depends)
# By entry and key: `header[gpt2.rule]`, `header[gpt2.of.gpt2_ms]`.
declare -A header=()

# read_header ENTRY FILE: sets header[ENTRY.KEY]. Fails and prints the reason if the header is invalid.
read_header() {
  local entry=$1 file=$2 key
  for key in "${entry_keys[@]}" needs card; do
    header[$entry.$key]=$(sed -n "/^#/!q; s/^# $key: *//p" "$file" | paste -sd ' ')
  done
  for key in "${entry_keys[@]}"; do
    [[ -n ${header[$entry.$key]} ]] || { echo "the header has no $key" && return 1; }
  done
  for key in limit value; do
    [[ ${header[$entry.$key]} =~ ^[0-9]+$ ]] || { echo "$key is no whole number" && return 1; }
  done
  [[ ${header[$entry.kind]} =~ ^(correctness|speed)$ ]] || { echo "kind is neither correctness nor speed" && return 1; }
  read_predictions "$entry"
}

# read_predictions ENTRY: sets header[ENTRY.of.FIGURE] to LOW..HIGH for each figure, and header[ENTRY.figures].
read_predictions() {
  local items item pattern='^ *([a-zA-Z_][a-zA-Z_0-9]*) (-?[0-9.]+\.\.-?[0-9.]+) *$'
  IFS=, read -r -a items <<<"${header[$1.prediction]}"
  header[$1.figures]=''
  for item in "${items[@]}"; do
    [[ $item =~ $pattern ]] || { echo "prediction '$item' is not FIGURE LOW..HIGH" && return 1; }
    header[$1.of.${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
    header[$1.figures]+=" ${BASH_REMATCH[1]}"
  done
}

# hash_of ENTRY FILE: prints a hash of the entry, of the sources that it depends on, and of PyTorch if it needs that.
# Fails if a source is missing.
hash_of() {
  local entry=$1 file=$2 path all=''
  for path in ${header[$entry.depends]}; do
    all+=$(grep -E "^[0-9a-f]{64}  $(path_pattern "$path")" "$log/sources.txt") || return 1
  done
  [[ " ${header[$entry.needs]} " != *" torch "* ]] || all+=$(torch_version)
  { echo "$all" && cat "$file"; } | sha256sum | cut -c1-12
}

# path_pattern PATH: prints a pattern for the file, or for the files of the folder. * stands for any characters.
path_pattern() { sed 's/[].[^$+?(){}|\\]/\\&/g; s/\*/.*/g; s/$/(\/|$)/' <<<"${1%/}"; }

torch_version() { python3 -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null || echo none; }

# missing_need ENTRY: prints the first missing thing that the entry needs: a program of the build, or torch. Prints
# nothing if all are there.
missing_need() {
  local need
  for need in ${header[$1.needs]}; do
    if [[ $need == torch ]]; then
      [[ $(torch_version) != none ]] || { echo "PyTorch" && return; }
    elif [[ ! -x $build/$need ]]; then
      echo "$need" && return
    fi
  done
}
