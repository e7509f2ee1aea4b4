"""Measure two sides of a ratio fairly, and the written form of what came out.

Timing on a shared machine drifts, so the sides are measured in the same run, one after
the other in every round, and compared by their medians after a warm-up.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FEWEST = 5  # rounds of which a median is taken
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
NVIDIA_TIMEOUT_S = 10.0


class Machine(msgspec.Struct):
    """What was measured on; `gpu` is None where there is none."""

    cores: int
    cpu: str
    gpu: str | None


class Bench(msgspec.Struct):
    """What a benchmark says.

    Attributes
    ----------
    name
        The benchmark.
    machine
        What it ran on.
    runs
        Measured rounds, the warm-up not counted.
    figures
        Numbers by name; None where a side can't run here.
    """

    name: str
    machine: Machine
    runs: int
    figures: dict[str, Any]
    schema: str = "isoscope.bench/1"

    def written(self) -> dict[str, Any]:
        """The form that is printed: every figure also under its own key on top."""
        fixed: dict[str, Any] = {
            "schema": self.schema,
            "name": self.name,
            "machine": self.machine,
            "runs": self.runs,
            "figures": self.figures,
        }
        clash = fixed.keys() & self.figures.keys()
        if clash:
            raise ValueError(f"a figure may not be called {sorted(clash)}")
        return {**fixed, **self.figures}


@dataclass(slots=True)
class Samples:
    """Seconds that one side took, a value a round."""

    seconds: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def p95_s(self) -> float:
        """The time within which 95 of 100 are done (nearest rank)."""
        ranked = sorted(self.seconds)
        return ranked[max(-(-len(ranked) * 95 // 100) - 1, 0)]


def interleave(
    sides: Mapping[str, Callable[[], object]], rounds: int = FEWEST, warmup: int = 1
) -> dict[str, Samples]:
    """Time every side once a round, in turn.

    Parameters
    ----------
    sides
        What to time, by name.
    rounds
        Measured rounds, at least five.
    warmup
        Rounds before them that don't count.
    """
    if rounds < FEWEST:
        raise ValueError(f"a median of {rounds} says too little; take {FEWEST}")
    samples = {name: Samples() for name in sides}
    for number in range(-warmup, rounds):
        for name, run in sides.items():
            begun = time.perf_counter()
            run()
            took = time.perf_counter() - begun
            if number >= 0:
                samples[name].seconds.append(took)
    return samples


def ratio(over: float | None, under: float | None) -> float | None:
    """One side over the other; None where either is missing or there is no time."""
    if over is None or under is None or under <= 0:
        return None
    return over / under


def this_machine() -> Machine:
    """The machine that this runs on."""
    return Machine(cores=_cores(), cpu=_cpu(), gpu=_gpu())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    try:
        asked = subprocess.run(
            NVIDIA_SMI,
            capture_output=True,
            text=True,
            timeout=NVIDIA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    names = asked.stdout.split("\n")
    return names[0].strip() or None if asked.returncode == 0 else None
