#!/usr/bin/env python3
"""Compares the training steps of bench/gpu with PyTorch on a GPU: eager, compiled, and captured by hand as a CUDA graph.
PyTorch and Troupe alternate. The images of PyTorch's batch are where the step reads them; Troupe gathers every batch on
the GPU.

A case is MODEL:BATCH:PRECISION, such as mlp:128:tf32 or cnn:512:bfloat16. For each case one line is written to the table:
the case, and the microseconds of Troupe, eager, compiled and captured, or the reason why there is no measurement.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
except ImportError:
    torch = None

LEARNING_RATE = 0.02
SMALL_OPS = 1000


def say(text):
    print(text, flush=True)


def short(error):
    return " ".join(str(error).split())[:100] or type(error).__name__


def make_model(name):
    nn = torch.nn
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                             nn.Linear(128, 10))
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, 10))


class Step:
    """One way to run the training step of one case."""

    def __init__(self, model, batch, precision, compiled):
        torch.manual_seed(1)
        self.layout = torch.channels_last if model == "cnn" else torch.contiguous_format
        self.model = make_model(model).cuda().to(memory_format=self.layout)
        momentum = 0.9 if model == "cnn" else 0.0
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=momentum, fused=True)
        self.x = torch.rand(batch, 1, 28, 28, device="cuda").to(memory_format=self.layout)
        self.y = torch.randint(10, (batch,), device="cuda")
        self.half = precision == "bfloat16"
        self.forward = self.loss
        self.compiled = compiled
        if compiled:
            # Code compiled for another batch size would be recompiled for any batch size.
            torch._dynamo.reset()
            self.forward = torch.compile(self.loss, mode="reduce-overhead", dynamic=False)

    def loss(self):
        with torch.autocast("cuda", torch.bfloat16) if self.half else contextlib.nullcontext():
            return torch.nn.functional.cross_entropy(self.model(self.x), self.y)

    def once(self):
        if self.compiled:
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        self.forward().backward()
        self.optimizer.step()


class Captured:
    """The step as one CUDA graph."""

    def __init__(self, step):
        self.step = step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step.once()
        torch.cuda.current_stream().wait_stream(side)
        step.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            step.forward().backward()
            step.optimizer.step()

    def once(self):
        self.graph.replay()


def run_steps(step, count):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        step.once()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def microseconds(step, seconds):
    """Returns the microseconds of one step, the median of three measurements."""
    run_steps(step, 10)
    count = max(10, min(4000, int(seconds / run_steps(step, 10))))
    return 1e6 * statistics.median(run_steps(step, count) for _ in range(3))


def set_precision(precision):
    tf32 = precision != "float32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True


def variants(model, batch, precision, compiler):
    """Returns by name a step, or the reason why there is none."""
    set_precision(precision)
    makers = {"eager": lambda: Step(model, batch, precision, False),
              "compiled": lambda: Step(model, batch, precision, True),
              "captured": lambda: Captured(Step(model, batch, precision, False))}
    steps = {}
    for name, make in makers.items():
        if name == "compiled" and not compiler:
            steps[name] = "-"
            continue
        try:
            steps[name] = make()
            run_steps(steps[name], 5)
        except Exception as error:  # a compiler that is not there, for instance
            steps[name] = short(error)
    return steps


class Ours:
    """The program of Troupe, with its libraries."""

    def __init__(self, options):
        self.options = options
        self.environment = {**os.environ, "LD_LIBRARY_PATH": options.library_path}

    def microseconds(self, model, batch, precision):
        """Returns a number, or the reason why there is none."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            command = [self.options.ours, "step", "--data", self.options.data, "--model", model, "--batch", str(batch),
                       "--precision", precision, "--seconds", str(self.options.seconds), "--repetitions", "1", "--json",
                       path]
            try:
                done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=60)
            except (OSError, subprocess.TimeoutExpired) as error:
                return short(error)
            say(done.stdout.strip())
            if done.returncode != 0:
                return short(done.stdout[-100:])
            with open(path, encoding="utf-8") as file:
                return json.load(file)[0]["microseconds"]


def median_or_reason(values):
    reasons = [value for value in values if not isinstance(value, float)]
    return str(reasons[0]) if reasons else f"{statistics.median(values):.1f}"


def microseconds_or_reason(step, seconds):
    try:
        return microseconds(step, seconds)
    except Exception as error:  # after a fault of the GPU, Troupe can still be measured
        return short(error)


def compare(case, compiler, ours, options):
    model, batch, precision = case.split(":")
    steps = {} if options.only_ours else variants(model, int(batch), precision, compiler)
    figures = {name: [] for name in ("ours", "eager", "compiled", "captured")}
    for _ in range(options.repetitions if compiler else 1):
        figures["ours"].append(ours.microseconds(model, batch, precision))
        for name in ("eager", "compiled", "captured"):
            step = steps.get(name, "-")
            figures[name].append(step if isinstance(step, str) else microseconds_or_reason(step, options.seconds))
    return [median_or_reason(values) for values in figures.values()]


def small_ops():
    """Returns the microseconds of one of many small consecutive additions, or the reason why there are none."""
    x = torch.zeros(16, 8, device="cuda")

    class Additions:
        @staticmethod
        def once():
            y = x
            for _ in range(SMALL_OPS):
                y = y + 1e-3

    taken = microseconds_or_reason(Additions, 0.3)
    return taken if isinstance(taken, str) else f"{taken / SMALL_OPS:.2f}"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, metavar="PROGRAM", help="our benchmark: build/bench/gpu_bench")
    parser.add_argument("--library-path", default=os.environ.get("LD_LIBRARY_PATH", ""), help="for our program")
    parser.add_argument("--only-ours", action="store_true", help="measure no PyTorch")
    parser.add_argument("--case", action="append", default=[], metavar="MODEL:BATCH:PRECISION")
    parser.add_argument("--case-without-compiler", action="append", default=[], metavar="MODEL:BATCH:PRECISION")
    parser.add_argument("--repetitions", type=int, default=3, help="of a case with the compiler; others have one")
    parser.add_argument("--seconds", type=float, default=0.2, help="of one measurement")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--table", required=True, help="file to which a line a case is written")
    options = parser.parse_args()
    if torch is None and not options.only_ours:
        sys.exit("torch_step_cuda.py: Python has no PyTorch: use --only-ours")
    return options


def main():
    options = parse_options()
    ours = Ours(options)
    say("us a step: case, ours, eager, compiled, captured" + ("" if torch is None else f" (PyTorch {torch.__version__})"))
    with open(options.table, "w", encoding="utf-8") as table:
        cases = [(case, True) for case in options.case] + [(case, False) for case in options.case_without_compiler]
        if not options.only_ours:
            table.write(f"op-time\t{small_ops()}\n")
        for case, compiler in cases:
            line = "\t".join([case, *compare(case, compiler, ours, options)])
            say(line)
            table.write(line + "\n")
            table.flush()


if __name__ == "__main__":
    main()
