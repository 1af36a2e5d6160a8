# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Entries of the GPU queue: a script each, whose first comment lines are a header `# KEY: VALUE`. A key may come on
# several lines.

entry_keys=(question kind prediction rule limit value depends)
# By entry and key: `header[gpt2.rule]`, `header[gpt2.of.gpt2_ms]`.
declare -A header=()

# read_header ENTRY FILE: sets header[ENTRY.KEY]. Prints what is wrong, and fails, if an entry cannot be read.
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

# read_predictions ENTRY: sets header[ENTRY.of.FIGURE] to LOW..HIGH for each, and header[ENTRY.figures].
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

# hash_of ENTRY FILE: of the entry, of the sources that it depends on, and of PyTorch if it needs that. Fails if the
# sources have no such files.
hash_of() {
  local entry=$1 file=$2 path all=''
  for path in ${header[$entry.depends]}; do
    all+=$(grep -E "^[0-9a-f]{64}  $(path_pattern "$path")" "$log/sources.txt") || return 1
  done
  [[ " ${header[$entry.needs]} " != *" torch "* ]] || all+=$(torch_version)
  { echo "$all" && cat "$file"; } | sha256sum | cut -c1-12
}

# path_pattern PATH: matches the file, or the folder's files; * stands for any characters.
path_pattern() { sed 's/[].[^$+?(){}|\\]/\\&/g; s/\*/.*/g; s/$/(\/|$)/' <<<"${1%/}"; }

torch_version() { python3 -c 'import importlib.metadata as m; print(m.version("torch"))' 2>/dev/null || echo none; }

# missing_need ENTRY: the first thing that it needs and that is not there: a program of the build, or torch. Nothing if
# all is there.
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
