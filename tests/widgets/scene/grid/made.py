"""Labelled recordings of several environments, made in a moment.

Each environment's cube is at x = (env mod 8) / 10 and y = its own control step / 10,
so that a state says whose it is and how far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from tests.widgets.scene.build import CUBE, CUBE_FACES, UPRIGHT

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.frames import Frame

H_S = 0.02


def cube(recorder: Recorder, scene: int) -> tuple[int, Frame]:
    """Add a cube to a scene, and the frame of its pose."""
    actor = recorder.actor(
        r.ActorInfo(
            name=f"Cube{scene}",
            type="Rigid",
            scene=scene,
            handle=scene + 1,
            static=False,
            reference={
                "translation": np.zeros(3),
                "rotation": UPRIGHT,
                "surfRefPositions": CUBE.astype(np.float32),
                "surfFaceIndices": CUBE_FACES.reshape(-1, 1).astype(np.int32),
            },
        )
    )
    fields = [
        r.Field(name="translation", shape=(3,), unit="m", actor=actor),
        r.Field(name="rotation", shape=(4,), unit="", actor=actor),
    ]
    return actor, recorder.frame(fields, np.float32, scene=scene)


class Batch:
    """Environments that are recorded step by step.

    Parameters
    ----------
    shared
        Whether all of them are in one scene, or each in its own.
    lasts
        Control steps of an episode; the last one is terminated, and truncated too where
        the environment's number is odd.
    """

    def __init__(
        self, recorder: Recorder, envs: int, *, shared: bool, lasts: int = 10**6
    ) -> None:
        self.recorder, self.shared, self.lasts = recorder, shared, lasts
        self.count = np.zeros(envs, np.int64)
        scenes = 1 if shared else envs
        for scene in range(scenes):
            recorder.scene(r.SceneInfo(id=scene))
        self.frames = [cube(recorder, scene)[1] for scene in range(scenes)]

    def step(self, env: int) -> int:
        """One control step of one native step; the row."""
        self.count[env] += 1
        k = int(self.count[env])
        scene = 0 if self.shared else env
        frame = self.frames[scene]
        frame.put(0, np.array([env % 8 / 10, k / 10, 0.0], np.float32))
        frame.put(1, UPRIGHT.astype(np.float32))
        row = self.recorder.native(
            r.NativeStep(
                env=env,
                episode=1,
                control_step=k,
                substep=0,
                kind=0,
                scene=scene,
                h_s=H_S,
                gravity_x=0.0,
                gravity_y=-9.8,
                gravity_z=0.0,
            ),
            frame,
        )
        ends = k % self.lasts == 0
        self.recorder.transition(
            r.Transition(
                env=env,
                episode=1,
                control_step=k,
                terminated=int(ends),
                truncated=int(ends and env % 2),
                first_row=row,
                last_row=row,
            )
        )
        return row

    def turn(self) -> None:
        """One control step of every environment, in turn."""
        for env in range(len(self.count)):
            self.step(env)


def record(
    path: Path, envs: int, turns: int, *, shared: bool, lasts: int = 10**6
) -> Path:
    with Recorder(path, r.Identity(environments=envs)) as recorder:
        batch = Batch(recorder, envs, shared=shared, lasts=lasts)
        for _ in range(turns):
            batch.turn()
    return path
