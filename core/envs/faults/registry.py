"""The faults by name, and which of them a run of some kind can show."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from isoscope.core.envs.faults.fault import Fault, Need, SceneKind
    from isoscope.core.envs.faults.order import FaultOrder

_HERE = "isoscope.core.envs.faults."
MODULES = (
    "snapshots",
    "configuration",
    "reading",
    "beginning",
    "living",
    "acting",
    "storing",
    "sensing",
)
REMEDIES: dict[Need, str] = {
    "workers": "workers (--workers 2)",
    "others": "two environments or more in the same process",
    "policy-state": "a policy that carries something on (--policy smooth)",
    "frames": "sensors that are read",
    "profile": "a profile",
}


@cache
def all_faults() -> dict[str, type[Fault]]:
    """Every fault by its name, in the order in which they are listed."""
    found: dict[str, type[Fault]] = {}
    for name in MODULES:
        for kind in importlib.import_module(_HERE + name).FAULTS:
            if kind.NAME in found:
                raise AssertionError(f"two faults are called {kind.NAME}")
            found[kind.NAME] = kind
    return found


def make_fault(order: FaultOrder) -> Fault:
    """Make a fault that was ordered.

    Raises
    ------
    UsageError
        If there is none of this name, or the place is none for it.
    """
    kind = all_faults().get(order.name)
    if kind is None:
        raise UsageError(
            f"putting {order} in: there is no fault {order.name!r}; there are "
            + ", ".join(all_faults())
        )
    return kind(order)


def refuse_unfit(
    fault: Fault,
    *,
    envs: int,
    scene: SceneKind,
    mode: str,
    has: Collection[Need],
) -> None:
    """Refuse a fault that a run can't show.

    Parameters
    ----------
    mode
        The autoreset mode: ``next_step``, ``same_step``, ``disabled``.
    has
        What the run has.

    Raises
    ------
    UsageError
    """
    problem = ""
    missing = [need for need in fault.NEEDS if need not in has]
    if fault.place.env >= envs:
        problem = f"there is no environment {fault.place.env}; there are {envs}"
    elif scene not in fault.SCENES:
        problem = f"it needs --scene {' or '.join(fault.SCENES)}, not {scene}"
    elif mode not in fault.MODES:
        problem = f"it needs --autoreset {' or '.join(fault.MODES)}, not {mode}"
    elif missing:
        problem = "it needs " + " and ".join(REMEDIES[need] for need in missing)
    if problem:
        raise UsageError(f"putting {fault.order} in: {problem}")
