# shellcheck shell=bash disable=SC2154  # the runner sets root and log
# question: How long does PyTorch take for a training step of GPT-2 124M?
# kind: speed
# prediction: peer_gpt2_eager_ms 80..150, peer_gpt2_compiled_ms 60..110
# rule: -
# limit: 150
# value: 72
# needs: torch
# depends: bench/peers/torch_large_models.py bench/peers/transformer_block.py
python3 "$root/bench/peers/torch_large_models.py" --model gpt2 --batch 32
