"""Labelled recordings with a profile, made in a moment."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.profiling import step_profiles
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.envs.profiling import StepProfile
    from isoscope.core.recording.labelled.labelled import LabelledRecording

Entry = tuple[str, float, str, str]  # name, value, unit, parent
STEP_NS, PROCESS = 4_000_000, 100


def stepped(
    recorder: Recorder, env: int, k: int, entries: list[Entry], *, per_worker: int = 1
) -> int:
    """Record one native step, its transition, and these entries; the native row."""
    row = recorder.native(
        r.NativeStep(
            env=env,
            episode=1,
            control_step=k,
            substep=0,
            kind=0,
            h_s=0.02,
            wall_ns=10**18 + recorder.rows * STEP_NS,
            process=PROCESS + env // per_worker,
            solver_status=0,
            solver_iterations=3 + k % 2,
            solver_residual=1e-9,
        )
    )
    transition = recorder.transition(
        r.Transition(
            env=env,
            episode=1,
            control_step=k,
            first_row=row,
            last_row=row,
            wall_ns=10**18 + row * STEP_NS,
        )
    )
    for name, value, unit, parent in entries:
        recorder.profile(r.ProfileEntry(name, value, unit, parent, env, transition))
    return row


def usual(scale: float = 1.0) -> list[Entry]:
    """A step of 10 ms: restore 1, substeps 6, capture 1, the rest is its own."""
    ms = [("step", 10.0, ""), ("step/restore", 1.0, "step")]
    ms += [("step/substeps", 6.0, "step"), ("step/capture", 1.0, "step")]
    return [(name, scale * value, "ms", parent) for name, value, parent in ms]


@contextmanager
def recorder_at(path: Path, **identity: Any) -> Iterator[Recorder]:
    with Recorder(path, r.Identity(**identity)) as recorder:
        yield recorder


def labelled_of(path: Path) -> LabelledRecording:
    labelled = load(path).labelled
    assert labelled is not None
    return labelled


@contextmanager
def profiles_into(recorder: Recorder, lead: dict[int, int]) -> Iterator[None]:
    """Record what environments of this process tell; `lead` gives env to transition."""

    def take(profile: StepProfile) -> None:
        transition = lead.get(profile.env, -1) if profile.what == "step" else -1
        for e in profile.entries:
            entry = r.ProfileEntry(
                *(e.name, e.value, e.unit, e.parent),
                *(profile.env, transition, recorder.rows - 1),
            )
            recorder.profile(entry)

    stop = step_profiles.listen(take)
    yield
    stop()
