# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# Point 6: mistakes of users, and faults.

check_no_such_device() {
  local status=0
  train no_such_device 60 cuda:99 || status=$?
  verdict 6 "--devices cuda:99" "an error that names it" "$(said no_such_device 'fashion_mnist: ')" \
    test "$status $(grep -c 'fashion_mnist: .*cuda:99' "$log/no_such_device.txt")" == "1 1"
}

check_out_of_memory() {
  local status=0 text
  ours run out_of_memory 120 "$build/bench/gpu_bench" out-of-memory --data "$data" || status=$?
  text=$(said out_of_memory '^\[')
  verdict 6 "a batch that does not fit" "op and bytes in the error" "${text:-$(reason out_of_memory "$status")}" \
    grep -qE '^\[.*out of memory: [0-9]+ bytes requested on cuda:0' "$log/out_of_memory.txt"
  verdict 6 "then one that fits" "trains" "$(said out_of_memory 'for later use')" test "$status" == 0
}

# check_by_program NAME WHAT REQUIRED PATTERN: runs a test program of the build, which ends with 77 if it finds no GPU.
check_by_program() {
  local name=$1 what=$2 required=$3 pattern=$4 status=0
  ours run "$name" 60 "$build/tests/$name" || status=$?
  if ((status == 77 || status == 125 || status == 127)); then
    row 6 "$what" "$required" "$(reason "$name" "$status")" SKIPPED
  else
    verdict 6 "$what" "$required" "$(said "$name" "$pattern")" test "$status" == 0
  fi
}

check_mixed_devices() {
  local status=0
  ours run mixed_devices 60 "$build/tests/ops_tests" "tensors of another device*" || status=$?
  verdict 6 "mixed devices in an op" "refused by name" "$(said mixed_devices 'passed|failed|No tests')" \
    test "$status $(grep -c 'All tests passed' "$log/mixed_devices.txt")" == "0 1"
}

check_point_6() {
  check_no_such_device
  check_out_of_memory
  check_by_program gpu_memory "parameters, or results, that do not fit" "nothing left behind" 'not so|results of ops'
  check_by_program kernel_fault "a kernel that faults" "one error, with the op" fragile
  check_mixed_devices
}
