"""Starling's nets in PyTorch, without their heads (net/model.cc): pictures in, features out."""
from torch import nn


def minatar(channels):
    """(N, channels, 10, 10) to (N, 128)."""
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 8 * 8, 128), nn.ReLU()
    )


def atari(channels):
    """(N, channels, 84, 84) to (N, 256), the A3C paper's."""
    return nn.Sequential(
        nn.Conv2d(channels, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 9 * 9, 256), nn.ReLU(),
    )  # fmt: skip


WIDTH = {minatar: 128, atari: 256}
