# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Point 2: results of GPUs.

# check_suite NAME LIMIT: runs the cases of a test program that need a GPU.
check_suite() {
  local status=0 what="$1 \"[gpu]\"" summary skipped
  ours run "$1" "$2" "$build/tests/$1" "[gpu]" || status=$?
  summary=$(said "$1" 'All tests passed|test cases:|No tests ran')
  skipped=$(grep -o 'skipped: [a-zA-Z:0-9]* is needed' "$log/$1.txt" | sort -u | paste -sd ',') || true
  [[ -z $skipped ]] || summary+=", $skipped"
  # Status 4: all cases were skipped.
  if ((status == 0 || status == 4)) && grep -q 'skipped: cuda:0 is needed\|No tests ran\|assertions: - none -' "$log/$1.txt"; then
    row 2 "$what" "all cases" "it has none that ran" SKIPPED
  elif ((status == 0)); then
    row 2 "$what" "all cases" "$summary" PASS
  else
    row 2 "$what" "all cases" "$(reason "$1" "$status"), $summary" FAIL
  fi
}

# The trainings on the cores of the host, which those on the GPU are compared with. They run beside the checks of the
# GPU, on half of the cores.
declare -A accuracy_epochs=([mlp]=5 [cnn]=2)

start_trainings_on_cores() {
  local model
  for model in mlp cnn; do
    on_upper_cores train_curve "losses_${model}_cpu" 240 cpu:0 "$model" || true
    on_upper_cores train_for_accuracy "accuracy_${model}_cpu" 240 "$(half_of_the_cores)" "$model" || true
  done &
  trainings_on_cores=$!
}

# on_upper_cores FUNCTION ARGUMENTS..: runs a function on the upper half of the cores. The lower half drives the GPU.
on_upper_cores() (
  taskset -pc "$(($(nproc) / 2))-$(($(nproc) - 1))" "$BASHPID" >/dev/null
  "$@"
)

# train_for_accuracy NAME SECONDS DEVICES MODEL: trains a model until its accuracy can be compared.
train_for_accuracy() { train "$1" "$2" "$3" --model "$4" --epochs "${accuracy_epochs[$4]}" --seed 5; }

check_accuracy() {
  local model=$1 status=0 gpu cpu
  train_for_accuracy "accuracy_${model}_gpu" 120 cuda:0 "$model" || status=$?
  wait "$trainings_on_cores" || true
  ((status == 0)) || { missing 2 "$model accuracy" "accuracy_${model}_gpu" "$status" && return; }
  gpu=$(reported test_accuracy "accuracy_${model}_gpu") cpu=$(reported test_accuracy "accuracy_${model}_cpu")
  verdict 2 "$model accuracy after ${accuracy_epochs[$model]} epochs" "the CPU's, +- 0.005" "GPU $gpu, CPU ${cpu:-none}" \
    holds "${gpu:-9} - ${cpu:-0} <= 0.005 && ${cpu:-9} - ${gpu:-0} <= 0.005"
}

# The upper half of the cores as a list of devices, so that each replica has its own core.
half_of_the_cores() {
  local cores=$(($(nproc) / 2)) core devices=cpu:0
  for ((core = 1; core < cores && core < 8; ++core)); do devices+=,cpu:$core; done
  echo "$devices"
}

# 200 steps of 300 images are one epoch without a step of fewer rows.
curve_flags=(--epochs 1 --batch-size 300 --optimizer sgd --schedule constant --seed 3)
# Learning rates at which small differences stay small. With 0.05, one replica of the cnn on the cores and two replicas,
# whose sums differ only in their order, reach losses that differ by a tenth.
declare -A curve_rates=([mlp]=0.05 [cnn]=0.01)

# train_curve NAME SECONDS DEVICES MODEL FLAGS...: trains a model for the losses of its first steps.
train_curve() {
  local name=$1 most=$2 devices=$3 model=$4
  shift 4
  train "$name" "$most" "$devices" --model "$model" --lr "${curve_rates[$model]}" "${curve_flags[@]}" "$@"
}

check_losses() {
  local model=$1 status=0 difference
  train_curve "losses_${model}_gpu" 60 cuda:0 "$model" || status=$?
  wait "$trainings_on_cores" || true
  ((status == 0)) || { missing 2 "$model losses" "losses_${model}_gpu" "$status" && return; }
  difference=$(largest_difference "losses_${model}_gpu" "losses_${model}_cpu")
  verdict 2 "$model losses of 200 steps against the CPU's" "within 1e-3 relative" "${difference:-no losses}" \
    holds "${difference:-1} <= 1e-3"
  check_captured "losses_${model}_gpu" "$model"
}

# check_captured NAME WHAT: checks whether everything in a training that should be captured was captured.
check_captured() {
  local message
  message=$(grep -m1 -o 'cannot be captured.*' "$log/$1.txt") || message="nothing was refused"
  verdict 2 "$2: captured" "nothing was refused" "${message:0:120}" test "$message" == "nothing was refused"
}

# same_bits MODEL HOW CAPTURE FLAGS...: checks that the training gives the hash of the first one again.
same_bits() {
  local model=$1 how=$2 name="bits_$1_$2" capture=$3 status=0 first hash
  shift 3
  TROUPE_CAPTURE=$capture train_curve "$name" 60 cuda:0 "$model" "$@" || status=$?
  ((status == 0)) || { missing 2 "$model hash, $how" "$name" "$status" && return; }
  first=$(reported parameters_hash "losses_${model}_gpu") hash=$(reported parameters_hash "$name")
  verdict 2 "$model hash, $how" "${first:-none}" "${hash:-none}" test -n "$hash" -a "$hash" == "$first"
}

check_bits() {
  same_bits "$1" again 1
  same_bits "$1" uncaptured 0
  same_bits "$1" per-op 1 --grain per-op
  same_bits "$1" chains 1 --grain chains
  same_bits "$1" per-op-uncaptured 0 --grain per-op
}

# check_suites: runs the cases of all test programs that need a GPU, the longest program beside the others.
check_suites() {
  # Measuring all shapes of all cases would take longer than the cases. The trainings measure their own.
  TROUPE_CUDA_CHOICES=first check_suite ops_tests 240 &
  local ops_tests=$!
  check_suite transport_tests 60
  check_suite actor_tests 60
  check_suite strategy_tests 90
  wait "$ops_tests"
}

check_trainings() {
  local model
  for model in mlp cnn; do
    check_losses "$model"
    check_bits "$model"
    check_accuracy "$model"
  done
}

check_point_2() {
  local trainings_on_cores
  start_trainings_on_cores
  check_suites
  check_trainings
}
