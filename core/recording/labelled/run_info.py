"""What a labelled recording tells of the run that it holds: how much of what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.labelled.records import Failure, Identity

LISTED_AT_MOST = 16  # failures


class FailureInfo(msgspec.Struct, kw_only=True):
    """Something that failed: what, in which environment, before which native row."""

    what: str
    message: str
    env: int | None
    row: int | None


class Count(msgspec.Struct, kw_only=True):
    """How many there are of a name."""

    name: str
    count: int


class RunInfo(msgspec.Struct, kw_only=True):
    """What ran and how much of it there is; None and empty are *not told*.

    Attributes
    ----------
    engine
        Its name and version.
    environment
        The task, or the reference of what made the environment.
    autoreset_mode
        As constructed.
    control_hz, simulation_hz, substeps
        f_c, f_s and M.
    processes, environments_per_process
        P and K.
    control_steps
        Rows that are transitions, resets left out.
    resets, episodes_ended
        Resets, and transitions that terminated or were truncated.
    chunks
        Stages in the lives of action chunks, by state.
    failures
        All of them; `failed` holds the first `LISTED_AT_MOST`.
    dropped
        What was not recorded, by what and why.
    ended
        Whether it has the mark of a clean end.
    branch_of
        Of a what-if branch: the recording and the place that it leaves; empty
        otherwise.
    """

    engine: str
    environment: str
    precision: str
    environments: int | None
    shared_scenes: bool | None
    autoreset_mode: str
    control_hz: float | None
    simulation_hz: float | None
    substeps: int | None
    processes: int | None
    environments_per_process: int | None
    seeds: list[int | None]
    control_steps: int
    resets: int
    episodes_ended: int
    snapshots: int
    configuration_changes: int
    chunks: list[Count]
    failures: int
    failed: list[FailureInfo]
    dropped: list[Count]
    ended: bool
    branch_of: str = ""


def run_info(labelled: LabelledRecording) -> RunInfo:
    """Count what a labelled recording holds so far.

    Raises
    ------
    ReadError
        If its tables can't be read.
    """
    told = labelled.identity
    steps, ended = _transitions(labelled)
    failures = labelled.failures()
    dropped: Counter[str] = Counter()
    for one in labelled.dropped():
        why = f" ({one.why})" if one.why else ""
        dropped[f"{one.what}{why}"] += one.count
    return RunInfo(
        engine=" ".join(filter(None, (told.engine, told.engine_version))),
        environment=_environment(told),
        precision=told.precision,
        environments=told.environments,
        shared_scenes=told.shared_scenes,
        autoreset_mode=told.autoreset_mode,
        control_hz=told.control_hz,
        simulation_hz=told.simulation_hz,
        substeps=told.substeps,
        processes=told.processes,
        environments_per_process=told.environments_per_process,
        seeds=told.seeds,
        control_steps=steps,
        resets=labelled.count("resets"),
        episodes_ended=ended,
        snapshots=labelled.count("snapshots"),
        configuration_changes=_changes(labelled),
        chunks=_counts(_states(labelled)),
        failures=len(failures),
        failed=[_failure(one) for one in failures[:LISTED_AT_MOST]],
        dropped=_counts(dropped),
        ended=labelled.end is not None,
        branch_of=_branch_of(told),
    )


def _branch_of(told: Identity) -> str:
    """``"run.isoscope.h5 at control:0/2/5"`` of a what-if branch; else empty."""
    branch = told.extra.get("branch")
    if not isinstance(branch, dict):
        return ""
    return f"{branch.get('of', '?')} at {branch.get('at', '?')}"


def _environment(told: Identity) -> str:
    """The task or environment by name, and what made it."""
    names = [told.extra.get("task"), told.extra.get("environment"), told.factory]
    return next((str(name) for name in names if name), "")


def _transitions(labelled: LabelledRecording) -> tuple[int, int]:
    """Rows that are control steps, and how many of them ended an episode."""
    if not labelled.count("transitions"):
        return 0, 0
    columns = {
        name: labelled.column("transitions", name)
        for name in ("control_step", "terminated", "truncated", "valid")
    }
    own = (columns["control_step"] != 0) & (columns["valid"] != 0)
    ended = own & ((columns["terminated"] == 1) | (columns["truncated"] == 1))
    return int(own.sum()), int(ended.sum())


def _changes(labelled: LabelledRecording) -> int:
    """Changes, the first values of a run left out."""
    return sum(one.old is not None for one in labelled.changes())


def _states(labelled: LabelledRecording) -> Counter[str]:
    found: Counter[str] = Counter()
    if labelled.count("chunks"):
        numbers, counts = np.unique(
            labelled.columns("chunks")["state"].astype(str), return_counts=True
        )
        for name, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            found[name] += count
    return found


def _counts(found: Counter[str]) -> list[Count]:
    return [Count(name=name, count=count) for name, count in found.most_common()]


def _failure(one: Failure) -> FailureInfo:
    return FailureInfo(
        what=one.what,
        message=one.message,
        env=one.env if one.env >= 0 else None,
        row=one.row if one.row >= 0 else None,
    )
