#!/usr/bin/env python3
"""Compares the training step of bench/step_time with PyTorch.

One step gathers a batch of bytes, scales it, and does forward, loss, backward and an SGD update. PyTorch runs in this
process, eager and compiled. Troupe runs as a program in between, so that a change of the machine's speed affects both.
The best setting of each side counts: PyTorch's mode, threads, memory layout and optimizer; Troupe's replicas.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time

try:
    import torch

    from ours import DATA, SETTLE_SECONDS, fashion_mnist, run_ours
except ImportError as error:
    sys.exit(f"torch_step.py: Python has no module '{error.name}'; install both that are needed: "
             "pip install torch numpy, or apt-get install python3-torch python3-numpy")

CASES = [(model, batch) for model in ("mlp", "cnn") for batch in (32, 128, 1024)]
LEARNING_RATE = 0.05


def load(directory, split):
    """Returns images as bytes [N, 1, 28, 28] and labels."""
    images, labels = fashion_mnist(directory, split)
    return torch.from_numpy(images[:, None]), torch.from_numpy(labels).long()


def make_mlp():
    nn = torch.nn
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def make_cnn():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, 10))


def make_optimizer(parameters, rate, kind):
    """Returns eager SGD of a kind: a loop over the parameters, the foreach ops, or one fused op (newer versions)."""
    return torch.optim.SGD(parameters, lr=rate, **({} if kind == "loop" else {kind: True}))


class Step:
    """One way to run the training step of one case in PyTorch."""

    def __init__(self, model, batch, data, threads=1, layout="default", optimizer="loop", rate=LEARNING_RATE,
                 mode="eager"):
        torch.manual_seed(1)
        self.setting = {"threads": threads, "layout": layout, "optimizer": optimizer, "mode": mode}
        self.threads, self.batch = threads, batch
        self.format = torch.channels_last if layout == "channels_last" else torch.contiguous_format
        self.model = (make_mlp() if model == "mlp" else make_cnn()).to(memory_format=self.format)
        self.optimizer = make_optimizer(self.model.parameters(), rate, optimizer)
        if mode == "compiled":
            self.model = torch.compile(self.model, dynamic=False)
        self.images, self.labels = data
        self.order, self.place = torch.randperm(len(self.labels)), 0

    def next_rows(self):
        """Returns the indices of the next batch. A rest that does not fill a batch is left out."""
        if self.place + self.batch > len(self.order):
            self.order, self.place = torch.randperm(len(self.labels)), 0
        self.place += self.batch
        return self.order[self.place - self.batch:self.place]

    def run(self, rows):
        images = self.images[rows].to(torch.float32, memory_format=self.format).mul_(1 / 255)
        loss = torch.nn.functional.cross_entropy(self.model(images), self.labels[rows])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def samples_per_second(self, seconds):
        torch.set_num_threads(self.threads)
        for _ in range(3):
            self.run(self.next_rows())
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(5):
                self.run(self.next_rows())
            steps += 5
        return steps * self.batch / (time.perf_counter() - start)


def optimizer_kinds():
    """Returns the kinds of SGD that this PyTorch has for the CPU."""
    kinds = []
    for kind in ("loop", "foreach", "fused"):
        try:
            parameter = torch.nn.Parameter(torch.zeros(1))
            parameter.grad = torch.zeros(1)
            make_optimizer([parameter], LEARNING_RATE, kind).step()
            kinds.append(kind)
        except (TypeError, RuntimeError, ValueError):
            pass
    return kinds


def candidates(model, batch, data, threads):
    """Returns the settings of a case, without those that a short trial shows to be far from the best."""
    layouts = ("default", "channels_last") if model == "cnn" else ("default",)
    modes = ("eager", "compiled") if hasattr(torch, "compile") else ("eager",)
    if len(modes) > 1:
        # Every setting of a case is compiled: above the limit PyTorch would run eager.
        torch._dynamo.reset()
        torch._dynamo.config.recompile_limit = 64
    speeds = {}
    for mode, count, layout, kind in itertools.product(modes, threads, layouts, optimizer_kinds()):
        try:
            step = Step(model, batch, data, count, layout, kind, mode=mode)
            speeds[step] = step.samples_per_second(0.4)
        except Exception as error:  # a compiler that is not there, for instance
            print(f"{mode}, {count} threads, {layout}, {kind}: {type(error).__name__}", file=sys.stderr)
    return [step for step, speed in speeds.items() if speed > 0.85 * max(speeds.values())]


def best(repetitions):
    """Returns the key with the highest median, and that median, from a list of dictionaries from keys to speeds."""
    medians = {key: statistics.median(speeds[key] for speeds in repetitions) for key in repetitions[0]}
    key = max(medians, key=medians.get)
    return key, medians[key]


def measure(model, batch, data, options):
    """Returns one row of the result: the medians of alternating repetitions of PyTorch and of Troupe."""
    steps = candidates(model, batch, data, options.threads)
    theirs, ours = [], []
    for _ in range(options.repetitions):
        theirs.append({i: step.samples_per_second(options.seconds) for i, step in enumerate(steps)})
        if options.ours:
            time.sleep(SETTLE_SECONDS)
            ours.append(run_ours(options.ours, model, batch, 1))
    place, speed = best(theirs)
    row = {"model": model, "batch": batch, "torch_samples_per_second": speed,
           **{f"torch_{key}": value for key, value in steps[place].setting.items()}}
    if ours:
        replicas, own_speed = best(ours)
        row.update(ours_samples_per_second=own_speed, ours_replicas=replicas, ratio=own_speed / speed)
    return row


def print_row(row):
    setting = ", ".join([row["torch_mode"], f"{row['torch_threads']} threads", row["torch_layout"], row["torch_optimizer"]])
    line = f"{row['model']:5} {row['batch']:6}  {row['torch_samples_per_second']:12,.0f}  {setting:44}"
    if "ratio" in row:
        line += f" {row['ours_samples_per_second']:12,.0f}  {row['ours_replicas']} replicas  {row['ratio']:6.2f}"
    print(line, flush=True)


def compare(options):
    data = load(options.data, "train")
    print(f"PyTorch {torch.__version__}, {options.repetitions} repetitions, samples per second", flush=True)
    print(f"{'model':5} {'batch':>6}  {'PyTorch':>12}  {'its best setting':44}" +
          (f" {'ours':>12}  {'best of':10}  {'ratio':>6}" if options.ours else ""), flush=True)
    rows = []
    for model, batch in CASES:
        if model in options.models and batch in options.batches:
            rows.append(measure(model, batch, data, options))
            print_row(rows[-1])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "repetitions": options.repetitions, "rows": rows}, file, indent=1)


def accuracy(options):
    """Trains the mlp for five whole epochs and prints the test accuracy."""
    data = load(options.data, "train")
    step = Step("mlp", 128, data, threads=max(options.threads), rate=0.1)
    torch.set_num_threads(step.threads)
    for _ in range(5):
        for rows in torch.randperm(len(data[1])).split(128):
            step.run(rows)
    images, labels = load(options.data, "t10k")
    with torch.no_grad():
        right = (step.model(images.float() / 255).argmax(1) == labels).float().mean().item()
    print(f"PyTorch {torch.__version__}: mlp, 5 epochs, batch 128, lr 0.1: test accuracy {right:.4f}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--ours", metavar="PROGRAM", help="our benchmark: build/bench/step_time")
    mode.add_argument("--only-torch", action="store_true", help="measure PyTorch alone")
    mode.add_argument("--accuracy", action="store_true", help="train the mlp and print its test accuracy")
    numbers = {"type": int, "nargs": "+"}
    parser.add_argument("--models", nargs="+", choices=("mlp", "cnn"), default=["mlp", "cnn"])
    parser.add_argument("--batches", choices=(32, 128, 1024), default=[32, 128, 1024], **numbers)
    parser.add_argument("--threads", default=[1, 2], **numbers, help="thread counts of PyTorch to try")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement of PyTorch")
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    if options.ours and not os.access(options.ours, os.X_OK):
        parser.error(f"there is no program {options.ours}: build it first (cmake --build build)")
    return options


def main():
    options = parse_options()
    if options.accuracy:
        accuracy(options)
    else:
        compare(options)


if __name__ == "__main__":
    main()
