"""Native steps whose solver stopped or diverged, and what was made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.incremental import whole
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import env_named, place_text
from isoscope.core.recording.model import StepKind
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "unconverged"
SEVERITY: Severity = "error"
ABOUT = "native steps whose solver did not converge, in transitions that count"
NEEDS = "the solver's status of every native step, with the names of its numbers"
# What engines call it when all is well, or when there was nothing to solve.
GOOD = frozenset(("", "none", "ok", "success", "converged"))
COUNTS = "; the transition counts as a valid one"
MARKED = "; its environment marked the transition as invalid"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment's episode and status."""
    yield from whole(begin(), context.tells(NEEDS))


def begin() -> Running:
    """Begin to look at a recording."""
    return _Looking()


class _Looking:
    def __init__(self) -> None:
        self._carry = Carry("solver_status")
        # Told already: environment, episode, status.
        self._told: set[tuple[int, int, int]] = set()

    @property
    def nbytes(self) -> int:
        return self._carry.nbytes + 120 * len(self._told)

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        joined = self._carry.join(window)
        status = joined["solver_status"]
        names = window.identity.solver_statuses
        if joined.new and not (status >= 0).any():
            raise CannotRunError("no native step has a solver's status", NEEDS)
        if joined.new and not names:
            raise CannotRunError("nobody says what the solver's numbers mean", NEEDS)
        bad = [n for n in np.unique(status).tolist() if n >= 0]
        bad = [n for n in bad if names.get(n, str(n)).lower() not in GOOD]
        hit = np.isin(status, bad)
        hit[: joined.first_new] = False
        # A reset's own short step is in no transition; engines stop there early.
        hit &= joined["kind"] != StepKind.RESET
        at = np.flatnonzero(hit)
        if not len(at):
            return
        keys = np.stack(
            [joined["env"][at], joined["episode"][at], status[at]], axis=1
        ).astype(np.int64)
        found, first, which = np.unique(
            keys, axis=0, return_index=True, return_inverse=True
        )
        which = which.reshape(-1)
        for k in np.argsort(first).tolist():
            key = tuple(int(v) for v in found[k])
            if key in self._told:
                continue
            self._told.add(key)  # type: ignore[arg-type]  # three by construction
            name = names.get(key[2], str(key[2])).lower()
            yield _finding(joined, window, at[which == k], name)

    def finish(self) -> Iterator[Finding]:
        return iter(())


def _finding(
    joined: Joined, window: LabelledContext, at: np.ndarray, status: str
) -> Finding:
    i = int(at[0])
    row, env = int(joined.row[i]), int(joined["env"][i])
    where = joined.at(i)
    place = place_text(*where) or f"native step {row}"
    index = i - joined.first_new
    residual = float(window.steps.column("solver_residual")[index])
    iterations = int(window.steps.column("solver_iterations")[index])
    transition = _transition_of(window, env, row)
    valid = _counts(window, transition) if transition >= 0 else None
    headline = f"the solver {status} in {env_named(env)}'s step at {place}"
    after = f" after {counted(iterations, 'iteration')}" if iterations >= 0 else ""
    left = f", residual {residual:.3g}" if np.isfinite(residual) else ""
    counts = "" if valid is None else COUNTS if valid else MARKED
    marking = "leave it out" if valid is False else "mark these transitions as invalid"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env if env >= 0 else None,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, int(joined.row[at[-1]])),
        field="solver_status",
        value=status,
        expected="converged",
        headline=headline,
        message=(
            f"{headline}{after}{left}, in {counted(len(at), 'native step')} of this "
            f"episode{counts}"
        ),
        remedy=(
            "What follows comes from a state that the equations don't hold for: "
            f"{marking} and reset. Smaller steps, softer contacts or more iterations "
            "may help."
        ),
        evidence={
            "rows": len(at),
            "iterations": iterations if iterations >= 0 else None,
            "residual": residual if np.isfinite(residual) else None,
            "transition_valid": valid,
        },
        transition=transition if transition >= 0 else None,
        taints=(Taint(env=env if env >= 0 else None, native=(row, None)),),
    )


def _transition_of(window: LabelledContext, env: int, row: int) -> int:
    table = window.transitions
    own = table.of(env)
    low, high = table.first_row[own], table.last_row[own]
    at = np.flatnonzero((low >= 0) & (low <= row) & (high >= row))
    return int(own[at[0]]) + table.first if len(at) else -1


def _counts(window: LabelledContext, transition: int) -> bool | None:
    """Whether a transition counts; None where nobody says.

    It doesn't if it only resets, or if its environment itself said so in its info.
    """
    table = window.transitions
    said = window.fields("info").get("valid")
    answer = None if said is None or said.ragged else said.at(transition)
    if answer is not None and not np.all(answer):
        return False
    told = int(table.valid[transition - table.first])
    return bool(told) if told >= 0 else None
