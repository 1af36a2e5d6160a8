#!/usr/bin/env python3
"""Measures training steps of GPT-2 124M and ResNet-50 in PyTorch on a GPU, eager and compiled, in bfloat16 by autocast.
The models and optimizers are those of bench/gpu/large_models.cpp. Batches are on the GPU, images with channels last.
Prints figures for bench/gpu/queue.
"""

import argparse
import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("torch_large_models.py: Python has no PyTorch")

from transformer_block import TransformerBlock

nn = torch.nn
GPT2 = {"layers": 12, "width": 768, "length": 1024, "classes": 50257}
RESNET50 = {"layers": 6, "width": 64, "length": 224, "classes": 1000}
BLOCKS = (3, 4, 6, 3)


class Gpt2(nn.Module):
    """GPT-2, whose embedding is also the matrix of the logits."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["width"]
        self.embedding = nn.Embedding(sizes["classes"], width)
        self.position = nn.Parameter(0.02 * torch.randn(sizes["length"], width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, max(1, width // 64), "tanh") for _ in range(sizes["layers"])))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens):
        x = self.norm(self.blocks(self.embedding(tokens) + self.position))
        return nn.functional.linear(x, self.embedding.weight).flatten(0, 1)


def convolution(channels, filters, size, stride=1):
    return [nn.Conv2d(channels, filters, size, stride, size // 2, bias=False), nn.BatchNorm2d(filters)]


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride, first_of_stage):
        super().__init__()
        self.body = nn.Sequential(*convolution(channels, width, 1), nn.ReLU(inplace=True),
                                  *convolution(width, width, 3, stride), nn.ReLU(inplace=True),
                                  *convolution(width, 4 * width, 1))
        self.shortcut = nn.Sequential(*convolution(channels, 4 * width, 1, stride)) if first_of_stage else nn.Identity()

    def forward(self, x):
        return torch.relu_(self.body(x) + self.shortcut(x))


def resnet50(sizes):
    channels = sizes["width"]
    layers = [*convolution(3, channels, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    for stage, count in enumerate(BLOCKS):
        width = sizes["width"] << stage
        for block in range(min(count, sizes["layers"])):
            layers.append(Bottleneck(channels, width, 2 if stage > 0 and block == 0 else 1, block == 0))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, sizes["classes"]))


class Step:
    """One way to run the training step of a model."""

    def __init__(self, name, sizes, batch, device, compiled):
        torch.manual_seed(1)
        self.device = device
        length, classes = sizes["length"], sizes["classes"]
        if name == "gpt2":
            self.model = Gpt2(sizes).to(device)
            self.x = torch.randint(classes, (batch, length), device=device)
            self.y = torch.randint(classes, (batch * length,), device=device)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, weight_decay=0.01, fused=True)
        else:
            self.model = resnet50(sizes).to(device, memory_format=torch.channels_last)
            self.x = torch.rand(batch, 3, length, length, device=device).to(memory_format=torch.channels_last)
            self.y = torch.randint(classes, (batch,), device=device)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=True)
        self.loss = torch.compile(self.eager_loss, dynamic=False) if compiled else self.eager_loss

    def eager_loss(self):
        with torch.autocast(self.device, torch.bfloat16):
            return nn.functional.cross_entropy(self.model(self.x), self.y)

    def once(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self.optimizer.step()


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def milliseconds(step, seconds):
    """Returns the milliseconds of one step, the median of three measurements."""

    def measure(count):
        wait(step.device)
        begin = time.perf_counter()
        for _ in range(count):
            step.once()
        wait(step.device)
        return 1e3 * (time.perf_counter() - begin) / count

    measure(3)
    count = max(3, min(200, int(1e3 * seconds / measure(3))))
    return statistics.median(measure(count) for _ in range(3))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("gpt2", "resnet50"), required=True)
    parser.add_argument("--batch", type=int, required=True)
    for name in GPT2:
        parser.add_argument(f"--{name}", type=int, help="of the model; the published one's by default")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=1.0, help="of one measurement")
    return parser.parse_args()


def main():
    options = parse_options()
    sizes = dict(GPT2 if options.model == "gpt2" else RESNET50)
    sizes.update({name: getattr(options, name) for name in sizes if getattr(options, name)})
    counted, unit = (options.batch * sizes["length"], "tokens") if options.model == "gpt2" else (options.batch, "images")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    print(f"PyTorch {torch.__version__}", flush=True)
    for name in ("eager", "compiled"):
        step = Step(options.model, sizes, options.batch, options.device, name == "compiled")
        figure = f"peer_{options.model}_{name}"
        ms = milliseconds(step, options.seconds)
        print(f"figure {figure}_ms {ms:.3f} ms")
        print(f"figure {figure}_{unit}_per_s {1e3 * counted / ms:.0f} {unit}/s", flush=True)
        if options.device == "cuda":
            print(f"figure {figure}_gb {torch.cuda.max_memory_allocated() / 1e9:.2f} GB", flush=True)
            torch.cuda.reset_peak_memory_stats()
        del step
        if options.device == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
