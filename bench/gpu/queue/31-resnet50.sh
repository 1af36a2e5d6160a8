# shellcheck shell=bash
# question: How long does a training step of ResNet-50 take beside PyTorch, and where does the time go?
# kind: speed
# prediction: resnet50_ms 85..110, resnet50_ops_ms 85..110
# rule: resnet50_ms < peer_resnet50_compiled_ms
# limit: 200
# value: 75
# needs: bench/gpu_bench
# depends: ops actors strategies bench/gpu/step.cpp bench/gpu/op_profile.cpp bench/gpu/large_models.cpp
gpu_bench step --model resnet50 --batch 256 --precision bfloat16 --steps 8 --repetitions 2 --figures resnet50
gpu_bench step --model resnet50 --batch 256 --precision bfloat16 --profile --figures resnet50_ops
