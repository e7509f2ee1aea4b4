"""Damaged datasets through the readers: `python -m tests.fuzz.datasets --count N`.

A file of a dataset is damaged, and all of it is opened and read, in another process
that is watched: it must come out as episodes or as one line of error, in time, and
write nothing. A process that ends or hangs is a failure of the mutant it was at.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import IsoscopeError
from isoscope.core.recording.registry import open_source
from tests.core.dataset.made import FEATURES, made
from tests.core.dataset.readers import foreign
from tests.fuzz.mutations import mutate

ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 20.0
MEMORY_LIMIT = 8 << 30  # address space


def seeds(folder: Path) -> list[Path]:
    """The datasets that are damaged."""
    source = made((3, 5, 2), FEATURES)
    out = [
        foreign.robomimic(folder / "robomimic.hdf5"),
        foreign.robomimic(folder / "isaac.hdf5", next_obs=False),
        foreign.maniskill(folder / "maniskill"),
        foreign.minari(folder / "minari-v0"),
        foreign.minari(folder / "arrow-v0", kind="arrow"),
        foreign.lerobot(folder / "lerobot"),
        foreign.lerobot(folder / "lerobot2", version="v2.1"),
    ]
    for format in ("lerobot", "robomimic", "shards"):
        out.append(export(source, format, folder / f"our-{format}").path)
    return out


def files_of(path: Path) -> list[Path]:
    """The files of a dataset."""
    if path.is_file():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file())


def judge(path: Path) -> str:
    """Read all of it; what came of it, or what is wrong after ``WRONG``."""
    before = {p: p.read_bytes() for p in files_of(path)}
    try:
        outcome = _read(path)
    except IsoscopeError as error:
        line = str(error)
        outcome = "error" if line and line.isprintable() else f"WRONG line {line!r}"
    if {p: p.read_bytes() for p in files_of(path)} != before:
        return "WRONG the source was changed"
    return outcome


def _read(path: Path) -> str:
    found = open_episodes(path)
    problems: list[str] = []
    try:
        for episode in list(found.episodes)[:50]:
            for feature in found.features:
                rows = found.read(episode.index, feature.name, 0, 1000)
                if rows.shape[1:] != feature.shape or rows.dtype != feature.dtype:
                    return f"WRONG shape of {feature.name}"
        problems = getattr(found, "problems", [])
    finally:
        found.close()
    for line in problems:
        if not line.isprintable():
            return f"WRONG problem {line!r}"
    source = open_source(path)
    try:
        source.preview()
        source.index()
    finally:
        source.close()
    return "read, told" if problems else "read, whole"


def worker(seed: int, start: int, stop: int) -> None:
    """Judge mutants; writes a line for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="isoscope-fuzz-") as name:
        folder = Path(name)
        chosen = seeds(folder)
        for number in range(start, stop):
            chance = random.Random(f"{seed}:{number}")
            path = chance.choice(chosen)
            copy = folder / "mutants" / path.name
            if path.is_dir():
                shutil.copytree(path, copy)
            else:
                copy.parent.mkdir()
                shutil.copy(path, copy)
            target = chance.choice(files_of(copy))
            content, what = mutate(target.read_bytes(), chance)
            target.write_bytes(content)
            label = f"{path.name}: {what} in {target.name}"
            sys.stdout.write(f"at\t{number}\t{label}\n")
            sys.stdout.flush()
            outcome = judge(copy)
            sys.stdout.write(f"done\t{number}\t{outcome}\n")
            sys.stdout.flush()
            shutil.rmtree(copy.parent)


@dataclass
class Tally:
    """All results so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def fuzz(count: int, seed: int, first: int = 0) -> Tally:
    """Judge so many mutants."""
    tally = Tally()
    start, stop = first, first + count
    while start < stop:
        start = _watched(seed, start, stop, tally)
    return tally


def _watched(seed: int, start: int, stop: int, tally: Tally) -> int:
    """Run a worker until it ends; the number to go on with."""
    command = [sys.executable, "-m", "tests.fuzz.datasets", "--worker"]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [*command, str(seed), str(start), str(stop)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ) as process,
    ):
        assert process.stdout is not None
        at, label, kept = start, "nothing yet", b""
        while True:
            ready, _, _ = select.select([process.stdout], [], [], TIME_LIMIT_S)
            chunk = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if not chunk:
                break
            *lines, kept = (kept + chunk).split(b"\n")
            for line in lines:
                kind, number, text = line.decode().split("\t", 2)
                at, label = int(number), text if kind == "at" else label
                if kind == "done":
                    tally.outcomes[text.split()[0]] += 1
                    if text.startswith("WRONG"):
                        tally.failures.append(f"{at} {label}: {text}")
                    at += 1
        hung = not ready
        if hung:
            process.kill()
        code = process.wait()
        if hung or code:
            errors.seek(0)
            told = "no answer in time" if hung else f"it ended with {code}"
            tally.failures.append(f"{at} {label}: {told} {errors.read()[-1500:]}")
            at += 1
    return at


def main() -> int:
    """Run; status 1 if a reader failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", nargs=3, type=int)
    asked = parser.parse_args()
    if asked.worker:
        worker(*asked.worker)
        return 0
    tally = fuzz(asked.count, asked.seed)
    for failure in tally.failures:
        sys.stdout.write(f"{failure}\n")
    sys.stdout.write(f"{dict(tally.outcomes)}, {len(tally.failures)} failures\n")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
