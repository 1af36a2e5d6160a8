"""The parts that the comparisons with other frameworks share: the data, and the measurement of Troupe."""

import gzip
import json
import os
import subprocess
import sys
import tempfile

import numpy

DATA = "/usr/share/datasets/fashion-mnist"
# Threads of a framework, and Troupe's, spin for a while after their last work.
SETTLE_SECONDS = 0.3


def read_idx(directory, name, header):
    path = os.path.join(directory, name)
    try:
        with gzip.open(path) as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy()
    except OSError as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}; apt-get install dataset-fashion-mnist, or use --data")


def fashion_mnist(directory, split):
    """Returns images as bytes [N, 28, 28] and labels as bytes [N]."""
    images = read_idx(directory, f"{split}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    return images, read_idx(directory, f"{split}-labels-idx1-ubyte.gz", 8)


def run_ours(program, model, batch, seconds):
    """Returns samples per second by number of replicas."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        command = [program, "--model", model, "--batch", str(batch), "--replicas", "1,2", "--variants", "fused",
                   "--seconds", str(seconds), "--json", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
    return {row["replicas"]: row["samples_per_second"] for row in rows
            if (row["model"], row["batch"], row["variant"]) == (model, batch, "fused")}
