#!/usr/bin/env python3
"""Compares the training steps of bench/model_speed with PyTorch.

PyTorch runs eager and compiled, on one and on two threads, images also with the channels last. Troupe runs as a program
in between, so that a change of the machine's speed affects both. The best setting of each side counts. With --bfloat16
both compute in bfloat16, PyTorch by its autocast.

With --loss TEXT, trains the character-level GPT of examples/char_gpt on that text instead, in the same order of the
data and with the same optimizer, and prints the mean loss of the last 100 steps.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"torch_models.py: Python has no module '{error.name}': pip install torch numpy")

from transformer_block import TransformerBlock

nn = torch.nn
CHARACTERS, TIMES = 65, 128
BATCHES = {"gpt": 16, "resnet20": 128, "lstm": 32}


class Gpt(nn.Module):
    def __init__(self, characters, layers=4, heads=4, width=128, times=TIMES):
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.position = nn.Parameter(torch.empty(times, width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embedding(x) + self.position)))


class Lstm(nn.Module):
    def __init__(self, characters, units=256):
        super().__init__()
        self.embedding = nn.Embedding(characters, 128)
        self.lstm = nn.LSTM(128, units, batch_first=True)
        self.head = nn.Linear(units, characters)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0])


class Residual(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                                  nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet20():
    layers, channels = [nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for stage in range(3):
        for block in range(3):
            layers.append(Residual(channels, 16 << stage, 2 if stage > 0 and block == 0 else 1))
            channels = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def make_model(name):
    return {"gpt": lambda: Gpt(CHARACTERS), "lstm": lambda: Lstm(CHARACTERS), "resnet20": resnet20}[name]()


class Step:
    """One way to run the training step of one model."""

    def __init__(self, name, batch, compiled, layout, bfloat16):
        torch.manual_seed(1)
        self.batch = batch
        self.bfloat16 = bfloat16
        model = make_model(name)
        if name == "resnet20":
            self.x, self.y = torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))
            if layout == "channels_last":
                model, self.x = (value.to(memory_format=torch.channels_last) for value in (model, self.x))
            self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)
        else:
            self.x, self.y = (torch.randint(CHARACTERS, (batch, TIMES)) for _ in range(2))
            self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
        self.model = torch.compile(model) if compiled else model
        self.seconds_per_step = None

    def once(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            y = self.model(self.x)
            loss = nn.functional.cross_entropy(y.view(-1, y.shape[-1]), self.y.view(-1))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def speed(self, threads, seconds):
        """Returns samples per second."""
        torch.set_num_threads(threads)
        if self.seconds_per_step is None:
            self.once()
            begin = time.perf_counter()
            self.once()
            self.seconds_per_step = time.perf_counter() - begin
        steps = max(2, int(seconds / self.seconds_per_step))
        self.once()
        begin = time.perf_counter()
        for _ in range(steps):
            self.once()
        return steps * self.batch / (time.perf_counter() - begin)


def speed_of_ours(program, model, batch, seconds, bfloat16):
    precision = "bfloat16" if bfloat16 else "float32"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        subprocess.run([program, "--model", model, "--batch", str(batch), "--seconds", str(seconds), "--repetitions", "1",
                        "--precision", precision, "--json", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return max(row["samples_per_second"] for row in json.load(file))


def compare(model, arguments):
    batch = arguments.batch or BATCHES[model]
    layouts = ["default", "channels_last"] if model == "resnet20" else ["default"]
    steps = {}
    for compiled in (False, True):
        for layout in layouts:
            for threads in (1, 2):
                if compiled:
                    # Compiled code depends on the number of threads.
                    torch.set_num_threads(threads)
                key = ("compiled" if compiled else "eager", layout, threads)
                steps[key] = Step(model, batch, compiled, layout, arguments.bfloat16)
                try:
                    steps[key].speed(threads, 0.1)
                except Exception as error:  # a compiler that is not there, for instance
                    print(f"{key}: {type(error).__name__}", file=sys.stderr)
                    del steps[key]
    figures = {key: [] for key in steps}
    ours = []
    for _ in range(arguments.repetitions):
        ours.append(speed_of_ours(arguments.ours, model, batch, arguments.seconds, arguments.bfloat16))
        for key, step in steps.items():
            figures[key].append(step.speed(key[2], arguments.seconds))
    for key, values in figures.items():
        print(f"{model} batch {batch}  PyTorch {' '.join(map(str, key))} threads: {statistics.median(values):.1f} samples/s")
    best = max(figures, key=lambda key: statistics.median(figures[key]))
    ratio = statistics.median(a / b for a, b in zip(ours, figures[best]))
    print(f"{model} batch {batch}  ours {statistics.median(ours):.1f} samples/s, {ratio:.2f} of PyTorch {torch.__version__}'s best "
          f"({', '.join(map(str, best))} threads)", flush=True)


def train_on_text(arguments):
    with open(arguments.loss, encoding="latin-1") as file:
        text = file.read()
    characters = sorted(set(text))
    number = {character: i for i, character in enumerate(characters)}
    codes = torch.tensor([number[character] for character in text])
    torch.manual_seed(arguments.seed)
    model = Gpt(len(characters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    windows = (len(codes) - 1) // TIMES
    batch = arguments.batch or BATCHES["gpt"]
    losses = []
    # Visits all windows of the text, in its order with a stride, as examples/char_gpt does.
    for step in range(arguments.steps):
        rows = [(step * batch + i) * 7919 % windows for i in range(batch)]
        x = torch.stack([codes[row * TIMES:(row + 1) * TIMES] for row in rows])
        y = torch.stack([codes[row * TIMES + 1:(row + 1) * TIMES + 1] for row in rows])
        logits = model(x)
        loss = nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}  loss {statistics.mean(losses[-100:]):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", help="the program bench/model_speed")
    parser.add_argument("--model", choices=sorted(BATCHES), nargs="+", default=sorted(BATCHES))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--bfloat16", action="store_true", help="compute in bfloat16")
    parser.add_argument("--seconds", type=float, default=2.0, help="of one measurement")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--loss", metavar="TEXT", help="train on this text")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.loss and arguments.bfloat16:
        parser.error("--loss trains in float32")
    if arguments.loss:
        train_on_text(arguments)
    elif arguments.ours:
        for model in arguments.model:
            compare(model, arguments)
    else:
        parser.error("needs --ours or --loss")


if __name__ == "__main__":
    main()
