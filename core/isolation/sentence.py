"""The sentence on top: what a recording is, and what is wrong with it.

It is given in parts, each a text and whether it matters most, so that whoever shows it
can make those bold and cut the others first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.result import Reason
from isoscope.core.recording.scenes import Scenes, scene_count, scenes_of
from isoscope.core.summary import counted, duration, duration_s, listed

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.recording.model import Recording

Part = tuple[str, bool]  # text, and whether it matters most

WHY_UNKNOWN: dict[Reason, str] = {
    Reason.IDENTICAL_STATES: "environments in identical states",
    Reason.NO_VELOCITIES: "no step tells where it began",
    Reason.CALLBACK_MOVED: "something moved bodies between the steps",
    Reason.MID_EPISODE: "recording began inside an episode",
    Reason.GAP: "steps are missing",
    Reason.UNSUPPORTED_INTEGRATOR: "its velocities mean something else",
}
AXES = "xyz"
_PLURAL = {"error": "errors", "warning": "warnings", "note": "notes"}


def sentence_of(
    recording: Recording, attribution: Attribution, audit: Audit | None
) -> list[Part]:
    """What the recording is and, once it has been audited, what is wrong with it."""
    parts: list[Part] = [(what_it_is(recording, attribution), False)]
    if audit is not None:
        parts += verdict(audit)
    return parts


def what_it_is(recording: Recording, attribution: Attribution) -> str:
    """``"2 environments in one scene, 5 episodes, 2 substeps per control step."``."""
    labels = attribution.labels
    rows = len(labels)
    unknown = int(np.count_nonzero(labels.env < 0))
    steps = counted(rows, recording.row_is)
    if rows == 0:
        return f"No {recording.row_is}."
    if unknown == rows:
        return f"{steps} of unknown environments{_why(attribution)}."
    several = attribution.environments > 1
    resets = attribution.episodes > 1 or bool((labels.control_step == 0).any())
    if not several and not resets:
        lasts = duration_s(recording)
        over = "" if lasts is None else f" over {duration(lasts)}"
        said = f"One environment, one continuous run of {steps}{over}"
    else:
        who = counted(attribution.environments, "environment")
        where = _where(recording, attribution.environments)
        said = f"{who}{where}, {counted(attribution.episodes, 'episode')}"
        if recording.row_is == "control step":
            said += f", {steps}"
        elif attribution.substeps is not None:
            count = counted(attribution.substeps, "substep")
            said += f", {count} per control step"
        else:
            said += "; how many substeps a control step has is unknown"
    if unknown:
        said += f"; {counted(unknown, recording.row_is)} unknown{_why(attribution)}"
    return f"{said}."


def _where(recording: Recording, environments: int) -> str:
    """In which scenes the environments are; empty where nothing tells of one."""
    scenes = scenes_of(recording, environments)
    count = scene_count(recording)
    if scenes is Scenes.SHARED and count > 1:
        return f" in {count:,} scenes"
    return {
        Scenes.ALONE: " alone in its scene",
        Scenes.SHARED: " in one scene",
        Scenes.OWN: ", each in a scene of its own",
        Scenes.SIDE_BY_SIDE: ", each in a world of its own",
        Scenes.UNTOLD: "",
    }[scenes]


def verdict(audit: Audit) -> list[Part]:
    """How many findings there are, and what the worst one says."""
    ran = sum(check.ran for check in audit.checks)
    if not audit.findings:
        could_not = len(audit.checks) - ran
        rest = f", {could_not} could not" if could_not else ""
        return [(f" No findings: {counted(ran, 'check')} ran{rest}.", False)]
    worst = audit.findings[0]
    count = audit.count(worst.severity)
    word = worst.severity if count == 1 else _PLURAL[worst.severity]
    head = f" {count:,} {word}:" if count == 1 else f" {count:,} {word}, the first:"
    parts = [(head, True), (f" {worst.headline}.", False)]
    others = [
        f"{number:,} {severity if number == 1 else _PLURAL[severity]}"
        for severity in _PLURAL
        if severity != worst.severity and (number := _count(audit, severity))
    ]
    if others:
        parts.append((f" Also {listed(others)}.", False))
    return parts


def change_text(finding: Finding, between: str = " to ") -> str:
    """From which value to which: ``"gravity y -9.8 to -3 m/s²"``."""
    unit = " m/s²" if finding.field == "gravity" else ""
    name, old, new = finding.field or "a value", finding.expected, finding.value
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        differ = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        if len(differ) == 1 and len(old) == len(AXES):
            at = differ[0]
            name, old, new = f"{name} {AXES[at]}", old[at], new[at]
    return f"{name} {value_text(old)}{between}{value_text(new)}{unit}"


def value_text(value: object) -> str:
    """A number, or several in brackets, in at most six digits."""
    if isinstance(value, list | tuple):
        return "(" + ", ".join(value_text(v) for v in value) + ")"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _why(attribution: Attribution) -> str:
    """The most frequent reason of what is unknown, in brackets; empty without one."""
    unknown = attribution.labels.env < 0
    reasons, counts = np.unique(attribution.reason[unknown], return_counts=True)
    known = [
        (int(n), WHY_UNKNOWN[Reason(int(r))])
        for r, n in zip(reasons, counts, strict=True)
        if Reason(int(r)) in WHY_UNKNOWN
    ]
    return f" ({max(known)[1]})" if known else ""


def _count(audit: Audit, severity: str) -> int:
    return sum(finding.severity == severity for finding in audit.findings)
