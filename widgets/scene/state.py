"""What the 3D view shows at one row, as frozen values; and what the user asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array

TRAIL_ROWS = 240


class Pose(IntEnum):
    """Where an actor's transform comes from, or why there is none."""

    NONE = 0  # doesn't exist in this row, or is hidden
    RECORDED = 1  # from this row
    CREATION = 2  # static, so where it was created
    NOT_RECORDED = 3  # moving, and this row doesn't say: faded, where it was created
    NOT_FINITE = 4  # this row holds NaN or infinity: not drawn
    NOWHERE = 5  # neither this row nor its creation says: not drawn


DRAWN = (Pose.RECORDED, Pose.CREATION, Pose.NOT_RECORDED)


@dataclass(frozen=True, slots=True, eq=False)
class Ghost:
    """Another state of the actors, drawn through the present one.

    Attributes
    ----------
    row
        Native step whose state it is.
    colour
        ``"#rrggbb"``.
    label
        What it is, shown beside it.
    alpha
        1 for solid (as in side by side), below that translucent.
    offset
        [3] in metres, added to every position.
    recording
        Where the row is from; None means the one shown. Another recording's actors are
        matched by name.
    arrow
        Whether an arrow leads from it to the present state.
    actors
        The only actors that it shows; None for all that move.
    """

    row: int
    colour: str
    label: str = ""
    alpha: float = 0.35
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    recording: Recording | None = None
    arrow: bool = False
    actors: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Arrow:
    """A direction that belongs to the present state, drawn beside it.

    Attributes
    ----------
    direction
        [3] in the world; of length 1 it is as long as arrows get.
    colour
        ``"#rrggbb"``.
    label
        What it is.
    """

    direction: tuple[float, float, float]
    colour: str
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """Ghosts that are shown together, under one name.

    Attributes
    ----------
    name
        Shown in the caption: ``"expected start"``.
    ghosts
        What is drawn.
    here
        Label for the present state, such as ``"began here: env 1's state"``.
    row
        The native step whose state stands for the present one; None for the cursor's.
    proof
        Whether it proves what is looked at, so that it is shown unasked.
    arrows
        Drawn beside the present state.
    apart
        Whether the ghosts that have no place of their own stand beside the present
        state instead of in it.
    """

    name: str
    ghosts: tuple[Ghost, ...]
    here: str = ""
    row: int | None = None
    proof: bool = False
    arrows: tuple[Arrow, ...] = ()
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """What the user wants to see.

    Attributes
    ----------
    hidden
        Actors not to draw.
    selected
        The chosen actor, or None.
    contacts, trails
        Whether to show contact points, and trails of the centres of mass.
    trail_rows
        How many native steps a trail reaches back.
    """

    hidden: frozenset[int] = frozenset()
    selected: int | None = None
    contacts: bool = True
    trails: bool = False
    trail_rows: int = TRAIL_ROWS


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """Contact points of one row.

    Attributes
    ----------
    recorded
        Whether the recording holds contacts at all.
    points
        [k, 3] in metres, on the first body.
    forces
        [k, 3] in newtons, on the first body; NaN where not recorded.
    """

    recorded: bool
    points: Array
    forces: Array

    def __len__(self) -> int:
        """How many."""
        return len(self.points)


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """Where an actor's centre of mass came from.

    Attributes
    ----------
    actor
        Its index.
    points
        [p, 3] in metres, oldest first.
    joined
        Bool [p]: whether the line goes on from the point before. False at a restore.
    """

    actor: int
    points: Array
    joined: Array


def no_contacts(recorded: bool = False) -> Contacts:
    """No contact in this row."""
    return Contacts(recorded, np.zeros((0, 3)), np.zeros((0, 3)))


@dataclass(frozen=True, slots=True, eq=False)
class Whose:
    """Whose native step this was; -1 where it isn't known."""

    env: int = -1
    episode: int = -1
    control_step: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class SceneState:
    """Everything that is drawn at one row.

    Attributes
    ----------
    row
        The native step; -1 when there is nothing.
    rows
        How many there are.
    time_s, h_s
        Recording time after the step and its duration; NaN where unknown.
    whose
        Whose step it was.
    poses
        uint8 [n] of `Pose`, by actor index.
    transforms
        float64 [n, 3, 4]; NaN where the actor isn't drawn.
    deformed
        By index of a deformable actor: world positions [p, 3] of its surface.
    links
        [m, 2, 3]: lines between the links of articulations.
    contacts, trails
        As asked for.
    """

    row: int = -1
    rows: int = 0
    time_s: float = float("nan")
    h_s: float = float("nan")
    whose: Whose = field(default_factory=Whose)
    poses: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    transforms: Array = field(default_factory=lambda: np.zeros((0, 3, 4)))
    deformed: Mapping[int, Array] = field(default_factory=dict)
    links: Array = field(default_factory=lambda: np.zeros((0, 2, 3)))
    contacts: Contacts = field(default_factory=no_contacts)
    trails: tuple[Trail, ...] = ()

    def having(self, pose: Pose) -> list[int]:
        """Actors whose transform comes from there."""
        return [int(i) for i in np.flatnonzero(self.poses == pose)]

    @property
    def drawn(self) -> Array:
        """Bool [n]: whether each actor is drawn."""
        return np.isin(self.poses, DRAWN)


NOTHING = SceneState()


def nothing(actors: int) -> SceneState:
    """So many actors, none of which is drawn: there is no such step."""
    nowhere = np.full((actors, 3, 4), np.nan)
    return SceneState(poses=np.zeros(actors, np.uint8), transforms=nowhere)
