#!/usr/bin/env python3
"""Compares the rows per second of bench/pipeline_speed with tf.data, PyTorch's DataLoader and Grain.

All run one chain on arrays in memory: a shuffle of all rows, a map of each row that normalizes the bytes of an image to
float32, and batches. Every peer runs with 1, 2 and 4 workers, and where it has them, with its own choice and without
workers. The programs run one after the other, in several rounds; the best round of each setting counts.
"""

import argparse
import resource
import subprocess
import sys
import time

ROWS, ELEMENTS, BATCH = 60_000, 784, 128


def arrays():
    import numpy as np

    image = np.resize(np.arange(256, dtype=np.uint8) * np.uint8(131), (ROWS, ELEMENTS))
    return image, np.zeros(ROWS, dtype=np.int32)


def speed_of(batches):
    begin = time.perf_counter()
    rows = sum(len(label) for _, label in batches)
    assert rows == ROWS, rows
    return rows / (time.perf_counter() - begin)


def tf_data(workers):
    import tensorflow as tf

    image, label = arrays()
    calls = tf.data.AUTOTUNE if workers == 0 else workers
    data = (
        tf.data.Dataset.from_tensor_slices((image, label))
        .shuffle(ROWS, seed=1)
        .map(lambda x, y: (tf.cast(x, tf.float32) * (1.0 / 255.0) - 0.5, y), num_parallel_calls=calls)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda epoch: data


def torch_loader(workers):
    import numpy as np
    import torch

    image, label = arrays()

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return ROWS

        def __getitem__(self, i):
            return image[i].astype(np.float32) * np.float32(1.0 / 255.0) - np.float32(0.5), label[i]

    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    return lambda epoch: loader


def grain_data(workers):
    import grain
    import numpy as np

    image, label = arrays()

    class Source:
        def __len__(self):
            return ROWS

        def __getitem__(self, i):
            return image[i], label[i]

    data = (
        grain.MapDataset.source(Source())
        .shuffle(seed=1)
        .map(lambda row: (row[0].astype(np.float32) * np.float32(1.0 / 255.0) - np.float32(0.5), row[1]))
        .batch(BATCH)
    )
    # Without workers, Grain's own choice of threads reads the rows.
    if workers == 0:
        return lambda epoch: data.to_iter_dataset()
    threads = grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)
    options = grain.MultiprocessingOptions(num_workers=workers)
    return lambda epoch: data.to_iter_dataset(threads).mp_prefetch(options)


PEERS = {"tf.data": tf_data, "torch DataLoader": torch_loader, "Grain": grain_data}


def run_peer(name, workers, epochs):
    """Prints the rows per second of the best epoch, and the memory."""
    open_epoch = PEERS[name](workers)
    best = max(speed_of(open_epoch(epoch)) for epoch in range(epochs))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"rows_per_second {best} mib {memory / 1024}")


def result_of(command):
    """The figures that a program prints last, by name."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    words = done.stdout.split()
    return {words[i]: float(words[i + 1]) for i in range(len(words) - 1) if words[i] in ("rows_per_second", "mib")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="build/bench/pipeline_speed", help="the program of this library")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return run_peer(options.peer[0], int(options.peer[1]), options.epochs)

    commands = {}
    for threads in (1, 2, 4):
        commands["ours", threads] = [options.ours, "--threads", str(threads), "--epochs", str(options.epochs)]
    for peer in PEERS:
        for workers in (0, 1, 2, 4):
            commands[peer, workers] = [
                sys.executable, __file__, "--epochs", str(options.epochs), "--peer", peer, str(workers)
            ]
    best = {}
    for _ in range(options.rounds):
        for setting, command in commands.items():
            result = result_of(command)
            if setting not in best or result["rows_per_second"] > best[setting]["rows_per_second"]:
                best[setting] = result
    for (name, workers), result in best.items():
        print(f"{name:<17} {workers} workers  {result['rows_per_second']:>12,.0f} rows/s  {result['mib']:8.1f} MiB")
    ours = max(result["rows_per_second"] for (name, _), result in best.items() if name == "ours")
    peer = max(result["rows_per_second"] for (name, _), result in best.items() if name != "ours")
    print(f"ours is {ours / peer:.2f} times as fast as the best peer")


if __name__ == "__main__":
    main()
