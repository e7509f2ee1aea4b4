"""Labelled recordings for tests: a native one, with the labels that its truth has.

Run as a program, it makes those of the test data again:
``python -m tests.core.recording.labelled.samples``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.recording.schema import meaning

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

DATA = Path(__file__).parents[3] / "data"
RECORDINGS, LABELLED = DATA / "recordings", DATA / "labelled"
SAMPLES = ("shared_cartpole_2env",)
IDENTITY = {"handle", "name", "type"}
LABELS = ("env", "episode", "control_step", "substep")


def truth(name: str) -> dict[str, Any]:
    content = (RECORDINGS / f"{name}.truth.json").read_text()
    found: dict[str, Any] = json.loads(content)
    return found


def steps_of(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = truth(name)["native_steps"]
    return steps


def record(native: Recording, target: Path, steps: list[dict[str, Any]]) -> None:
    """Record what a native recording holds, with these labels a step."""
    identity = r.Identity(
        engine="superdex",
        engine_version="1.0.0",
        precision=str(native.real),
        substeps=2,
        environments=2,
        shared_scenes=True,
        seeds=[1, None],
        spaces=[r.Space(role="action", dtype="float32", shape=[1], names=["force"])],
    )
    with Recorder(target, identity) as recorder:
        recorder.scene(r.SceneInfo(id=0, key="CartPole", environments=[0, 1]))
        fields: dict[str, list[tuple[r.Field, Any]]] = {}
        ragged: list[tuple[Any, Any]] = []
        for actor in native.actors:
            number = recorder.actor(
                r.ActorInfo(
                    name=actor.name,
                    type=actor.type,
                    handle=actor.handle,
                    static=actor.static,
                    created_row=actor.created_native,
                    reference={
                        k: v
                        for k, v in actor.reference.items()
                        if np.asarray(v).dtype.kind in "biuf"
                    },
                )
            )
            if actor.destroyed_native is not None:
                recorder.destroyed(number, actor.destroyed_native)
            for name, track in actor.fields.tracks.items():
                if name in IDENTITY or track.dtype.kind not in "biuf":
                    continue
                unit = meaning(name).unit
                if track.ragged:
                    width = len(meaning(name).components)
                    shape = (width,) if width else ()
                    field = r.Field(name=name, shape=shape, unit=unit, actor=number)
                    ragged.append((recorder.ragged(field, track.dtype), track))
                    continue
                field = r.Field(name=name, shape=track.shape, unit=unit, actor=number)
                fields.setdefault(track.dtype.str, []).append((field, track))
        frames = [
            (recorder.frame([f for f, _ in found], dtype, scene=0), found)
            for dtype, found in fields.items()
        ]
        force = r.Field(name="force", group="control", unit="N", low=(-3,), high=(3,))
        control = recorder.frame([force], "float64")
        for row in range(len(native)):
            step = steps[row] if row < len(steps) else {}
            h_s = float(native.steps.h_s[row])
            reset = step.get("control_step") == 0
            for frame, found in frames:
                for index, (_, track) in enumerate(found):
                    if (value := track.at(row)) is not None:
                        frame.put(index, value)
            control.put(0, float(row))
            gravity = native.steps.gravity[row].tolist()
            number = recorder.native(
                r.NativeStep(
                    **{name: step.get(name, -1) for name in LABELS},
                    kind=StepKind.RESET if reset else StepKind.SUBSTEP,
                    h_s=h_s,
                    scene_time_s=step.get("scene_time_after") or float("nan"),
                    wall_ns=1_700_000_000_000_000_000 + row * 1_000_000,
                    process=7,
                    thread=8,
                    gravity_x=gravity[0],
                    gravity_y=gravity[1],
                    gravity_z=gravity[2],
                ),
                *(frame for frame, _ in frames),
                control,
            )
            for field_of, track in ragged:
                if (value := track.at(row)) is not None:
                    field_of.put(number, value)


def make(name: str, target: Path) -> None:
    """Make the labelled form of one of the native recordings."""
    native = registry.load(RECORDINGS / f"{name}.h5")
    record(native, target, steps_of(name))


if __name__ == "__main__":
    LABELLED.mkdir(exist_ok=True)
    for sample in SAMPLES:
        place = LABELLED / f"{sample}.isoscope.h5"
        place.unlink(missing_ok=True)
        make(sample, place)
