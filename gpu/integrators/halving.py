"""Steps again, in halves, the worlds whose step could not be solved.

Where a fast body meets another with friction, the equations of a long step may bend so
much that Newton's method finds no way. Those of half the step bend less. A world that
needs it takes two, four, … shorter steps of the same method instead of one; the others
are not touched.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.integrators.base import CONVERGED, StepOutcome
from isoscope.gpu.integrators.newton import STATUS_CAUSE

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from isoscope.gpu.integrators.linearised import BackwardEulerResidual
    from isoscope.gpu.transfer import Ledger

    Solve = Callable[[BackwardEulerResidual], StepOutcome]


def solved_by_halves(
    solve: Solve, equations: BackwardEulerResidual, most: int, ledger: Ledger
) -> StepOutcome:
    """Solve a step, and where that fails two half steps, and so on.

    Parameters
    ----------
    solve
        Solves equations as they are.
    most
        How often a step may be halved.

    Returns
    -------
    StepOutcome
        Of a world that was halved: where its last part ended, the iterations of all its
        tries, and the residual and the contacts of its last part.
    """
    whole = solve(equations)
    if most < 1 or not ledger.read_flag(
        (whole.status != CONVERGED).any(), STATUS_CAUSE
    ):
        return whole
    index = _numbers(whole.status != CONVERGED, ledger)
    half = equations.part(index, equations.h / 2)
    first = solved_by_halves(solve, half, most - 1, ledger)
    result = _merged(whole, first, index)
    done = _numbers(first.status == CONVERGED, ledger)
    if not len(done):
        return result
    rest = half.part(done, half.h)
    rest.q, rest.v = first.q.index_select(1, done), first.v.index_select(1, done)
    second = solved_by_halves(solve, rest, most - 1, ledger)
    return _merged(result, second, index.index_select(0, done))


def _numbers(flags: Tensor, ledger: Ledger) -> Tensor:
    """Return which worlds are flagged; how many there are is read back."""
    with ledger.copying("d2h", 8, STATUS_CAUSE, syncs=1):
        return flags.nonzero()[:, 0]


def _merged(whole: StepOutcome, part: StepOutcome, index: Tensor) -> StepOutcome:
    """Put some worlds' outcome into that of all; iterations add up."""
    before = whole.iterations.index_select(0, index)
    part = replace(part, iterations=part.iterations + before)
    changes: dict[str, Any] = {
        name: _put(getattr(whole, name), getattr(part, name), index)
        for name in ("q", "v", "status", "iterations", "residual")
    }
    return replace(
        whole, **changes, contacts=_put_report(whole.contacts, part.contacts, index)
    )


def _put_report(whole: Any, part: Any, index: Tensor) -> Any:
    """Do so with reports: what has one axis all worlds have in common."""
    if whole is None or not is_dataclass(whole) or isinstance(whole, type):
        return whole
    changes: dict[str, Any] = {}
    for entry in fields(whole):
        value = getattr(whole, entry.name)
        if isinstance(value, torch.Tensor) and value.dim() > 1:
            changes[entry.name] = _put(value, getattr(part, entry.name), index)
    return replace(whole, **changes)


def _put(whole: Tensor, part: Tensor, index: Tensor) -> Tensor:
    return whole.index_copy(whole.dim() - 1, index, part.to(whole.dtype))
