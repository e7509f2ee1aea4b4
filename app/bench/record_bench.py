"""What recording costs the real engine: by the tap, against without it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isoscope.core.tap
from isoscope.app.bench.sample import SAMPLE, unpacked
from isoscope.app.doctor.programs import SUPERDEX_PYTHON, VARIABLE
from isoscope.core.bench import Samples, ratio
from isoscope.core.errors import IsoscopeError, one_line
from isoscope.core.interpreters import find_python

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).with_name("record_engine.py")
ROUNDS, WARMUP = 31, 3
STEPS = 200  # control steps of a round
SUBSTEPS = 2
NATIVE_STEPS_OF_SAMPLE = 20_000
ASK = "import superdex.lab, superdex.physics, h5py, msgspec, zmq"
ASK_TIMEOUT_S = 60.0
SCENES = ("cartpole", "bodies")


class EngineError(IsoscopeError):
    """The engine's process did not do what it was asked."""


def run() -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Returns
    -------
    dict
        ``ratio_step``: a loop of ``env.step`` with the tap recording everything to a
        file, over without, on a CartPole; ``ratio_step_bodies`` on one with 24 boxes
        beside it. ``plain_us``, ``tapped_us``: of that, for each native step;
        ``bare_us``: of the scene's own step. ``ratio_bytes``: the file that the tap
        wrote, over the native recorder's, for each native step; ours holds more. All
        None where there is no engine: looked for in the Python of the environment
        variable that ``isoscope doctor`` names, or any of its version.
    """
    figures: dict[str, Any] = {"runs": ROUNDS}
    python = engine_python()
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        for scene in SCENES:
            suffix = "" if scene == SCENES[0] else f"_{scene}"
            found = None
            if python is not None:
                found = _measured(python, scene, Path(folder))
            figures |= _figures(found, suffix)
    native = _native_bytes()
    ours = figures.pop("bytes_per_step_bodies"), figures["bytes_per_step"]
    figures["ratio_bytes"] = ratio(ours[1], native)
    figures["native_bytes_per_step"] = native
    return figures


def engine_python() -> Path | None:
    """A Python that has the engine and what the tap needs, or None."""
    python = find_python(SUPERDEX_PYTHON, os.environ.get(VARIABLE))
    if python is None:
        return None
    try:
        done = subprocess.run(
            [str(python), "-c", ASK],
            capture_output=True,
            timeout=ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return python if done.returncode == 0 else None


@dataclass(frozen=True)
class Measured:
    """Seconds of each side by round; what the file came to."""

    sides: dict[str, Samples]
    bytes_per_step: float


def _measured(python: Path, scene: str, folder: Path) -> Measured:
    file = folder / f"{scene}.isoscope.h5"
    names = ("plain", "tapped", "bare")
    samples = {name: Samples() for name in names}
    with ExitStack() as stack:
        sides = {}
        for name in names:
            sides[name] = stack.enter_context(Side(python, name, scene, file, folder))
        for number in range(-WARMUP, ROUNDS):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                took = sides[name].take(STEPS)
                if number >= 0:
                    samples[name].seconds.append(took)
        rows = {name: side.end() for name, side in sides.items()}
    return Measured(samples, file.stat().st_size / rows["tapped"])


class Side:
    """A process of the engine's, which steps when it is told to."""

    def __init__(
        self, python: Path, side: str, scene: str, file: Path, folder: Path
    ) -> None:
        self._doing = f"measuring the {side} side in {python}"
        packages = folder / "packages"
        if not packages.exists():
            # Of ours it gets the core and nothing else, wherever that is installed.
            (packages / "isoscope").mkdir(parents=True)
            core = Path(isoscope.core.tap.__file__).resolve().parents[1]
            (packages / "isoscope" / "core").symlink_to(core)
        environ = {**os.environ, "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [str(python), str(SCRIPT), side, scene, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
            env=environ,
        )
        self._lines = self._answers()

    def take(self, count: int) -> float:
        """Take control steps; native ones for the bare scene. The seconds it took."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{count}\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it is gone: there is no answer either
        return float(self._answer())

    def end(self) -> int:
        """End it; the native steps that it took."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return int(self._answer())

    def _answers(self) -> Iterator[str]:
        assert self._process.stdout is not None
        yield from self._process.stdout

    def _answer(self) -> str:
        for line in self._lines:
            try:
                float(line)
            except ValueError:
                continue  # the engine's own words
            return line
        status = self._process.wait()
        raise EngineError(f"{self._doing}: it ended with status {status}")

    def __enter__(self) -> Side:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind."""
        process = self._process
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _figures(found: Measured | None, suffix: str) -> dict[str, Any]:
    if found is None:
        names = ("ratio_step", "plain_us", "tapped_us", "bare_us", "bytes_per_step")
        return {f"{name}{suffix}": None for name in names}
    plain, tapped = found.sides["plain"].median_s, found.sides["tapped"].median_s
    each = 1e6 / STEPS / SUBSTEPS
    return {
        f"ratio_step{suffix}": ratio(tapped, plain),
        f"plain_us{suffix}": plain * each,
        f"tapped_us{suffix}": tapped * each,
        f"bare_us{suffix}": found.sides["bare"].median_s * 1e6 / STEPS,
        f"bytes_per_step{suffix}": found.bytes_per_step,
    }


def _native_bytes() -> float | None:
    """Bytes of a native step in the native recorder's file; None without the sample."""
    if not SAMPLE.is_file():
        return None
    try:
        with unpacked() as path:
            return path.stat().st_size / NATIVE_STEPS_OF_SAMPLE
    except IsoscopeError as error:
        raise EngineError(f"sizing the sample: {one_line(error)}") from None
