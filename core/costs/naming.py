"""What profilers' entries are called: paths, stages, units, parts of a linear solve.

An entry has a name, a unit and a parent, which contains it. Names of Isoscope's own
environments and of SuperDex Lab's profiler are paths, ``step/simulate/restore_state``.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCH = "_launch"
ENGINE = "cpp_"  # SuperDex: its engine's own times, of which the first has the others
ENGINE_TOTAL = "cpp_total_step"
SCENE_STEP = "step_scene"
COPIES, SYNCS, SOLVE = "copies", "syncs", "solve"
DIRECTIONS: Mapping[str, str] = {
    "h2d": "host → device",
    "d2h": "device → host",
    "d2d": "on the device",
}
_PREFIX = "timings/"  # what Lab puts before its paths in an info


class Stage(Enum):
    """What a control step's time is spent on; the value is what people call it."""

    RESTORE = "restore"
    SUBSTEPS = "substeps"
    CAPTURE = "capture"
    OBSERVE = "observe"
    REWARD = "reward"
    CONVERT = "convert"
    WAIT = "wait"
    RESET = "reset"
    RENDER = "render"
    OTHER = "other"


_STAGES = {
    "restore": Stage.RESTORE,
    "restore_state": Stage.RESTORE,
    "substeps": Stage.SUBSTEPS,
    "simulate": Stage.SUBSTEPS,
    SCENE_STEP: Stage.SUBSTEPS,
    ENGINE_TOTAL: Stage.SUBSTEPS,
    "capture": Stage.CAPTURE,
    "capture_state": Stage.CAPTURE,
    "observe": Stage.OBSERVE,
    "make_observation": Stage.OBSERVE,
    "reward": Stage.REWARD,
    "compute_reward_terms": Stage.REWARD,
    "stop": Stage.REWARD,
    "check_stop_criteria": Stage.REWARD,
    "convert": Stage.CONVERT,
    "wait": Stage.WAIT,
    "reset": Stage.RESET,
    "begin": Stage.RESET,
    "reset_scene": Stage.RESET,
    "render": Stage.RENDER,
}

# Of a linear solve, in the order in which they are done.
SOLVE_PARTS: Mapping[str, str] = {
    "host_to_device": "host → device",
    "preconditioner": "preconditioner",
    "iterations": "iterations",
    "read_back": "read back",
    "device_to_host": "device → host",
}


class Unit(NamedTuple):
    """What a unit measures (``"time"``, ``"bytes"``, ``"count"``), and how much one is.

    Times are in seconds.
    """

    measure: str
    factor: float


_UNITS = {
    "s": Unit("time", 1.0),
    "ms": Unit("time", 1e-3),
    "us": Unit("time", 1e-6),
    "µs": Unit("time", 1e-6),  # the micro sign
    "μs": Unit("time", 1e-6),  # the Greek letter
    "ns": Unit("time", 1e-9),
    "min": Unit("time", 60.0),
    "B": Unit("bytes", 1.0),
    "bytes": Unit("bytes", 1.0),
    "kB": Unit("bytes", 1e3),
    "KiB": Unit("bytes", 2.0**10),
    "MB": Unit("bytes", 1e6),
    "MiB": Unit("bytes", 2.0**20),
    "GB": Unit("bytes", 1e9),
    "GiB": Unit("bytes", 2.0**30),
    "": Unit("count", 1.0),
    "1": Unit("count", 1.0),
}


def unit_of(text: str) -> Unit | None:
    """What a record's unit means; None for one that nobody here knows."""
    return _UNITS.get(text.strip())


def path_of(name: str, parent: str) -> tuple[str, str]:
    """An entry's path and its parent's; without a parent, its own path has it."""
    path = name.strip().strip("/").removeprefix(_PREFIX)
    above = parent.strip().strip("/").removeprefix(_PREFIX)
    if above == _PREFIX.strip("/"):
        above = ""
    if not above and "/" in path:
        above = path.rpartition("/")[0]
    return path, above


def leaf_of(path: str) -> str:
    """The last part of a path, without what says that it only launches."""
    return path.rpartition("/")[2].lower().removesuffix(LAUNCH)


def root_of(path: str) -> str:
    """The first part of a path, without what says that it only launches."""
    return path.partition("/")[0].lower().removesuffix(LAUNCH)


def stage_of(path: str) -> Stage | None:
    """The stage that an entry's own name means; None where it means none."""
    return _STAGES.get(leaf_of(path))


def launches(path: str) -> bool:
    """Whether its time is that of a launch only, as its name says."""
    return path.rpartition("/")[2].endswith(LAUNCH)


def copy_of(path: str) -> tuple[str, str] | None:
    """Direction (or ``"syncs"``) and cause of an entry of a ledger of copies."""
    first, _, rest = path.partition("/")
    way, _, cause = rest.partition("/")
    if first != COPIES or (way not in DIRECTIONS and way != SYNCS) or not cause:
        return None
    return way, cause


def solve_part_of(path: str) -> str | None:
    """Which part of a linear solve an entry is about, a key of `SOLVE_PARTS`."""
    before, _, last = path.rpartition("/")
    part = last.removesuffix("_s")
    if part in SOLVE_PARTS and before.rpartition("/")[2].startswith(SOLVE):
        return part
    return None


def solve_entries(timing: Mapping[str, float]) -> list[tuple[str, float, str, str]]:
    """Name, value, unit and parent of the entries that a solve's times make.

    Parameters
    ----------
    timing
        Seconds by part, as in `SOLVE_PARTS`, with or without ``_s`` at the end.
    """
    return [
        (f"{SOLVE}/{part}", float(timing[name]), "s", SOLVE)
        for part in SOLVE_PARTS
        for name in (part, f"{part}_s")
        if name in timing
    ]
