"""What a process that watches a run has freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# One large block that is freed has glibc keep such ones, and small ones that stay lie
# between those of then on.
CHURN = """
import sys
import numpy as np
from isoscope.core.live.heap import give_back_freed
from tests.live.resident import resident_bytes
if sys.argv[1] == "set":
    assert give_back_freed()
before = resident_bytes()
np.ones(1 << 19, np.uint8)
large, small = [], []
for _ in range(40):
    large.append(np.ones(1 << 18, np.uint8))
    small.append(np.ones(20_000, np.uint8))
large.clear()
print(resident_bytes() - before)
"""


# Small blocks of which one in a hundred stays: none of what was freed is at the end.
HOLES = """
import sys
from isoscope.core.live.heap import give_back_freed, give_back_holes
from tests.live.resident import resident_bytes
assert give_back_freed()
before = resident_bytes()
many = [bytearray(5_000) for _ in range(4_000)]
kept = many[99::100]
del many
if sys.argv[1] == "set":
    assert give_back_holes()
print(resident_bytes() - before)
"""


def grown_by(how: str, what: str = CHURN) -> int:
    done = subprocess.run(
        [sys.executable, "-c", what, how],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the C library of Linux")
def test_what_was_freed_is_given_back() -> None:
    assert grown_by("set") < 1 << 21 < grown_by("unset")


@pytest.mark.skipif(sys.platform != "linux", reason="asks the C library of Linux")
def test_holes_between_blocks_in_use_are_given_back() -> None:
    assert grown_by("set", HOLES) < 1 << 22 < 1 << 24 < grown_by("unset", HOLES)
