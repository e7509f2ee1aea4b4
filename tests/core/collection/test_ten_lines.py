"""The collector from Python in ten lines, as users are shown it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import pytest

README = Path(__file__).parents[3] / "README.md"
TEN_LINES = """
from isoscope.core.channel.local import LocalChannel
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.run import channel_settings
from isoscope.core.collection.settings import CollectSettings

run = CollectSettings(env="CartPole-v1", envs=8, chunk=4, steps=256)
channel = LocalChannel("parts", **channel_settings(run))
with channel.producer("rollout") as sender:
    Producer(run, sender).run_step(0)
for trajectory in channel.items(consumer=0):
    print(trajectory.actions.shape, trajectory.rewards.sum().item())
"""


def shown() -> str:
    """Give the lines that the README shows, or those it is to show."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    return next((b for b in blocks if "channel_settings" in b), TEN_LINES)


def test_ten_lines_collect_a_trajectory(capsys: pytest.CaptureFixture[str]) -> None:
    code = shown()
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    exec(compile(code, "README", "exec"), {})
    (line,) = capsys.readouterr().out.splitlines()
    shape, rewards = line.rsplit(" ", 1)
    assert shape == str(torch.Size([64, 8, 4]))
    assert 8 < float(rewards) <= 8 * 256 * 1.99  # a step earns 1, or is completed
