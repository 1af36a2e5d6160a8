# shellcheck shell=bash
# question: Are collectives over NCCL right between processes, and does a lost process end the others?
# kind: correctness
# prediction: nccl_failed 0..0
# rule: nccl_failed == 0 && nccl_passed > 0
# limit: 200
# value: 60
# needs: bench/nccl_ranks examples/fashion_mnist
# depends: ops/core ops/cuda transport strategies bench/gpu/nccl_ranks.cpp bench/gpu/collective_checks.cpp
checks nccl check_point_4
