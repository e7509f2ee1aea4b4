"""Which checks there are: a dictionary with late imports, and entry points.

A check is a module (or any object) with four names: ``ID``, ``SEVERITY``, ``ABOUT``
(one line: what it looks for) and ``run(context)``, which yields findings. It raises
:class:`CannotRunError` where the source lacks what it needs; that is told.

A user's own check joins by an entry point of the group ``isoscope.checks`` that names
such an object, and has the same standing.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, cast

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Finding, Severity

GROUP = "isoscope.checks"
_HERE = "isoscope.core.isolation.checks."

# In the order in which they are listed.
CHECKS: dict[str, str] = {
    "missed-restore": _HERE + "missed_restore",
    "config-changed": _HERE + "config_changed",
    "hidden-leak": _HERE + "hidden_leak",
    "snapshot-lost": _HERE + "snapshot_lost",
    "restore-failed": _HERE + "restore_failed",
    "stale-read": _HERE + "stale_read",
    "scene-key": _HERE + "scene_key",
    "cleanup-failed": _HERE + "cleanup_failed",
    "thread-shared-scene": _HERE + "thread_shared_scene",
    "step-after-done": _HERE + "step_after_done",
    "reset-row": _HERE + "reset_row",
    "final-observation": _HERE + "final_observation",
    "end-flags": _HERE + "end_flags",
    "aliasing": _HERE + "aliasing",
    "observation-schema": _HERE + "observation_schema",
    "action-range": _HERE + "action_range",
    "non-finite": _HERE + "non_finite",
    "unconverged": _HERE + "unconverged",
    "masked-info": _HERE + "masked_info",
    "absent-field": _HERE + "absent_field",
    "target-as-action": _HERE + "target_as_action",
    "duplicate-seeds": _HERE + "duplicate_seeds",
    "identical-start": _HERE + "identical_start",
    "same-seed-every-reset": _HERE + "same_seed_every_reset",
    "unseeded-action-space": _HERE + "unseeded_action_space",
    "shared-task-state": _HERE + "shared_task_state",
    "context-threads": _HERE + "context_threads",
    "hidden-state-not-reset": _HERE + "hidden_state_not_reset",
    "frame-restamped": _HERE + "frame_restamped",
    "callback-moved-state": _HERE + "callback_moved_state",
    "handle-as-env": _HERE + "handle_as_env",
    "rounded-values": _HERE + "rounded_values",
    "profile-sum": _HERE + "profile_sum",
    "incomplete-recording": _HERE + "incomplete_recording",
    "clock-mismatch": _HERE + "clock_mismatch",
    "return-units": _HERE + "return_units",
    "rewind": _HERE + "rewind",
    "zero-step": _HERE + "zero_step",
    "free-scene": _HERE + "free_scene",
}


class Check(Protocol):
    """What a check's module offers."""

    ID: str
    SEVERITY: Severity
    ABOUT: str

    def run(self, context: Context) -> Iterable[Finding]:
        """Look, and yield what is wrong."""
        ...


class CannotRunError(Exception):
    """The source lacks what a check needs; caught by the audit, which tells it.

    Parameters
    ----------
    reason
        Why it could not run, as a clause.
    needs
        What to record, or to give, so that it can.
    """

    def __init__(self, reason: str, needs: str) -> None:
        self.reason = reason
        self.needs = needs
        super().__init__(f"{reason}; needs {needs}")


def check(key: str) -> Check:
    """Return the check of this id.

    Raises
    ------
    UsageError
        If there is none; the message lists the ids.
    """
    known = all_checks()
    if key not in known:
        raise UsageError(f"no check {key!r}; there is {', '.join(known)}")
    return known[key]


def all_checks() -> dict[str, Check]:
    """Every check by its id, the users' own after ours."""
    found: dict[str, Check] = {}
    for key, where in CHECKS.items():
        module = cast("Check", importlib.import_module(where))
        if key != module.ID:
            raise AssertionError(f"{where} calls itself {module.ID}, not {key}")
        found[key] = module
    for entry in entry_points(group=GROUP):
        own = cast("Check", entry.load())
        if own.ID in found:
            raise UsageError(f"check {own.ID!r} of {entry.value} is there already")
        found[own.ID] = own
    return found
