"""How a recording's environments have their scenes: shared in turn, or their own."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


class Scenes(Enum):
    """Who steps which scene."""

    ALONE = "one environment, alone in its scene"
    SHARED = "environments that step one scene in turn"
    OWN = "environments that have a scene each"
    SIDE_BY_SIDE = "environments that have a world each of one scene"
    UNTOLD = "environments that tell of no scene"


def scenes_of(recording: Recording, environments: int) -> Scenes:
    """How so many environments of a recording have their scenes.

    A recording without labels is of one scene; one whose rows are control steps tells
    of none.
    """
    if recording.row_is == "control step":
        return Scenes.UNTOLD
    if environments <= 1:
        return Scenes.ALONE
    labelled = recording.labelled
    if labelled is None or labelled.identity.shared_scenes:
        return Scenes.SHARED
    several = scene_count(recording) > 1
    if labelled.identity.shared_scenes is None:
        return Scenes.OWN if several else Scenes.SHARED
    return Scenes.OWN if several else Scenes.SIDE_BY_SIDE


def scene_count(recording: Recording) -> int:
    """How many scenes its actors are told to be in; 1 where nobody says."""
    labelled = recording.labelled
    actors = [] if labelled is None else list(labelled.actors.values())
    return max(len({actor.info.scene for actor in actors}), 1)


def actor_scenes(recording: Recording) -> list[int]:
    """Which scene each actor is in, by its place; 0 for all where nobody says."""
    labelled, actors = recording.labelled, len(recording.actors)
    if labelled is None:
        return [0] * actors
    told = [one.info.scene for _, one in sorted(labelled.actors.items())][:actors]
    return told + [0] * (actors - len(told))


def came_later(recording: Recording) -> frozenset[int]:
    """Places of actors that were not there when their scene began.

    Scenes that are stepped one after the other begin with rows of their own, in which
    none of their actors is new.
    """
    began: dict[int, int] = {}
    actors, scenes = list(recording.actors), actor_scenes(recording)
    for actor, scene in zip(actors, scenes, strict=False):
        known = began.get(scene, actor.created_native)
        began[scene] = min(known, actor.created_native)
    several = len(began) > 1
    return frozenset(
        actor.index
        for actor, scene in zip(actors, scenes, strict=False)
        if actor.created_native > (began[scene] if several else 0)
    )
