# shellcheck shell=bash
# question: How long do steps of the mlp and the cnn take beside PyTorch, and how busy is the device?
# kind: speed
# prediction: small_models_failed 0..0
# rule: small_models_failed == 0 && small_models_passed > 0
# limit: 280
# value: 30
# needs: bench/gpu_bench
# depends: ops actors strategies bench/gpu/step.cpp bench/gpu/training_case.cpp bench/peers/torch_step_cuda.py
checks small_models check_point_5
