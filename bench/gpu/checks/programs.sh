# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# The folders of the programs and of their libraries and data, and functions that run the programs.

# Unpacks the programs, once, in a folder that bench/gpu/collect has made.
unpack() {
  [[ -f $root/programs.tar.xz && ! -d $root/build ]] || return 0
  local into=$root/unpacking part
  rm -rf "$into"
  mkdir "$into"
  tar -C "$into" -xJf "$root/programs.tar.xz" 2>/dev/null ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$root/programs.tar.xz" "$into"
  # The programs come last: if they are there, everything is.
  for part in libraries data build; do
    rm -rf "${root:?}/$part"
    mv "$into/$part" "$root/$part"
  done
  rmdir "$into"
}

data_folder() {
  if [[ -d $root/data ]]; then echo "$root/data"; else echo /usr/share/datasets/fashion-mnist; fi
}

# The folders of the libraries that came with the programs, and of CUDA's libraries if the system does not find them.
library_path() {
  local path=$root/libraries folder
  for folder in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib \
    /usr/local/lib/python3*/*-packages/nvidia/*/lib /usr/lib/python3*/*-packages/nvidia/*/lib; do
    [[ -d $folder ]] && path+=:$folder
  done
  while read -r folder; do [[ -d $folder ]] && path+=:$folder; done < <(nvidia_folders_of_python)
  echo "$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

nvidia_folders_of_python() {
  python3 -c 'import glob, site, sys
for base in site.getsitepackages() + [site.getusersitepackages()] + sys.path:
    for folder in glob.glob(base + "/nvidia/*/lib"):
        print(folder)' 2>/dev/null | sort -u || true
}

# seconds_left: prints the seconds until the limit of this script.
seconds_left() { echo $((limit - SECONDS)); }

# run NAME LIMIT COMMAND...: runs a command whose output goes to a file of that name in the log. Status 124: it exceeded
# the limit, 125: there was no time left to start it, 127: there is no such program.
run() {
  local name=$1 most=$2 left status=0
  shift 2
  left=$(seconds_left)
  printf '$ %s\n' "$*" >"$log/$name.txt"
  if ((left < 5)); then
    echo "run_all has no time left" >>"$log/$name.txt"
    return 125
  fi
  timeout --kill-after=5 "$((most < left ? most : left))" "$@" >>"$log/$name.txt" 2>&1 || status=$?
  echo "status $status" >>"$log/$name.txt"
  return "$status"
}

# ours COMMAND...: runs a command with the libraries of Troupe's programs. Other programs bring their own.
ours() { LD_LIBRARY_PATH=$libraries "$@"; }

# printed NAME: prints the output of a program.
printed() { sed -e '1d' -e '/^status [0-9]*$/d' -e '/^ *$/d' "$log/$1.txt"; }

# said NAME PATTERN: prints the last line of a program's output that matches the pattern, or else the last line.
said() {
  local line
  line=$(printed "$1" | grep -E "$2" | tail -1) || true
  [[ -n $line ]] || line=$(printed "$1" | tail -1)
  echo "${line:0:150}"
}

# reason NAME STATUS: prints in a few words why a program failed.
reason() {
  case $2 in
    124 | 137) echo "took too long" ;;
    125) echo "no time left" ;;
    127) echo "there is no program" ;;
    *) echo "status $2: $(said "$1" error)" ;;
  esac
}

# missing POINT CHECK NAME STATUS: adds a row for a measurement without a result. It is SKIPPED if a program is missing
# or there was not enough time, else FAIL.
missing() {
  local status=FAIL
  if [[ $4 == 125 || $4 == 127 ]] || (($(seconds_left) < 5)) || grep -q "is not available" "$log/$3.txt"; then status=SKIPPED; fi
  row "$1" "$2" "" "$(reason "$3" "$4")" "$status"
}
