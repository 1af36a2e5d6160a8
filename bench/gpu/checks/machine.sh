# shellcheck shell=bash disable=SC2154  # run_all sets what the parts share
# The description of the machine, and point 1: programs where there is no GPU.

describe_machine() {
  date -u
  uname -sr
  lscpu | grep -E 'Model name|^CPU\(s\)'
  nvidia-smi || echo "there is no nvidia-smi"
  gpu_name
  python3 -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda, "cuDNN", torch.backends.cudnn.version(), "NCCL", torch.cuda.nccl.version())'
  echo "programs: $build"
  echo "libraries: $libraries"
  ours ldd "$build/bench/gpu_bench"
} 2>&1

gpu_name() { nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1 || true; }

# has_torch: whether Python has a PyTorch that finds a GPU.
has_torch() { timeout 120 python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >"$log/torch.txt" 2>&1; }

# Succeeds, and prints why, if there is no GPU for the programs. A GPU that they do not find is a failure.
why_no_gpu() {
  local gpus=0 program=$build/bench/gpu_bench
  if [[ -x $program ]]; then
    gpus=$(ours timeout 60 "$program" devices 2>"$log/devices.txt") || gpus=0
    ((gpus > 0)) && return 1
  fi
  if [[ -n $(gpu_name) ]]; then
    local why="no GPU is found, but nvidia-smi lists one"
    [[ -x $program ]] || why="there is a GPU, but no program $program"
    row 1 "the library finds the GPU" "one at least" "$why" FAIL
    echo "the programs do not find the GPU"
  elif [[ -x $program ]]; then
    echo "this machine has no GPU"
  else
    echo "this machine has no GPU, and $build no GPU programs"
  fi
}

check_point_1() {
  local status=0
  CUDA_VISIBLE_DEVICES='' ours run without_gpu 60 "$build/examples/fashion_mnist" --data "$data" --epochs 0 || status=$?
  verdict 1 "fashion_mnist where no GPU is visible" "cores, and one line" "$(said without_gpu 'no GPU')" \
    test "$status $(grep -c 'no GPU' "$log/without_gpu.txt")" == "0 1"
}
