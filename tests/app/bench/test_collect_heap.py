"""Memory that is freed and asked for again isn't fetched from the system once more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from isoscope.app.bench.collect_heap import keep_freed

AGAIN = """
import resource
import torch
from isoscope.app.bench.collect_heap import keep_freed

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [torch.ones(1 << 22) for _ in range(6)]  # of 16 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed()
print(*[faults() for _ in range(4)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="tells of glibc's heap")
def test_freed_memory_is_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", AGAIN],
        capture_output=True,
        text=True,
        check=True,
    )
    first, *_, last = map(int, done.stdout.split())
    assert first > 1000
    assert last < first / 10


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed()
