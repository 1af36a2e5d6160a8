# shellcheck shell=bash
# question: Which bandwidth do element-wise ops reach in 16 bits (item G4)?
# kind: speed
# prediction: g4_gpt2_gb_per_s 600..1700, g4_resnet50_gb_per_s 600..1700
# rule: g4_gpt2_gb_per_s > 2500 && g4_resnet50_gb_per_s > 2500
# limit: 90
# value: 55
# needs: bench/gpu_bench
# depends: ops bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model gpt2 --layers 2 --batch 32 --precision bfloat16 --profile --figures g4_gpt2 \
  --ops add,add_n,fused_elementwise,cast,gelu_tanh,gelu_tanh_grad
gpu_bench step --model resnet50 --batch 128 --precision bfloat16 --profile --figures g4_resnet50 \
  --ops add,add_n,fused_elementwise,cast,relu,relu_grad
