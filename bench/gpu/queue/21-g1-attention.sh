# shellcheck shell=bash
# question: How long does attention of one layer take, with the copies around it (item G1)?
# kind: speed
# prediction: g1_ms 3.2..5.3
# rule: g1_ms < 0.5
# limit: 60
# value: 70
# needs: bench/gpu_bench
# depends: ops bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model gpt2 --layers 1 --batch 32 --precision bfloat16 --profile --figures g1 \
  --ops attention,attention_grad
