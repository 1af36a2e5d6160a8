# shellcheck shell=bash
# question: Do the kernels keep their speed in their new files? Before: GPT-2 237.2 ms, element-wise ops of ResNet-50 21.1 ms.
# kind: speed
# prediction: moved_gpt2_ms 230..244, moved_resnet50_ms 20.4..21.8
# rule: moved_gpt2_ms < 242 && moved_resnet50_ms < 21.5
# limit: 110
# value: 85
# needs: bench/gpu_bench
# depends: ops/cuda actors/collective actors/segment
# card: H200
gpu_bench step --model gpt2 --batch 32 --precision bfloat16 --steps 8 --repetitions 2 --figures moved_gpt2
gpu_bench step --model resnet50 --batch 128 --precision bfloat16 --profile --figures moved_resnet50 \
  --ops add,add_n,fused_elementwise,cast,relu,relu_grad
