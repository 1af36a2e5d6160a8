# shellcheck shell=bash
# question: How long do layer norms and their gradients take in 16 bits, four in two layers and the last (item G3)?
# kind: speed
# prediction: g3_ms 2.0..3.5, g3_gb_per_s 300..1800
# rule: g3_ms < 1
# limit: 60
# value: 60
# needs: bench/gpu_bench
# depends: ops bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model gpt2 --layers 2 --batch 32 --precision bfloat16 --profile --figures g3 \
  --ops layer_norm,layer_norm_grad
