"""Export again and again, until somebody ends it; or under a limit of file sizes.

python -m tests.core.dataset.exporters.exporting_child kill FORMAT TARGET
python -m tests.core.dataset.exporters.exporting_child full FORMAT TARGET SEED
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np

from isoscope.core.dataset.exporters.run import export
from isoscope.core.errors import WriteError
from tests.core.dataset.made import FEATURES, made

LENGTHS = ((40, 3), (7, 60, 2))


def kill(format: str, target: Path) -> None:
    sources = [made(lengths, FEATURES) for lengths in LENGTHS]
    export(sources[0], format, target)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for source in reversed(sources):
            export(source, format, target, overwrite=True)


def full(format: str, target: Path, seed: int) -> None:
    """Twenty limits below the largest file; prints each message."""
    old, new = made(LENGTHS[0]), made(LENGTHS[1])
    export(new, format, target.with_name("whole-v0"))
    whole = target.with_name("whole-v0")
    files = [whole] if whole.is_file() else [p for p in whole.rglob("*") if p.is_file()]
    most = max(p.stat().st_size for p in files)
    export(old, format, target)
    rng = np.random.default_rng(seed)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for limit in rng.integers(0, most, 20).tolist():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        message = "NO ERROR"
        try:
            export(new, format, target, overwrite=True)
        except WriteError as error:
            message = str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        left = sorted(p.name for p in target.parent.iterdir())
        sys.stdout.write(f"{limit}\t{left}\t{message}\n")


if __name__ == "__main__":
    command, format_, target_, *rest = sys.argv[1:]
    if command == "kill":
        kill(format_, Path(target_))
    else:
        full(format_, Path(target_), int(rest[0]))
