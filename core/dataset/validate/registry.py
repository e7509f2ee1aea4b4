"""Which rules there are, in the order in which they are listed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.dataset.validate.rule import Rule

_HERE = "isoscope.core.dataset.validate.rules."

RULES: dict[str, str] = {
    "readable": _HERE + "readable:ReadableRule",
    "schema": _HERE + "schema:SchemaRule",
    "lengths": _HERE + "lengths:LengthsRule",
    "ends": _HERE + "ends:EndsRule",
    "incomplete": _HERE + "ends:IncompleteRule",
    "finite": _HERE + "finite:FiniteRule",
    "action-bounds": _HERE + "action_bounds:ActionBoundsRule",
    "timestamps": _HERE + "timestamps:TimestampsRule",
    "duplicates": _HERE + "duplicates:DuplicatesRule",
    "constant-column": _HERE + "spread:ConstantRule",
    "extreme-values": _HERE + "spread:ExtremeRule",
    "rounded-columns": _HERE + "rounded:RoundedRule",
    "stats": _HERE + "stats:StatsRule",
    "masks": _HERE + "masks:MasksRule",
    "loss-mask": _HERE + "loss_mask:LossMaskRule",
    "trajectory-alignment": _HERE + "trajectory:TrajectoryRule",
}


def rule(key: str) -> Rule:
    """A new rule of this id.

    Raises
    ------
    UsageError
        If there is none.
    """
    place = RULES.get(key)
    if place is None:
        raise UsageError(f"there is no rule {key!r}; there are {', '.join(RULES)}")
    module, _, name = place.partition(":")
    make: Callable[[], Rule] = getattr(importlib.import_module(module), name)
    return make()
