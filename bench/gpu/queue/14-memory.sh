# shellcheck shell=bash
# question: Does the memory in use stay the same over 10,000 steps, and do memcheck and racecheck find nothing?
# kind: correctness
# prediction: memory_failed 0..0
# rule: memory_failed == 0 && memory_passed > 0
# limit: 300
# value: 40
# needs: bench/gpu_bench examples/fashion_mnist
# depends: ops/core ops/cuda actors
checks memory check_point_3
