"""Gives the parts of a checkpoint back: all of them, or those that are asked for.

Half a checkpoint acts, and acts wrongly: weights without their normaliser, a hidden
state of another episode. So what is there on one side only is refused, unless the parts
are named; and where one part is refused, those that were restored before it go back to
what they were.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from isoscope.core.replay.checkpoint.model import (
    ABOUT,
    PARTS,
    CheckpointError,
)
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from isoscope.core.replay.checkpoint.model import Checkpoint, Part


class Restorable(Protocol):
    """Something that a part is of."""

    def save_part(self) -> Part:
        """What it is now."""
        ...

    def load_part(self, part: Part) -> None:
        """Become what a part says.

        Raises
        ------
        CheckpointError
            If the part doesn't fit; nothing was changed.
        """
        ...


def restore(
    checkpoint: Checkpoint,
    into: Mapping[str, Restorable],
    parts: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Restore a checkpoint.

    Parameters
    ----------
    into
        By part, what it is given to.
    parts
        Those to restore. None: all, and it is refused if any is on one side only.

    Returns
    -------
    tuple
        The parts that were restored.

    Raises
    ------
    CheckpointError
        If parts are missing or don't fit; then all of it is as it was before.
    """
    wanted = _wanted(checkpoint, into, parts)
    before: dict[str, Part] = {}
    try:
        for name in wanted:
            before[name] = into[name].save_part()
            into[name].load_part(checkpoint.parts[name])
    except BaseException:
        for name, part in before.items():
            with suppress(CheckpointError):
                into[name].load_part(part)
        raise
    return wanted


def _wanted(
    checkpoint: Checkpoint,
    into: Mapping[str, Restorable],
    parts: Collection[str] | None,
) -> tuple[str, ...]:
    there, here = set(checkpoint.parts), set(into)
    if parts is None:
        left = [name for name in PARTS if name in there - here]
        if left:
            raise CheckpointError(
                f"restoring a policy: nothing takes its {listed(_named(left))}; name "
                "the parts to restore if that is meant"
            )
        lacking = [name for name in PARTS if name in here - there]
        if lacking:
            raise CheckpointError(
                f"restoring a policy: the checkpoint has no {listed(_named(lacking))}; "
                "name the parts to restore if that is meant"
            )
        return tuple(name for name in PARTS if name in there)
    unknown = sorted(set(parts) - (there & here))
    if unknown or not parts:
        have = listed([name for name in PARTS if name in there & here]) or "none"
        raise CheckpointError(
            f"restoring {listed(unknown) or 'no part'} of a policy: parts that are on "
            f"both sides are {have}"
        )
    return tuple(name for name in PARTS if name in parts)


def _named(parts: list[str]) -> list[str]:
    return [f"{name} ({ABOUT[name]})" for name in parts]
