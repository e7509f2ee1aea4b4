"""What spawned processes run in the tests; it has to be in a module."""

from __future__ import annotations

import os
import signal
from typing import Any

import torch

from isoscope.core.errors import UsageError


def count(sender: Any, first: int, how_many: int) -> None:
    for number in range(first, first + how_many):
        sender.put(number)


def tensors(sender: Any, seed: int, how_many: int) -> None:
    for number in range(how_many):
        chance = torch.Generator().manual_seed(seed + number)
        sender.put({"n": number, "x": torch.randn(3, 5, generator=chance)})


def fail(sender: Any) -> None:
    sender.put(1)
    raise UsageError("there is nothing to do")


def vanish(sender: Any, items: list[Any]) -> None:
    for item in items:
        sender.put(item)
    os.kill(os.getpid(), signal.SIGKILL)


def hear_the_error(sender: Any) -> None:
    """Put what is refused, and tell of the error through the channel."""
    try:
        sender.put({"bad": True}, timeout_s=3)
    except Exception as error:  # noqa: BLE001 whatever it is, the test looks at it
        sender.put((type(error).__name__, isinstance(error, ValueError), str(error)))


def echo(sender: Any) -> None:
    """Give back what comes on "there", until None does."""
    while (item := sender.get(key="there", consumer=sender.name)) is not None:
        sender.put(item, key="back")


def put_what_cannot_be_sent(sender: Any) -> None:
    sender.put(object())
