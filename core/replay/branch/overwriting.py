"""Overwrites a part of an actor's positions or velocities, as a branch asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.core.replay.engine import ReplayError
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array

POSITIONS: Literal["positions"] = "positions"
VELOCITIES: Literal["velocities"] = "velocities"
Which = Literal["positions", "velocities"]
QUATERNION = slice(3, 7)
# Of a free body: parts of its positions x y z, quaternion x y z w, and its velocities.
RIGID: dict[str, tuple[Which, slice]] = {
    "translation": (POSITIONS, slice(0, 3)),
    "rotation": (POSITIONS, QUATERNION),
    "velocity": (VELOCITIES, slice(0, 3)),
    "vcom": (VELOCITIES, slice(0, 3)),
    "omega": (VELOCITIES, slice(3, 6)),
}
# Of an articulation, as recordings call them.
ARTICULATED: dict[str, tuple[Which, slice]] = {
    "pose": (POSITIONS, slice(None)),
    "jointVelocity": (VELOCITIES, slice(None)),
}


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An actor whose state can be overwritten.

    Attributes
    ----------
    name
        The actor's.
    free
        Whether it is a free rigid body: positions are its frame's place and quaternion
        x y z w, velocities those of its centre of mass and its angular ones.
    dofs
        Names of its degrees of freedom.
    """

    name: str
    free: bool
    dofs: tuple[str, ...]

    def overwrite(
        self,
        field: str,
        component: int | str | None,
        value: Sequence[float],
        positions: Array,
        velocities: Array,
    ) -> Which:
        """Set a part of positions [p] or velocities [v] in place; which of them it was.

        Parameters
        ----------
        field, component
            See `isoscope.core.replay.branch.model.StateEdit`. A quaternion of a free
            body is normalised.
        value
            As many numbers as are meant, SI.

        Raises
        ------
        ReplayError
            For what it doesn't have, a wrong number of values or a quaternion of length
            zero.
        """
        doing = f"setting {field} of {self.name}"
        which, part = self._part(field, doing)
        state = positions if which == POSITIONS else velocities
        meant = np.arange(len(state))[part]
        if component is not None:
            named = len(positions) == len(velocities) or which == VELOCITIES
            meant = meant[self._place(len(meant), component, named, doing)][None]
        if len(value) != len(meant):
            raise ReplayError(
                f"{doing}: {counted(len(value), 'number')} for {len(meant)}; give as "
                "many"
            )
        state[meant] = value
        if self.free and set(meant.tolist()) & set(range(3, 7)) and which == POSITIONS:
            length = float(np.linalg.norm(state[QUATERNION].astype(np.float64)))
            if not length > 0:
                raise ReplayError(f"{doing}: a quaternion of length zero turns nothing")
            state[QUATERNION] = state[QUATERNION] / length
        return which

    def _part(self, field: str, doing: str) -> tuple[Which, slice]:
        known: dict[str, tuple[Which, slice]] = {
            POSITIONS: (POSITIONS, slice(None)),
            VELOCITIES: (VELOCITIES, slice(None)),
        }
        known |= RIGID if self.free else ARTICULATED
        if field not in known:
            raise ReplayError(f"{doing}: its state has {', '.join(known)}")
        return known[field]

    def _place(self, size: int, component: int | str, named: bool, doing: str) -> int:
        """The place of a component in a part of so many.

        Positions go by the names of degrees of freedom (`named`) only where there is
        one each.
        """
        if isinstance(component, str):
            names = list(self.dofs)
            if not named:
                raise ReplayError(f"{doing}: give the component's number, from 0")
            if size == len(names) and component in names:
                return names.index(component)
            raise ReplayError(f"{doing}: no component {component}; there are {names}")
        if not 0 <= component < size:
            raise ReplayError(
                f"{doing}: component {component}; there are 0 to {size - 1}"
            )
        return component


def not_movable(
    name: str, movable: Sequence[str], whole: str = "", dofs: Sequence[str] = ()
) -> ReplayError:
    """What is said where an actor's state can't be set, with what can be.

    Parameters
    ----------
    movable
        Actors whose state can be set.
    whole, dofs
        Where it is a link: the articulation's name, and those of its degrees of
        freedom.
    """
    doing = f"setting the state of {name}"
    if whole:
        named = f", or one of them ({', '.join(dofs)}): {whole}.pose[{dofs[0]}]"
        return ReplayError(
            f"{doing}: it is a link, which goes with its joints; edit {whole}.pose or "
            f"{whole}.jointVelocity{named if dofs else ''}"
        )
    there = ", ".join(movable) or "none"
    return ReplayError(f"{doing}: actors whose state can be edited are {there}")
