"""The ids of all checks, by severity, and which of them concern files alone.

They are those of the form ``isoscope.audit/1``; `registry` says which there are so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Severity

ERRORS = (
    "missed-restore",
    "snapshot-lost",
    "restore-failed",
    "hidden-leak",
    "config-changed",
    "stale-read",
    "scene-key",
    "cleanup-failed",
    "thread-shared-scene",
    "step-after-done",
    "reset-row",
    "final-observation",
    "end-flags",
    "aliasing",
    "observation-schema",
    "action-range",
    "non-finite",
    "unconverged",
    "masked-info",
    "absent-field",
    "target-as-action",
)
WARNINGS = (
    "duplicate-seeds",
    "identical-start",
    "same-seed-every-reset",
    "unseeded-action-space",
    "shared-task-state",
    "context-threads",
    "hidden-state-not-reset",
    "frame-restamped",
    "callback-moved-state",
    "handle-as-env",
    "rounded-values",
    "profile-sum",
    "incomplete-recording",
    "clock-mismatch",
    "return-units",
)
NOTES = ("rewind", "zero-step", "free-scene")

# What no run does wrong: it is in how a file was written, or what a scene is used for.
FILE_ONLY: dict[str, str] = {
    "rounded-values": "whoever wrote the file rounded what was recorded",
    "clock-mismatch": "clocks of files that don't belong together, or were edited",
    "rewind": "every restore of a shared scene rewinds its clock: no fault",
    "free-scene": "a scene that nobody resets, which an environment's never is",
}

SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(ERRORS, "error"),
    **dict.fromkeys(WARNINGS, "warning"),
    **dict.fromkeys(NOTES, "note"),
}
