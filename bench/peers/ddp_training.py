#!/usr/bin/env python3
"""Compares training on Fashion-MNIST over processes by Troupe (build/examples/fashion_mnist) and by PyTorch's
DistributedDataParallel with gloo, with one thread per process. Both have the same two models, optimizer and batch sizes,
and alternate. Prints samples per second.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ours(program, world, model, batch, epochs):
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            subprocess.Popen([program, "--strategy", "multi_worker_mirrored", "--replicas", "1", "--model", model,
                              "--batch-size", str(batch), "--epochs", str(epochs), "--rank", str(rank), "--world-size",
                              str(world), "--rendezvous", f"127.0.0.1:{port}", "--report", f"{folder}/report"],
                             stdout=subprocess.DEVNULL) for rank in range(world)
        ]
        if any(process.wait(timeout=600) != 0 for process in processes):
            sys.exit("ddp_training.py: fashion_mnist failed")
        with open(f"{folder}/report.0") as report:
            return json.load(report)["samples_per_second"]


def ddp(world, model, batch, steps):
    port = free_port()
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    processes = [
        subprocess.Popen([sys.executable, __file__, "--ddp-rank", str(rank), "--world", str(world), "--model", model,
                          "--batch", str(batch), "--steps", str(steps)],
                         stdout=subprocess.PIPE, text=True, env=environment) for rank in range(world)
    ]
    printed = [process.communicate(timeout=600)[0] for process in processes]
    if any(process.returncode != 0 for process in processes):
        sys.exit("ddp_training.py: PyTorch failed")
    return float(printed[0])


def run_ddp(rank, world, model_name, batch, steps):
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    if model_name == "mlp":
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                              nn.Linear(128, 10))
    else:
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3),
                              nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(),
                              nn.Linear(128, 10))
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002, foreach=True)
    images, labels = torch.rand(60_000, 1, 28, 28), torch.randint(0, 10, (60_000,))
    order = torch.randperm(60_000)
    part = batch // world

    def step(number):
        first = (number * batch + rank * part) % (60_000 - part)
        rows = order[first:first + part]
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
        optimizer.step()

    for number in range(5):
        step(number)
    dist.barrier()
    begin = time.perf_counter()
    for number in range(steps):
        step(number)
    dist.barrier()
    if rank == 0:
        print(batch * steps / (time.perf_counter() - begin), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", default="build/examples/fashion_mnist")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ddp-rank", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ddp_rank is not None:
        return run_ddp(arguments.ddp_rank, arguments.world, arguments.model, arguments.batch, arguments.steps)
    for model, epochs, samples in (("mlp", 5, 100_000), ("cnn", 1, 20_000)):
        for batch in (128, 1024):
            turns = [(ours(arguments.ours, arguments.world, model, batch, epochs),
                      ddp(arguments.world, model, batch, max(20, samples // batch))) for _ in range(arguments.turns)]
            ratios = [mine / theirs for mine, theirs in turns]
            print(f"{model}, {arguments.world} processes, batch {batch}: {statistics.median(t[0] for t in turns):.0f} "
                  f"samples/s, PyTorch {statistics.median(t[1] for t in turns):.0f}, ours / PyTorch "
                  f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
