# shellcheck shell=bash
# question: How long does a training step of GPT-2 124M take beside PyTorch, and where does the time go?
# kind: speed
# prediction: gpt2_ms 115..138, gpt2_ops_ms 115..140
# rule: gpt2_ms < peer_gpt2_compiled_ms
# limit: 100
# value: 80
# needs: bench/gpu_bench
# depends: ops actors strategies bench/gpu/step.cpp bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model gpt2 --batch 32 --precision bfloat16 --steps 8 --repetitions 2 --figures gpt2
gpu_bench step --model gpt2 --batch 32 --precision bfloat16 --profile --figures gpt2_ops
