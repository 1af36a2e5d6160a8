#!/usr/bin/env python3
"""Compares Troupe's training step with training by Keras on TensorFlow.

Keras trains with fit on a tf.data pipeline, fifty steps per call, which its documentation recommends for speed. An epoch
of Keras and Troupe's benchmark alternate, so that a change of the machine's speed affects both.
"""

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
try:
    import tensorflow as tf

    from ours import DATA, SETTLE_SECONDS, fashion_mnist, run_ours
except ImportError as error:
    sys.exit(f"tensorflow_fit.py: Python has no module '{error.name}'; pip install tensorflow-cpu")

LEARNING_RATE = 0.05
STEPS_PER_EXECUTION = 50


def make_model(name):
    layers = tf.keras.layers
    if name == "mlp":
        body = [layers.Flatten(), layers.Dense(256, activation="relu"), layers.Dense(128, activation="relu")]
    else:
        body = [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
                layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2),
                layers.Flatten(), layers.Dense(128, activation="relu")]
    return tf.keras.Sequential([tf.keras.Input((28, 28, 1)), *body, layers.Dense(10)])


def pipeline(images, labels, batch):
    """Returns whole batches, shuffled in every epoch. Bytes become floats after they are batched."""
    def to_floats(features, kinds):
        return tf.cast(features, tf.float32) / 255.0, tf.cast(kinds, tf.int32)
    data = tf.data.Dataset.from_tensor_slices((images[..., None], labels)).shuffle(len(labels))
    data = data.batch(batch, drop_remainder=True)
    return data.map(to_floats, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


class Turns(tf.keras.callbacks.Callback):
    """Times every epoch except the first, which builds the graph, and calls `between` after each."""

    def __init__(self, samples, between):
        super().__init__()
        self.samples, self.between, self.speeds, self.begin = samples, between, [], 0.0

    def on_epoch_begin(self, epoch, logs=None):
        self.begin = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        seconds = time.perf_counter() - self.begin
        if epoch == 0:
            return
        self.speeds.append(self.samples / seconds)
        time.sleep(SETTLE_SECONDS)
        self.between()


def measure(options, compiled):
    """Returns the median samples per second of TensorFlow and of Troupe, which alternate."""
    images, labels = fashion_mnist(options.data, "train")
    ours = []
    turns = Turns(len(labels) // options.batch * options.batch,
                  lambda: ours.append(run_ours(options.ours, options.model, options.batch, options.seconds)))
    model = make_model(options.model)
    model.compile(tf.keras.optimizers.SGD(LEARNING_RATE),
                  tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  steps_per_execution=STEPS_PER_EXECUTION, jit_compile=compiled)
    model.fit(pipeline(images, labels, options.batch), epochs=options.repetitions + 1, verbose=0, callbacks=[turns])
    return statistics.median(turns.speeds), {key: statistics.median(speeds[key] for speeds in ours)
                                             for key in ours[0]}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", metavar="PROGRAM", required=True, help="our benchmark: build/bench/step_time")
    parser.add_argument("--model", choices=("mlp", "cnn"), default="cnn")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement of ours")
    parser.add_argument("--xla", action="store_true", help="measure TensorFlow compiled by XLA as well")
    parser.add_argument("--data", default=DATA)
    options = parser.parse_args()
    if not os.access(options.ours, os.X_OK):
        parser.error(f"there is no program {options.ours}: build it first (cmake --build build)")
    return options


def main():
    options = parse_options()
    print(f"TensorFlow {tf.__version__}, {options.model}, batch {options.batch}, {options.repetitions} repetitions")
    for compiled in (False, True) if options.xla else (False,):
        theirs, ours = measure(options, compiled)
        speeds = ", ".join(f"ours with {count} replicas {speed:,.0f} ({speed / theirs:.2f})"
                           for count, speed in sorted(ours.items()))
        print(f"{'XLA' if compiled else 'no XLA':7} {theirs:10,.0f} samples/s; {speeds}", flush=True)


if __name__ == "__main__":
    main()
