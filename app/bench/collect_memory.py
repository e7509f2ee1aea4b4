"""How much memory collecting takes at most, over what comes out of it.

Chunks are made one after the other in a fresh process and live only in the collector.
Linux tells the most that was resident at once (VmHWM), and can be told to forget what
went before; elsewhere nothing is known.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from isoscope.core.errors import ReadError

CLEAR = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")
FORGET_PEAK = "5"


def peak_and_output() -> tuple[int, int] | None:
    """Bytes at most above what was there before, and of the output; None if unknown.

    Raises
    ------
    ReadError
        If the process failed.
    """
    if resident("VmHWM:") is None or not CLEAR.exists():
        return None
    done = subprocess.run(
        [sys.executable, "-P", "-m", "isoscope.app.bench.collect_memory"],
        capture_output=True,
        text=True,
        check=False,
    )
    numbers = done.stdout.split()
    if done.returncode or len(numbers) != 2:
        raise ReadError(
            "watching the memory of collecting", sys.executable, "it failed"
        )
    return int(numbers[0]), int(numbers[1])


def resident(field: str) -> int | None:
    """A size of this process in bytes, by its name in the status; None if unknown."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(field):
            return int(line.removeprefix(field).split()[0]) * 1024
    return None


def main() -> None:
    """Collect once to warm up with a few rows, then once in earnest."""
    import torch

    from isoscope.app.bench import collect_load as load

    torch.set_num_threads(1)
    into = load.collector()
    generator = torch.Generator().manual_seed(load.SEED)
    for policy_or_env in load.Chunk.make(generator).parts(load.key_of(1, 0)):
        into.collect(policy_or_env, None)  # imports what is imported late
    into.discard(load.key_of(1, 0))
    before = resident("VmRSS:") or 0
    CLEAR.write_text(FORGET_PEAK)
    came: list[tuple[Any, Any]] = []
    for chunk_id in range(load.CHUNKS):
        for part in load.Chunk.make(generator).parts(load.key_of(0, chunk_id)):
            came += into.collect(part, None)
        del part
    peak = (resident("VmHWM:") or 0) - before
    ((_, trajectory),) = came
    print(peak, load.read(list(load.tensors_of(trajectory))))  # noqa: T201


if __name__ == "__main__":
    main()
