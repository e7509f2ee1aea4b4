"""Persistent parameters that are drawn anew for each episode.

A snapshot does not cover them, so in a scene that environments share a change would be
a leak. A plan therefore says what shall happen there: ``refuse`` (nothing is changed,
the environment can't be made), or ``reapply`` (each environment sets its own values
again whenever it comes back to the scene; such environments share scenes only among
themselves, since what is reapplied is part of the key).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np

from isoscope.core.envs.arrays import like, rows
from isoscope.core.envs.randomisation.distributions import (  # noqa: TC001 - msgspec reads it
    AnyDistribution,
)
from isoscope.core.envs.randomisation.inertia import is_valid, stretch
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.scene import Scene

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

Operation: TypeAlias = Literal["set", "scale", "add", "stretch"]
POSITIVE = ("mass",)
NOT_NEGATIVE = ("friction", "damping", "armature")


class PersistentDraw(msgspec.Struct, frozen=True, kw_only=True):
    """One number an episode, and what becomes of it.

    Attributes
    ----------
    name
        What the number is called in `draws`; unique in a plan.
    entry
        The name in the scene's persistent configuration.
    index
        Which numbers of the entry, counted flat; of ``inertia``, which links. None:
        all.
    operation
        ``set``, ``scale`` or ``add`` to the model's own number. ``stretch``, of inertia
        only: scale the link's size along `axis`, which keeps the tensor that of a body.
    with_inertia
        Of a mass that is scaled: scale the link's inertia by the same factor.
    """

    name: str
    entry: str
    distribution: AnyDistribution
    operation: Operation = "scale"
    index: tuple[int, ...] | None = None
    axis: Literal["x", "y", "z"] | None = None
    with_inertia: bool = True


class PersistentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All persistent parameters that are drawn for each episode."""

    draws: tuple[PersistentDraw, ...] = ()
    in_shared_scenes: Literal["refuse", "reapply"] = "refuse"

    @property
    def distributions(self) -> tuple[AnyDistribution, ...]:
        """In the order of the draws."""
        return tuple(d.distribution for d in self.draws)

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the persistent values that change, sorted."""
        found = {d.entry for d in self.draws}
        if any(
            d.entry == "mass" and d.operation == "scale" and d.with_inertia
            for d in self.draws
        ):
            found.add("inertia")
        return tuple(sorted(found))

    def piled_up(self) -> dict[str, tuple[float, float]]:
        """Draws whose distribution is clipped: the mass piled up at either bound."""
        shares = {d.name: d.distribution.piled_up() for d in self.draws}
        return {name: share for name, share in shares.items() if max(share) > 0.0}


class PersistentParameters:
    """A plan over a scene: from the drawn numbers to the values the scene gets.

    Parameters
    ----------
    nominal
        The scene's persistent configuration as the model and the task's wishes have it.

    Raises
    ------
    UsageError
        If an entry or an index is not there, a mass could become zero or less, a
        friction negative, or an inertia no body's.
    """

    def __init__(
        self,
        plan: PersistentPlan,
        scene: Scene,
        nominal: Mapping[str, np.ndarray[Any, Any]],
    ) -> None:
        self.plan = plan
        self._scene = scene
        self._nominal: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        names = [d.name for d in plan.draws]
        if len(set(names)) != len(names):
            raise UsageError(f"randomising parameters: a name twice among {names}")
        for entry in plan.entries:
            if entry not in nominal:
                raise UsageError(
                    f"randomising parameters: the scene has no {entry}; it has "
                    + ", ".join(sorted(nominal))
                )
            values = np.asarray(nominal[entry])
            self._shapes[entry] = values.shape
            flat = values.reshape(-1, 6) if entry == "inertia" else values.reshape(-1)
            self._nominal[entry] = scene.to_device(flat.copy(), "nominal parameters")
            least = most = flat.astype(np.float64)
            for draw in plan.draws:
                if draw.entry == entry:
                    least, most = _refuse_bad(draw, least, most)
        self._masks = [self._mask(draw) for draw in plan.draws]

    def _mask(self, draw: PersistentDraw) -> Any:
        n = self._nominal[draw.entry].shape[0]
        chosen = np.zeros(n, np.bool_)
        chosen[list(draw.index) if draw.index is not None else slice(None)] = True
        return self._scene.to_device(chosen, "nominal parameters")

    def values(self, draws: Any) -> dict[str, Any]:
        """Turn drawn numbers [W, d] into values by entry: [W, …], shaped as those."""
        xp = self._scene.xp
        worlds = draws.shape[0]
        one = draws[:, 0] * 0.0 + 1.0
        now: dict[str, Any] = {
            entry: value * like(rows(one, value[None]), value)
            for entry, value in self._nominal.items()
        }
        for column, (draw, mask) in enumerate(
            zip(self.plan.draws, self._masks, strict=True)
        ):
            value = now[draw.entry]
            number = like(draws[:, column], value)[:, None]
            if draw.entry == "inertia":
                now["inertia"] = _inertia(draw, value, number, mask, xp)
                continue
            changed = {
                "set": value * 0.0 + number,
                "scale": value * number,
                "add": value + number,
            }[draw.operation]
            now[draw.entry] = xp.where(mask, changed, value)
            if draw.entry == "mass" and draw.operation == "scale" and draw.with_inertia:
                heavier = now["inertia"] * number[:, :, None]
                now["inertia"] = xp.where(mask[:, None], heavier, now["inertia"])
        return {
            entry: value.reshape((worlds, *self._shapes[entry]))
            for entry, value in now.items()
        }


def _inertia(draw: PersistentDraw, value: Any, number: Any, mask: Any, xp: Any) -> Any:
    one = number * 0.0 + 1.0
    if draw.operation == "stretch":
        x, y, z = (number if draw.axis == axis else one for axis in "xyz")
        changed = stretch(value, x, y, z, xp)
    else:
        changed = value * number[:, :, None]
    return xp.where(mask[:, None], changed, value)


def _refuse_bad(
    draw: PersistentDraw, least: Numbers, most: Numbers
) -> tuple[Numbers, Numbers]:
    """Refuse a draw by what could come out of it, after those before it.

    Parameters
    ----------
    least, most
        What the entry's numbers can be before it, [n]; of an inertia, whose factors
        are looked at alone, the model's own, [n, 6].

    Returns
    -------
    tuple
        What they can be after it.
    """
    doing = f"randomising parameter {draw.name}"
    n = least.shape[0]
    index = draw.index if draw.index is not None else tuple(range(n))
    if not index or min(index) < 0 or max(index) >= n:
        raise UsageError(f"{doing}: {draw.entry} has indices 0 to {n - 1}, not {index}")
    if draw.entry == "inertia":
        _refuse_bad_inertia(draw, doing, least[list(index)])
        return least, most
    if draw.operation == "stretch":
        raise UsageError(f"{doing}: only an inertia can be stretched")
    low, high = draw.distribution.bounds()
    chosen = np.array(index)
    if draw.entry == "mass" and draw.operation == "scale" and (most > 0.0).any():
        # links without mass, which only join joints, stay without
        with_mass = chosen[most[chosen] > 0.0]
        chosen = with_mass if len(with_mass) else chosen
    least, most = least.copy(), most.copy()
    if draw.operation == "set":
        least[chosen], most[chosen] = low, high
    elif draw.operation == "add":
        least[chosen] += low
        most[chosen] += high
    elif np.isfinite([low, high]).all():
        ends = np.stack(
            [end[chosen] * by for end in (least, most) for by in (low, high)]
        )
        least[chosen], most[chosen] = ends.min(0), ends.max(0)
    else:
        least[chosen], most[chosen] = -np.inf, np.inf
    lowest = least[chosen].min()
    if draw.entry in POSITIVE and not lowest > 0.0:
        raise UsageError(
            f"{doing}: a {draw.entry} of {lowest:g} could come out; it must stay "
            "above 0: bound the distribution"
        )
    if draw.entry in NOT_NEGATIVE and not lowest >= 0.0:
        raise UsageError(
            f"{doing}: {draw.entry} of {lowest:g} could come out; it must not be "
            "negative: bound the distribution"
        )
    return least, most


def _refuse_bad_inertia(draw: PersistentDraw, doing: str, nominal: Numbers) -> None:
    """Refuse factors that make a tensor [links, 6] that no body has."""
    if draw.operation not in ("scale", "stretch"):
        raise UsageError(
            f"{doing}: an inertia can be scaled or stretched; to {draw.operation} "
            "its numbers would give tensors that no body has"
        )
    if (draw.operation == "stretch") != (draw.axis is not None):
        raise UsageError(f"{doing}: stretch goes along an axis, x, y or z")
    low = draw.distribution.bounds()[0]
    if not low > 0.0:
        raise UsageError(
            f"{doing}: a factor of {low} can be drawn; an inertia needs factors "
            "above 0: bound the distribution"
        )
    if not is_valid(nominal).all():
        raise UsageError(f"{doing}: the model's own inertia is no body's")
