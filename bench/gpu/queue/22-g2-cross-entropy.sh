# shellcheck shell=bash
# question: How long do cross-entropy of 50,257 classes and its gradient take, and how much memory does it need (item G2)?
# kind: speed
# prediction: g2_ms 9..14
# rule: g2_ms < 2.5
# limit: 60
# value: 65
# needs: bench/gpu_bench
# depends: ops bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model gpt2 --layers 1 --batch 32 --precision bfloat16 --profile --figures g2 \
  --ops softmax_cross_entropy,softmax_cross_entropy_grad,cast
