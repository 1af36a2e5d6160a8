# shellcheck shell=bash
# question: Is every mistake and every lack of memory reported as an error, after which training goes on?
# kind: correctness
# prediction: bad_input_failed 0..0
# rule: bad_input_failed == 0 && bad_input_passed > 0
# limit: 120
# value: 50
# needs: bench/gpu_bench examples/fashion_mnist tests/kernel_fault tests/gpu_memory tests/ops_tests
# depends: ops/core ops/cuda ops/graph actors strategies tests/program/kernel_fault.cu tests/program/gpu_memory.cu
checks bad_input check_point_6
