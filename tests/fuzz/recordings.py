"""Damaged recordings through the reader: `python -m tests.fuzz.recordings --count N`.

Each mutant is opened, previewed and indexed by a process of its own, with a time limit
and a memory limit. It must come out as a recording or as one line of error; and what
comes out must equal what plain h5py reads of the same mutant. What fails is kept.

The reader starts processes itself, which are looked after with it.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from isoscope.core.errors import IsoscopeError
from isoscope.core.jsonform import encode
from isoscope.core.recording.info import info
from isoscope.core.recording.problems import MAX_KINDS
from isoscope.core.recording.registry import open_source
from tests.fuzz import made
from tests.fuzz.mutations import mutate
from tests.fuzz.reference import differences

DATA = Path(__file__).parent.parent / "data"
# The small real files, and one with contacts and one with an articulation.
REAL = (
    "no_state",
    "post_callback",
    "variable_steps",
    "create_destroy",
    "soft_body",
    "restore_twice",
    "rigid_contacts_all",
    "independent_cartpole_env0",
)
STATES = ("cartpole-1.0.1", "soft_body-1.0.0")
TIME_LIMIT_S = 10.0
MEMORY_LIMIT = 6 << 30  # address space
RESIDENT_LIMIT_KB = 1 << 20


class Verdict(msgspec.Struct):
    """What one mutant came to; `wrong` is empty unless the reader failed."""

    outcome: str
    wrong: list[str]
    seconds: float = 0.0


@dataclass
class Run:
    """A mutant being read."""

    process: int
    pipe: int
    folder: Path
    started: float
    label: str
    answer: bytes = b""


@dataclass
class Tally:
    """All results so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    largest_kb: int = 0


def seeds(folder: Path) -> dict[str, bytes]:
    """The files that are damaged, by name."""
    found = {n: (DATA / "recordings" / f"{n}.h5").read_bytes() for n in REAL}
    found |= {n: (DATA / "states" / f"{n}.json").read_bytes() for n in STATES}
    for name, options in made.FORMS.items():
        path = made.recording(folder / f"{name}.h5", **options)
        found[name] = path.read_bytes()
        path.unlink()
    return found


def judge(path: Path, content: bytes) -> Verdict:
    """Read one mutant as the program does, and look at what comes out."""
    wrong: list[str] = []
    try:
        source = open_source(path)
        try:
            source.preview()
            source.index()
        finally:
            source.close()
    except IsoscopeError as error:
        line = str(error)
        if not line or not line.isprintable():
            wrong.append(f"the error is no line: {line!r}")
        return Verdict("error", wrong + _untouched(path, content))
    recording = source.recording
    if len(recording.problems) > MAX_KINDS + 1:
        wrong.append(f"{len(recording.problems)} problems")
    for problem in recording.problems:
        if not str(problem).isprintable():
            wrong.append(f"the problem is no line: {problem!r}")
    encode(info(recording))
    kept = "whole" if not recording.problems else "told"
    wrong += _untouched(path, content)
    return Verdict(f"recording, {kept}" if len(recording) else "no steps", wrong)


def _untouched(path: Path, content: bytes) -> list[str]:
    if path.read_bytes() != content or path.stat().st_mtime_ns != 0:
        return ["the source was changed"]
    names = sorted(p.name for p in path.parent.iterdir())
    return (
        [] if names == ["cache", path.name] else [f"files beside the source: {names}"]
    )


def _child(path: Path, content: bytes, pipe: int) -> None:
    """Judge in this (forked) process; never returns."""
    os.setpgid(0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(path.parent / "cache" / "stderr", os.O_WRONLY | os.O_CREAT), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["ISOSCOPE_CACHE_DIR"] = str(path.parent / "cache")
    started = time.monotonic()
    try:
        verdict = judge(path, content)
        verdict.seconds = time.monotonic() - started
        if verdict.seconds > TIME_LIMIT_S:
            # Once more, with nothing kept: it may have been the machine that was busy.
            os.environ["ISOSCOPE_CACHE_DIR"] = str(path.parent / "cache" / "again")
            started = time.monotonic()
            again = judge(path, content)
            verdict.seconds = min(verdict.seconds, time.monotonic() - started)
            verdict.wrong += again.wrong
        os.write(pipe, msgspec.msgpack.encode(verdict) + b"\n\n")
        if verdict.outcome.startswith("recording"):
            # From here on h5py may crash on the mutant: that is not our failure.
            source = open_source(path)
            source.index()
            source.close()
            try:
                wrong = differences(path, source.recording)
            except (OSError, KeyError, RuntimeError, ValueError, TypeError):
                wrong = []
            os.write(pipe, msgspec.msgpack.encode(wrong))
    except BaseException as error:  # noqa: BLE001  # the process ends here
        os.write(pipe, msgspec.msgpack.encode(Verdict(f"{error!r}", [f"{error!r}"])))
        os._exit(1)
    os._exit(0)


def start(content: bytes, folder: Path, label: str) -> Run:
    """Fork a process that judges this mutant."""
    (folder / "cache").mkdir(parents=True)
    path = folder / "mutant.h5"
    path.write_bytes(content)
    os.utime(path, ns=(0, 0))
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _child(path, content, writing)
    os.close(writing)
    return Run(process, reading, folder, time.monotonic(), label)


def finish(run: Run, tally: Tally, keep: Path) -> None:
    """Collect a process that ended or has to end, and count what it found."""
    _, status, usage = os.wait4(run.process, 0)
    os.close(run.pipe)
    first, _, second = run.answer.partition(b"\n\n")
    wrong: list[str] = []
    try:
        verdict = msgspec.msgpack.decode(first, type=Verdict)
        wrong += verdict.wrong
        outcome = verdict.outcome
        tally.slowest_s = max(tally.slowest_s, verdict.seconds)
        if verdict.seconds > TIME_LIMIT_S:
            wrong.append(f"took {verdict.seconds:.1f} s")
        if second:
            wrong += msgspec.msgpack.decode(second, type=list[str])
    except msgspec.MsgspecError:
        outcome = "crash" if os.WIFSIGNALED(status) else "no answer"
        wrong.append(f"{outcome} (status {status})")
    tally.largest_kb = max(tally.largest_kb, usage.ru_maxrss)
    if usage.ru_maxrss > RESIDENT_LIMIT_KB:
        wrong.append(f"took {usage.ru_maxrss >> 10} MB of memory")
    tally.outcomes[outcome if not wrong else f"FAILED: {outcome}"] += 1
    if wrong:
        kept = keep / f"{run.label}.h5"
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / "mutant.h5", kept)
        tally.failures.append(f"{kept}: {'; '.join(wrong[:3])}")
    shutil.rmtree(run.folder)


def fuzz(count: int, seed: int, jobs: int, keep: Path) -> Tally:
    """Read `count` mutants, `jobs` at once."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="isoscope-fuzz-") as name:
        base = Path(name)
        files = seeds(base)
        running: list[Run] = []
        number = 0
        while number < count or running:
            while number < count and len(running) < jobs:
                chance = random.Random(seed * 1_000_003 + number)
                which = chance.choice(sorted(files))
                content, how = mutate(files[which], chance)
                label = f"{seed}-{number}-{which}-{how}"
                running.append(start(content, base / str(number), label))
                number += 1
                if number % 100 == 0:
                    print(f"{number} of {count}", file=sys.stderr)  # noqa: T201
            select.select([run.pipe for run in running], [], [], 0.2)
            for run in list(running):
                if _ended(run):
                    running.remove(run)
                    finish(run, tally, keep)
    return tally


def _ended(run: Run) -> bool:
    """Read what there is; whether the process is over, or has to be."""
    while select.select([run.pipe], [], [], 0)[0]:
        piece = os.read(run.pipe, 1 << 16)
        if not piece:
            return True
        run.answer += piece
    # Twice the limit: the comparison reads the file a second time.
    if time.monotonic() - run.started > 3 * TIME_LIMIT_S:
        os.killpg(run.process, signal.SIGKILL)
        return True
    return False


def main() -> int:
    """Run from the command line; exit status 1 if the reader failed on any mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"))
    chosen = parser.parse_args()
    started = time.monotonic()
    tally = fuzz(chosen.count, chosen.seed, chosen.jobs, chosen.keep)
    took = time.monotonic() - started
    for outcome, many in tally.outcomes.most_common():
        print(f"{many:6d}  {outcome}")  # noqa: T201
    print(  # noqa: T201
        f"{chosen.count} mutants in {took:.0f} s, slowest {tally.slowest_s:.1f} s, "
        f"largest {tally.largest_kb >> 10} MB, {len(tally.failures)} failures"
    )
    for failure in tally.failures[:20]:
        print(failure)  # noqa: T201
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
