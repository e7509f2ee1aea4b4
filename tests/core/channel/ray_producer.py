"""A producer in a process of its own: `python -m ... CHANNEL NAME WHAT`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import torch

from isoscope.core.channel.ray_channel import RayChannel
from isoscope.core.channel.ray_cluster import leave_cluster


def items(name: str) -> list[Any]:
    """Give what a producer of this name puts: small things and large ones."""
    chance = torch.Generator().manual_seed(sum(name.encode()))
    return [
        {"n": n, "x": torch.randn(4 + 60_000 * (n % 2), generator=chance)}
        for n in range(6)
    ]


def main() -> None:
    channel_name, name, what = sys.argv[1:]
    channel = RayChannel.connect(channel_name)
    with channel.producer(name) as sender:
        for item in items(name) if what == "tensors" else [(name, 1), (name, 1)]:
            sender.put(item)
        if what == "die":
            sender.put((name, 2))
            os.kill(os.getpid(), signal.SIGKILL)
    leave_cluster()


if __name__ == "__main__":
    main()
