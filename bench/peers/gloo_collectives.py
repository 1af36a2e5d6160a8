#!/usr/bin/env python3
"""Compares all-reduces over processes of one machine by Troupe (build/bench/collectives) and by gloo in PyTorch.

Both are started alternately with the same sizes. Each prints medians, whose ratio is computed in every turn.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

SIZES = (1024, 4 << 20, 64 << 20)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_all(world, command_of_rank, environment_of_rank):
    processes = [
        subprocess.Popen(command_of_rank(rank), stdout=subprocess.PIPE, text=True,
                         env={**os.environ, **environment_of_rank(rank)})
        for rank in range(world)
    ]
    printed = [process.communicate(timeout=300)[0] for process in processes]
    if any(process.returncode != 0 for process in processes):
        sys.exit("gloo_collectives.py: a process failed")
    return {int(size): seconds for size, seconds in json.loads(printed[0]).items()}


def ours(program, world):
    port = free_port()
    sizes = [str(size) for size in SIZES]
    return start_all(world, lambda rank: [program, "--rank", str(rank), "--world-size", str(world), "--rendezvous",
                                          f"127.0.0.1:{port}", "--bytes", *sizes], lambda rank: {})


def gloo(world):
    port = free_port()
    return start_all(world, lambda rank: [sys.executable, __file__, "--gloo-rank", str(rank), "--world", str(world)],
                     lambda rank: {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"})


def run_gloo(rank, world, repetitions):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    medians = {}
    for size in SIZES:
        tensor = torch.ones(size // 4)
        calls = 200 if size < 100_000 else (8 if size <= 8_000_000 else 2)
        for _ in range(calls):
            dist.all_reduce(tensor)
        seconds = []
        for _ in range(repetitions):
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(tensor)
            seconds.append((time.perf_counter() - begin) / calls)
        medians[size] = statistics.median(seconds)
    dist.barrier()
    if rank == 0:
        print(json.dumps(medians), flush=True)
    os._exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", default="build/bench/collectives")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--world", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--gloo-rank", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.gloo_rank is not None:
        return run_gloo(arguments.gloo_rank, arguments.world[0], 7)
    for world in arguments.world:
        turns = [(ours(arguments.ours, world), gloo(world)) for _ in range(arguments.turns)]
        for size in SIZES:
            ratios = [theirs[size] / mine[size] for mine, theirs in turns]
            mine, theirs = (statistics.median(turn[side][size] for turn in turns) for side in (0, 1))
            print(f"{world} processes, {size} bytes: {mine * 1e6:.0f} us, gloo {theirs * 1e6:.0f} us, "
                  f"gloo / ours {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
