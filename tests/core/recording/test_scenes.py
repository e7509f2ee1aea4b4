"""How environments have their scenes is said as the recording tells it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.recording.scenes import Scenes, scene_count, scenes_of

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


def told(
    scenes: list[int] | None, shared: bool | None = None, row_is: str = "native step"
) -> Recording:
    """A recording with an actor in each of these scenes; None for no labels."""
    labelled: Any = None
    if scenes is not None:
        actors = {
            at: SimpleNamespace(info=SimpleNamespace(scene=scene))
            for at, scene in enumerate(scenes)
        }
        identity = SimpleNamespace(shared_scenes=shared)
        labelled = SimpleNamespace(identity=identity, actors=actors)
    made: Any = SimpleNamespace(labelled=labelled, row_is=row_is)
    found: Recording = made
    return found


@pytest.mark.parametrize(
    ("recording", "environments", "expected", "count"),
    [
        (told(None), 1, Scenes.ALONE, 1),
        (told(None), 2, Scenes.SHARED, 1),
        (told([0], shared=True), 4, Scenes.SHARED, 1),
        (told([0, 1], shared=True), 4, Scenes.SHARED, 2),
        (told([0, 1, 1, 2], shared=False), 3, Scenes.OWN, 3),
        (told([0], shared=False), 4096, Scenes.SIDE_BY_SIDE, 1),
        (told([0, 1]), 2, Scenes.OWN, 2),
        (told([0]), 2, Scenes.SHARED, 1),
        (told([0], shared=False), 1, Scenes.ALONE, 1),
        (told([], row_is="control step"), 3, Scenes.UNTOLD, 1),
    ],
)
def test_who_steps_which_scene(
    recording: Recording, environments: int, expected: Scenes, count: int
) -> None:
    assert scenes_of(recording, environments) is expected
    assert scene_count(recording) == count
