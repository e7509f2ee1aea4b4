"""Which lanes may step, and with which actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.envs.arrays import on_host
from isoscope.core.envs.errors import ActionError, NotResetError

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import Array, Worlds


def refuse_unready(lanes: LaneGroup, worlds: Worlds) -> None:
    """Refuse lanes that only a reset can follow.

    Where looking costs a crossing from the device, only an interrupted step is refused,
    and it is the caller's to know the others.

    Raises
    ------
    NotResetError
    """
    if lanes.interrupted:
        raise NotResetError(
            f"stepping env {lanes.envs[0]}: an exception ended its last step or reset "
            "half-way; reset it first"
        )
    if not on_host(lanes.ready):
        return
    ready = lanes.ready
    if worlds is not None:
        ready = lanes.xp.logical_or(ready, lanes.xp.logical_not(worlds))
    if not bool(ready.all()):
        not_ready = lanes.xp.logical_not(ready)
        raise NotResetError(
            f"stepping env {_named(lanes, not_ready)}: not reset since its episode "
            "ended, its state became invalid, or it was made; reset it first"
        )


def not_finite(lanes: LaneGroup, raw: Array, worlds: Worlds) -> Array | None:
    """Lanes of `worlds` whose action [W, A] is not finite: bool [W].

    Returns
    -------
    None if there are none; where only a read-back could tell, and none is needed, the
    mask, which may be empty.

    Raises
    ------
    ActionError
        If there are some and the policy is to raise.
    """
    xp = lanes.xp
    bad = xp.logical_not(xp.isfinite(raw).all(1))
    if worlds is not None:
        bad = xp.logical_and(bad, worlds)
    raises = lanes.options.on_nonfinite == "raise"
    if (raises or on_host(bad)) and not bool(
        lanes.scene.to_host(bad.any().reshape(1), "finite actions")[0]
    ):
        return None
    if raises:
        raise ActionError(
            f"stepping env {_named(lanes, bad)}: the action is not finite; nothing was "
            "changed"
        )
    return bad


def _named(lanes: LaneGroup, mask: Array) -> str:
    host = lanes.scene.to_host(mask, "refused environments").tolist()
    which = [str(e) for e, m in zip(lanes.envs, host, strict=True) if m]
    return ", ".join(which[:8]) + (", …" if len(which) > 8 else "")
