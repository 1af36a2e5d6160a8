# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Point 3: memory of GPUs.

sanitizer() {
  local place
  command -v compute-sanitizer && return
  for place in /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    [[ -x $place ]] && echo "$place" && return
  done
}

# first NAME ROWS ROW_BYTES HEADER FOLDER: copies the first samples of a file of the data set into a file in FOLDER.
first() {
  { printf '%b' "$4" && zcat "$data/$1" 2>/dev/null | tail -c "+$((${#4} / 4 + 1))" | head -c $(($2 * $3)); } |
    gzip >"$5/$1"
}

# little_data: prints a folder with 1,200 images for training and 100 for evaluation. Images take long under a tool.
little_data() {
  local folder=$log/little_data file name rows digits
  mkdir -p "$folder"
  # The headers are big-endian: the kind of the file, the number of rows, and the size of an image.
  for file in "train 1200 \x04\xb0" "t10k 100 \x00\x64"; do
    read -r name rows digits <<<"$file"
    first "$name-images-idx3-ubyte.gz" "$rows" 784 "\x00\x00\x08\x03\x00\x00$digits\x00\x00\x00\x1c\x00\x00\x00\x1c" "$folder"
    first "$name-labels-idx1-ubyte.gz" "$rows" 1 "\x00\x00\x08\x01\x00\x00$digits" "$folder"
  done
  echo "$folder"
}

# check_tool TOOL MODEL [ours]: runs a few steps under a tool of compute-sanitizer. With `ours`, the tool checks
# Troupe's kernels only.
check_tool() {
  local tool=$1 model=$2 name="$1_$2${3:+_$3}" what="$1, $2${3:+, our kernels}" status=0 program options=()
  program=$(sanitizer) || true
  if [[ -z $program ]]; then
    row 3 "$what" "0 errors" "there is no compute-sanitizer" SKIPPED
    return
  fi
  # Measurements under a tool must not become choices of other runs. CUDA's own libraries make calls that may be
  # refused.
  [[ $tool == memcheck ]] && options=(--report-api-errors no)
  [[ -n ${3:-} ]] && options+=(--kernel-name kns=troupe)
  TROUPE_CUDA_CHOICES=first ours run "$name" 75 "$program" --tool "$tool" "${options[@]}" --error-exitcode 9 \
    "$build/examples/fashion_mnist" --data "$(little_data)" --strategy one_device --devices cuda:0 --model "$model" \
    --epochs 1 --batch-size 240 || status=$?
  if grep -q 'Device not supported' "$log/$name.txt"; then
    row 3 "$what" "0 errors" "the tool does not support this device" SKIPPED
  elif ((status == 124 || status == 137 || status == 125)) || grep -q '\[watchdog\]' "$log/$name.txt"; then
    # Under the tool a step may take longer than the limit of a run.
    row 3 "$what" "0 errors" "$(reason "$name" "$status")" SKIPPED
  else
    verdict 3 "$what" "0 errors" "$(said "$name" 'ERROR SUMMARY|RACECHECK SUMMARY')" test "$status" == 0
  fi
}

check_growth() {
  local model=$1 status=0
  ours run "growth_$model" 60 "$build/bench/gpu_bench" memory-growth --data "$data" --model "$model" --steps 10000 ||
    status=$?
  if grep -q 'MiB of the GPU in use' "$log/growth_$model.txt"; then
    verdict 3 "$model, memory after 10,000 steps" "no growth" "$(said "growth_$model" 'MiB of the GPU' | sed 's/.*steps: //')" \
      test "$status" == 0
  else
    missing 3 "$model, memory after 10,000 steps" "growth_$model" "$status"
  fi
}

check_point_3() {
  check_growth mlp
  check_growth cnn
  check_tool memcheck mlp
  check_tool memcheck cnn
  check_tool racecheck mlp ours
  check_tool racecheck cnn ours
  # Checks libraries, too, whose hazards Troupe cannot fix. That may take longer than the time that is left.
  check_tool racecheck mlp
  check_tool racecheck cnn
}
