#!/usr/bin/env python3
"""Compares Troupe's asynchronous training with TensorFlow's ParameterServerStrategy.

The cluster of TensorFlow is in this process, as in TensorFlow's guide: workers and parameter servers that communicate
over gRPC, and a coordinator that schedules steps. Plain variables are updated by plain gradient descent, without the cost
of Keras. Epochs of TensorFlow and of Troupe alternate, so that a change of the machine's speed affects both.
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

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
try:
    import tensorflow as tf

    from ours import DATA, SETTLE_SECONDS, fashion_mnist
except ImportError as error:
    sys.exit(f"tensorflow_server.py: Python has no module '{error.name}'; pip install tensorflow-cpu")

LEARNING_RATE = 0.1
SIZES = (784, 256, 128, 10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def make_strategy(workers, servers):
    cluster = tf.train.ClusterSpec({
        "worker": [f"localhost:{free_port()}" for _ in range(workers)],
        "ps": [f"localhost:{free_port()}" for _ in range(servers)]})
    config = tf.compat.v1.ConfigProto()
    # TensorFlow's guide advises at least two threads, because a worker with one waits for itself.
    config.inter_op_parallelism_threads = max(2, workers + 1)
    for job, count in (("worker", workers), ("ps", servers)):
        for index in range(count):
            tf.distribute.Server(cluster, job_name=job, task_index=index, config=config, protocol="grpc")
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    return tf.distribute.ParameterServerStrategy(resolver)


class Training:
    """The perceptron, its data and its steps."""

    def __init__(self, options, images, labels):
        self.strategy = make_strategy(options.workers, options.servers)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        self.steps = len(labels) // options.batch
        with self.strategy.scope():
            self.layers = [(tf.Variable(tf.random.normal((rows, columns), stddev=(2.0 / rows) ** 0.5)),
                            tf.Variable(tf.zeros(columns))) for rows, columns in zip(SIZES, SIZES[1:])]

        def pipeline():
            def to_floats(features, kinds):
                return tf.reshape(tf.cast(features, tf.float32) / 255.0, (-1, SIZES[0])), tf.cast(kinds, tf.int32)
            data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(labels)).repeat()
            return data.batch(options.batch, drop_remainder=True).map(to_floats).prefetch(tf.data.AUTOTUNE)

        def per_worker():
            return self.strategy.distribute_datasets_from_function(lambda _: pipeline())

        self.batches = iter(self.coordinator.create_per_worker_dataset(per_worker))
        self.calls = self.steps // options.steps_per_call

        @tf.function
        def step(batches):
            def of_replica(features, kinds):
                variables = [variable for layer in self.layers for variable in layer]
                with tf.GradientTape() as tape:
                    x = features
                    for number, (weights, bias) in enumerate(self.layers):
                        x = tf.matmul(x, weights) + bias
                        if number + 1 < len(self.layers):
                            x = tf.nn.relu(x)
                    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(kinds, x))
                for variable, gradient in zip(variables, tape.gradient(loss, variables)):
                    variable.assign_sub(LEARNING_RATE * gradient)
                return loss
            loss = 0.0
            for _ in tf.range(options.steps_per_call):
                features, kinds = next(batches)
                loss = self.strategy.run(of_replica, args=(features, kinds))
            return loss

        self.step = step

    def epoch(self):
        """Returns seconds and the last loss."""
        begin = time.perf_counter()
        values = [self.coordinator.schedule(self.step, args=(self.batches,)) for _ in range(self.calls)]
        self.coordinator.join()
        seconds = time.perf_counter() - begin
        return seconds, float(values[-1].fetch())


def ours(options):
    """Returns the samples per second and the loss of the same training by Troupe, without its first epoch."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [options.ours, "--strategy", "parameter_server", "--consistency", "async", "--optimizer", "sgd",
                   "--lr", str(LEARNING_RATE), "--schedule", "constant", "--workers", str(options.workers),
                   "--servers", str(options.servers), "--batch-size", str(options.batch * options.workers),
                   "--epochs", "3", "--data", options.data, "--report", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    return report["samples_per_second"], report["train_loss"]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", metavar="PROGRAM", required=True, help="ours: build/examples/fashion_mnist")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128, help="rows of a worker's batch")
    parser.add_argument("--steps-per-call", type=int, default=1, help="that TensorFlow makes in one scheduled function")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--data", default=DATA)
    options = parser.parse_args()
    if not os.access(options.ours, os.X_OK):
        parser.error(f"there is no program {options.ours}: build it first (cmake --build build)")
    return options


def main():
    options = parse_options()
    images, labels = fashion_mnist(options.data, "train")
    training = Training(options, images, labels)
    training.epoch()  # builds the graph
    theirs, our_speeds = [], []
    for _ in range(options.repetitions):
        seconds, loss = training.epoch()
        theirs.append(training.calls * options.steps_per_call * options.batch / seconds)
        time.sleep(SETTLE_SECONDS)
        speed, own_loss = ours(options)
        our_speeds.append(speed)
        print(f"TensorFlow {theirs[-1]:,.0f} samples/s (loss {loss:.3f}), ours {speed:,.0f} (loss {own_loss:.3f})",
              flush=True)
    ratio = statistics.median(ours_now / theirs_now for ours_now, theirs_now in zip(our_speeds, theirs))
    print(f"TensorFlow {tf.__version__}, {options.workers} workers, {options.servers} servers, batch {options.batch}: "
          f"{statistics.median(theirs):,.0f} samples/s; ours {statistics.median(our_speeds):,.0f}; ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
