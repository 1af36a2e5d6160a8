# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Point 5: speed, beside PyTorch if it is installed.

# Adds a row with a verdict on an H200, for which the figures hold. On another GPU the row only shows the value.
judged() {
  if [[ $(gpu_name) == *H200* ]]; then verdict "$@"; else row "$1" "$2" "$3 (H200)" "$4" INFO; fi
}

# check_step MODEL BATCH PRECISION MOST OURS EAGER COMPILED GRAPH: checks microseconds. MOST is the limit for OURS, or
# -.
check_step() {
  local what="$1, batch $2, $3" ours=$5 best
  if ! holds "$ours > 0"; then
    row 5 "$what" "" "not measured: $ours" "$([[ $ours == *"not available"* ]] && echo SKIPPED || echo FAIL)"
    return
  fi
  if [[ $4 == - ]]; then
    row 5 "$what, us a step" "" "$ours" INFO
  else
    judged 5 "$what, us a step" "<= $4" "$ours" holds "$ours <= $4"
  fi
  best=$(printf '%s\n' "${@:6}" | grep -E '^[0-9.]+$' | sort -n | head -1) || true
  [[ "$6 $7 $8" != "- - -" ]] || return 0
  if [[ -z $best ]]; then
    row 5 "$what, beside PyTorch's best" "< 1" "eager $6, compiled $7, CUDA graph $8" SKIPPED
    return
  fi
  verdict 5 "$what, beside PyTorch's best" "< 1" \
    "$(awk "BEGIN { printf \"%.2f\", $ours / $best }") (eager $6, compiled $7, CUDA graph $8 us)" holds "$ours < $best"
}

# model:batch:precision and the limit of a step in microseconds. PyTorch is compiled for the cases that have a limit.
step_cases=(mlp:128:tf32=40 mlp:4096:tf32=100 cnn:512:bfloat16=450 cnn:4096:bfloat16=2000
  cnn:512:tf32=- cnn:4096:tf32=- mlp:128:float32=- mlp:4096:float32=-)

compare_steps() {
  local case figures status=0 seconds flags=()
  : >"$log/steps.tsv"
  for case in "${step_cases[@]}"; do
    if [[ $case == *=- ]]; then flags+=(--case-without-compiler); else flags+=(--case); fi
    flags+=("${case%=*}")
  done
  has_torch || { row 5 "PyTorch beside ours" "" "$(tail -1 "$log/torch.txt" | cut -c1-80)" SKIPPED && flags+=(--only-ours); }
  # Leaves time for the programs that follow.
  seconds=$(($(seconds_left) - 110))
  run steps "$((seconds > 60 ? seconds : 60))" python3 "$root/bench/peers/torch_step_cuda.py" --ours "$build/bench/gpu_bench" \
    --library-path "$libraries" --data "$data" --table "$log/steps.tsv" "${flags[@]}" || status=$?
  for case in "${step_cases[@]}"; do
    IFS=$'\t' read -r -a figures < <(grep "^${case%=*}"$'\t' "$log/steps.tsv") || true
    if ((${#figures[@]} < 5)); then
      # The cases without a limit come last.
      if [[ $case == *=- && $status == 124 ]]; then row 5 "${case%=*}" "" "no time left" SKIPPED && continue; fi
      missing 5 "${case%=*}" steps "$status"
      continue
    fi
    IFS=: read -r model batch precision <<<"${case%=*}"
    check_step "$model" "$batch" "$precision" "${case#*=}" "${figures[@]:1}"
  done
}

check_op_time() {
  local status=0 us wall theirs
  ours run op_time 60 "$build/bench/gpu_bench" op-time || status=$?
  ((status == 0)) || { missing 5 "per-op, uncaptured" op_time "$status" && return; }
  us=$(said op_time 'us an op' | sed 's/.*: \([0-9.]*\) us an op on the host.*/\1/')
  wall=$(said op_time 'us an op' | sed 's/.* host, \([0-9.]*\) us of a whole.*/\1/')
  theirs=$(sed -n 's/^op-time\t//p' "$log/steps.tsv")
  verdict 5 "per-op, uncaptured, us an op on the host" "< 2" \
    "$us (of a whole training: $wall; PyTorch ${theirs:-not measured})" \
    holds "$us < 2"
}

check_overhead() {
  local name="overhead_$1_$2" status=0 ratio
  ours run "$name" 60 "$build/bench/gpu_bench" step --data "$data" --model "$1" --batch "$2" --precision tf32 \
    --strategies one_device,mirrored --repetitions 9 --seconds 0.2 || status=$?
  ((status == 0)) || { missing 5 "Mirrored, $1, batch $2" "$name" "$status" && return; }
  ratio=$(said "$name" ' mirrored ' | sed 's/.* \([0-9.]*\) of the first/\1/')
  verdict 5 "Mirrored of one replica / OneDevice, $1, $2" "< 1.01" "$ratio" holds "$ratio < 1.01"
}

check_busy() {
  local status=0 share
  ours run "busy_$1" 60 "$build/bench/gpu_bench" busy --data "$data" --model "$1" --batch 4096 --precision tf32 \
    --trace "$log/busy_$1.trace" || status=$?
  # Emulated GPUs have no times.
  if [[ -z $(gpu_name) ]] && grep -q 'the trace has no work' "$log/busy_$1.txt"; then
    row 5 "$1, batch 4096, loader: device busy" ">= 90 %" "traces have no times of devices" SKIPPED
    return
  fi
  ((status == 0)) || { missing 5 "$1, device busy" "busy_$1" "$status" && return; }
  share=$(said "busy_$1" ' busy ' | sed 's/.* busy \([0-9.]*\) %.*/\1/')
  verdict 5 "$1, batch 4096, loader: device busy" ">= 90 %" "$share %" holds "$share >= 90"
}

# Shows the time without the gain of independent captured work that runs concurrently.
show_chain() {
  local name="chain_$1_$2" status=0
  TROUPE_CAPTURE=chain ours run "$name" 60 "$build/bench/gpu_bench" step --data "$data" --model "$1" --batch "$2" \
    --precision tf32 || status=$?
  ((status == 0)) || { missing 5 "$1, batch $2, captured as a chain" "$name" "$status" && return; }
  row 5 "$1, batch $2, tf32, captured as a chain" "" "$(said "$name" 'us a step' | sed 's/.* \([0-9.]* us a step\).*/\1/')" INFO
}

show_loader() {
  local name="loader_$1_$2" status=0
  ours run "$name" 60 "$build/bench/gpu_bench" step --data "$data" --model "$1" --batch "$2" --precision tf32 \
    --images loader || status=$?
  ((status == 0)) || { missing 5 "$1, batch $2, loader" "$name" "$status" && return; }
  row 5 "$1, batch $2, tf32, with the loader" "" "$(said "$name" 'us a step' | sed 's/.* \([0-9.]* us a step\).*/\1/')" INFO
}

check_point_5() {
  compare_steps
  check_op_time
  check_overhead mlp 128
  check_overhead cnn 512
  check_busy mlp
  check_busy cnn
  show_chain mlp 128
  show_chain mlp 4096
  show_chain cnn 512
  show_loader mlp 128
  show_loader mlp 4096
  show_loader cnn 4096
}
