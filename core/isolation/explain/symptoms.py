"""What people notice first, and the checks that bear on it, the likeliest first."""

from __future__ import annotations

from typing import NamedTuple


class Symptom(NamedTuple):
    """Something that is noticed.

    Attributes
    ----------
    key
        What it is asked for by.
    text
        As people say it.
    checks
        Ids that bear on it, in the order in which to look at them.
    record
        What to record so that all of them can run.
    """

    key: str
    text: str
    checks: tuple[str, ...]
    record: str


TAP = "Record with the tap (isoscope record, or tap.attach(env, record=FILE))"
STORED = "tell what your buffer stored, by StoredRecorder (docs/checks.md)"

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "alike-starts",
        "Two environments always start alike",
        (
            "duplicate-seeds",
            "identical-start",
            "same-seed-every-reset",
            "shared-task-state",
            "missed-restore",
        ),
        f"{TAP} from the first reset on: it keeps seeds and generators.",
    ),
    Symptom(
        "actions-do-nothing",
        "Actions do nothing",
        (
            "action-range",
            "reset-row",
            "step-after-done",
            "aliasing",
            "target-as-action",
            "missed-restore",
            "snapshot-lost",
            "unconverged",
        ),
        f"{TAP}: it keeps raw and clipped actions, and native control inputs.",
    ),
    Symptom(
        "zero-reward-after-end",
        "An action with zero reward after the end",
        ("reset-row", "step-after-done", "end-flags", "hidden-state-not-reset"),
        f"{TAP}, and {STORED}.",
    ),
    Symptom(
        "friction-changes-others",
        "Friction of one environment changes the others",
        ("config-changed", "scene-key", "hidden-leak", "cleanup-failed"),
        f"{TAP}: it keeps digests of the configuration; and give a --reference.",
    ),
    Symptom(
        "picture-of-another",
        "A's picture shows B",
        (
            "stale-read",
            "missed-restore",
            "frame-restamped",
            "handle-as-env",
            "thread-shared-scene",
        ),
        f"{TAP}, and tell sensors' frames by tap.stream.",
    ),
    Symptom(
        "times-do-not-match",
        "Recording time does not match the episodes",
        (
            "clock-mismatch",
            "rewind",
            "zero-step",
            "free-scene",
            "incomplete-recording",
            "handle-as-env",
        ),
        f"{TAP}: it says whose each native step is, and at what frequency.",
    ),
    Symptom(
        "gpu-not-faster",
        "The GPU is not faster",
        ("profile-sum", "context-threads", "unconverged", "thread-shared-scene"),
        f"{TAP} with a profile; isoscope bench measures copies and waits.",
    ),
    Symptom(
        "actions-out-of-range",
        "Actions are out of range after loading a policy",
        ("action-range", "observation-schema", "non-finite", "hidden-state-not-reset"),
        f"{TAP}: it keeps spaces with limits, names and units.",
    ),
    Symptom(
        "old-arrays-change",
        "Old arrays change",
        ("aliasing", "final-observation", "stale-read"),
        f"{TAP}, and {STORED}, as it hands its rows over.",
    ),
    Symptom(
        "grouping-changes-trajectories",
        "Trajectories change with the grouping of workers",
        (
            "duplicate-seeds",
            "shared-task-state",
            "missed-restore",
            "restore-failed",
            "config-changed",
            "hidden-leak",
            "unseeded-action-space",
            "context-threads",
            "handle-as-env",
        ),
        f"{TAP} in both groupings, and audit one with the other as --reference.",
    ),
    Symptom(
        "time-limit-not-learnt",
        "The end's value is not learnt at a time limit",
        ("end-flags", "final-observation", "reset-row", "masked-info", "return-units"),
        f"{TAP}, and {STORED}.",
    ),
    Symptom(
        "right-observations-control-fails",
        "Observations look right, but control fails",
        (
            "observation-schema",
            "action-range",
            "frame-restamped",
            "target-as-action",
            "hidden-state-not-reset",
            "absent-field",
            "masked-info",
            "rounded-values",
            "callback-moved-state",
            "clock-mismatch",
            "return-units",
        ),
        f"{TAP} with sensors' frames by tap.stream, and {STORED}.",
    ),
)
BY_KEY = {symptom.key: symptom for symptom in SYMPTOMS}
