#!/usr/bin/python3
"""Writes my.pt, a small network that Feroma can train: `model = "my.pt"`.

Needs Debian's python3-torch. A model for Feroma exports two methods beside forward:
features(x) gives one row per sample (the latent that profiles summarise), head(z) gives the logits,
and forward(x) must be head(features(x)).

    ./make_model.py [FILE] [CHANNELS] [SIZE] [CLASSES]     e.g. my.pt 3 28 10
"""
import sys

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self, channels: int, size: int, classes: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Flatten())
        with torch.no_grad():
            width = self.body.eval()(torch.zeros(1, channels, size, size)).shape[1]
        self.last = nn.Linear(width, classes)

    @torch.jit.export
    def features(self, x):
        return self.body(x)

    @torch.jit.export
    def head(self, z):
        return self.last(z)

    def forward(self, x):
        return self.head(self.features(x))


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "my.pt"
    channels, size, classes = (int(a) for a in (sys.argv[2:5] + ["3", "28", "10"][len(sys.argv[2:5]):]))
    torch.manual_seed(1)
    torch.jit.script(Small(channels, size, classes)).save(name)
    print(f"wrote {name}: {channels} x {size} x {size} pictures, {classes} classes")


if __name__ == "__main__":
    main()
