# shellcheck shell=bash disable=SC2154  # the runner sets root and log
# question: How long does PyTorch take for a training step of ResNet-50?
# kind: speed
# prediction: peer_resnet50_eager_ms 45..90, peer_resnet50_compiled_ms 30..60
# rule: -
# limit: 150
# value: 71
# needs: torch
# depends: bench/peers/torch_large_models.py
python3 "$root/bench/peers/torch_large_models.py" --model resnet50 --batch 256
