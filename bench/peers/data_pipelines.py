#!/usr/bin/env python3
"""Compares the rows per second of bench/pipeline_speed with tf.data, PyTorch's DataLoader and Grain.

Each chain is the same in all libraries and ends in batches:
arrays    a shuffle of all rows in memory, and a map of each row that normalizes the bytes of an image to float32
csv       the records of a CSV file: 8 floats, an integer and a category
tfrecord  the examples of a TFRecord file, an image of bytes and a label, and the same map
Every peer runs with 1, 2 and 4 workers and with its own choice, shown as 0 workers. The programs run one after the other,
in several rounds; the best round of each setting counts. Needs tensorflow-cpu, torch, grain and numpy.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

ROWS = {"arrays": 60_000, "csv": 200_000, "tfrecord": 40_000}
ELEMENTS, BATCH = 784, 128
KINDS = ["a", "b", "c"]


def image_bytes(rows):
    import numpy as np

    return np.resize(np.arange(256, dtype=np.uint8) * np.uint8(131), (rows, ELEMENTS))


def write_csv(path):
    import numpy as np

    numbers = np.random.default_rng(1).standard_normal((ROWS["csv"], 8))
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(f"x{i}" for i in range(8)) + ",n,kind\n")
        for i, row in enumerate(numbers):
            file.write(",".join(f"{x:.6g}" for x in row) + f",{i},{KINDS[i % 3]}\n")


def write_tfrecord(path):
    import tensorflow as tf

    with tf.io.TFRecordWriter(path) as writer:
        for i, image in enumerate(image_bytes(ROWS["tfrecord"])):
            features = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 10])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


WRITERS = {"csv": write_csv, "tfrecord": write_tfrecord}


def tf_data(chain, path, workers):
    import tensorflow as tf

    calls = tf.data.AUTOTUNE if workers == 0 else workers

    def normalized(image, label):
        return tf.cast(image, tf.float32) * (1.0 / 255.0) - 0.5, label

    if chain == "arrays":
        image, label = image_bytes(ROWS[chain]), [0] * ROWS[chain]
        data = tf.data.Dataset.from_tensor_slices((image, label)).shuffle(ROWS[chain], seed=1)
        data = data.map(normalized, num_parallel_calls=calls).batch(BATCH)
    elif chain == "csv":
        # Batches of lines are decoded faster than single lines.
        kinds = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(KINDS, list(range(3))), -1)

        def decoded(lines):
            columns = tf.io.decode_csv(lines, [0.0] * 8 + [0, ""])
            return tf.stack(columns[:8], 1), columns[8], kinds.lookup(columns[9])

        data = tf.data.TextLineDataset(path).skip(1).batch(BATCH).map(decoded, num_parallel_calls=calls)
    else:
        features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

        # Batches of examples are parsed faster than single examples.
        def parsed(records):
            examples = tf.io.parse_example(records, features)
            return normalized(tf.io.decode_raw(examples["image"], tf.uint8, fixed_length=ELEMENTS), examples["label"])

        data = tf.data.TFRecordDataset(path).batch(BATCH).map(parsed, num_parallel_calls=calls)
    data = data.prefetch(tf.data.AUTOTUNE)
    return lambda: data


def python_rows(chain, path):
    """A list of rows, and the function that decodes one of them, for the peers that call Python for each row."""
    import numpy as np

    def normalized(image):
        return image.astype(np.float32) * np.float32(1.0 / 255.0) - np.float32(0.5)

    if chain == "arrays":
        image, label = image_bytes(ROWS[chain]), np.zeros(ROWS[chain], np.int32)
        return range(ROWS[chain]), lambda i: (normalized(image[i]), label[i])
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")[1:-1]

    def decoded(line):
        texts = line.split(",")
        return np.array(texts[:8], np.float32), np.int32(texts[8]), np.int32(KINDS.index(texts[9]))

    return lines, decoded


def torch_loader(chain, path, workers):
    import torch

    rows, decode = python_rows(chain, path)

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, i):
            return decode(rows[i])

    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=BATCH, shuffle=chain == "arrays", num_workers=workers, persistent_workers=workers > 0
    )
    return lambda: loader


def grain_data(chain, path, workers):
    import grain

    rows, decode = python_rows(chain, path)
    data = grain.MapDataset.source(rows)
    if chain == "arrays":
        data = data.shuffle(seed=1)
    data = data.map(decode).batch(BATCH)
    if workers == 0:
        return lambda: data.to_iter_dataset()
    threads = grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)
    options = grain.MultiprocessingOptions(num_workers=workers)
    return lambda: data.to_iter_dataset(threads).mp_prefetch(options)


PEERS = {"tf.data": tf_data, "torch DataLoader": torch_loader, "Grain": grain_data}
# Neither DataLoader nor Grain reads TFRecord files.
PEERS_OF = {"arrays": list(PEERS), "csv": list(PEERS), "tfrecord": ["tf.data"]}


def run_peer(name, chain, path, workers, epochs):
    """Prints the rows per second of the best epoch, and the memory."""
    open_epoch, best = PEERS[name](chain, path, workers), 0.0
    for _ in range(epochs):
        begin = time.perf_counter()
        rows = sum(len(batch[-1]) for batch in open_epoch())
        best = max(best, rows / (time.perf_counter() - begin))
        if rows != ROWS[chain]:
            sys.exit(f"{name} gave {rows} rows")
    memory = sum(resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"rows_per_second {best} mib {memory / 1024}")


def result_of(command):
    """The figures that a program prints last, by name."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    words = done.stdout.split()
    return {words[i]: float(words[i + 1]) for i in range(len(words) - 1) if words[i] in ("rows_per_second", "mib")}


def compare(chain, path, options):
    ours = [options.ours, "--chain", chain, "--file", path, "--epochs", str(options.epochs), "--threads"]
    peer = [sys.executable, __file__, "--epochs", str(options.epochs), "--peer"]
    commands = {("ours", threads): ours + [str(threads)] for threads in (1, 2, 4)}
    for name in PEERS_OF[chain]:
        for workers in (0, 1, 2, 4):
            commands[name, workers] = peer + [name, chain, path, str(workers)]
    best = {}
    for _ in range(options.rounds):
        for setting, command in commands.items():
            result = result_of(command)
            if setting not in best or result["rows_per_second"] > best[setting]["rows_per_second"]:
                best[setting] = result
    for (name, workers), result in best.items():
        print(
            f"{chain:<9} {name:<17} {workers} workers  {result['rows_per_second']:>12,.0f} rows/s"
            f"  {result['mib']:8.1f} MiB"
        )
    speeds = {is_ours: [r["rows_per_second"] for (n, _), r in best.items() if (n == "ours") == is_ours]
              for is_ours in (True, False)}
    print(f"{chain}: ours is {max(speeds[True]) / max(speeds[False]):.2f} times as fast as the best peer", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="build/bench/pipeline_speed", help="the program of this library")
    parser.add_argument("--chains", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        return WRITERS[options.write[0]](options.write[1])
    if options.peer:
        name, chain, path, workers = options.peer
        return run_peer(name, chain, path, int(workers), options.epochs)
    with tempfile.TemporaryDirectory() as folder:
        for chain in options.chains:
            path = os.path.join(folder, chain)
            # In a process of its own, because the memory of a program counts that of its parent.
            if chain in WRITERS:
                subprocess.run([sys.executable, __file__, "--write", chain, path], check=True, stderr=subprocess.DEVNULL)
            compare(chain, path, options)


if __name__ == "__main__":
    main()
