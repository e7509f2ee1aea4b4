"""What the timeline shows of a run that goes on: what was found, as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.isolation.findings import Audit, Finding, Taint
from isoscope.widgets.timeline import content as module
from isoscope.widgets.timeline.content import Content
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from isoscope.core.analysis import Analysis


class Watched:
    """As much of a document as is asked."""

    analysis: Analysis | None = None


def _audit(*findings: Finding) -> Audit:
    return Audit(files=[], findings=list(findings), not_run=[], checks=[])


def _finding(env: int) -> Finding:
    taint = Taint(env=env, native=(3, None), until="end")
    return Finding(id="made", severity="error", message="", remedy="", taints=(taint,))


def test_live_taint_follows_findings_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    steps = OwnSteps(Run(tmp_path, 2).resets().steps(4).examine().recording)
    content, document = Content(), Watched()

    def look(upto: int) -> dict[int | None, int]:
        steps.take(upto)
        document.analysis = steps.analysis()
        found = content._found(document)
        return {} if found is None else {t.env: t.high for t in found.tainted}

    def last(env: int) -> int:
        return int(np.max(steps.rows_of(env)))

    assert look(5) == {}
    steps.kept_up = _audit(_finding(0))
    assert look(6) == {0: last(0)}
    before = content._found(document)
    assert content._found(document) is before
    now[0] += 1.0
    assert look(9) == {0: last(0)}
    steps.kept_up = _audit(_finding(0), _finding(1))
    assert look(9) == {0: last(0), 1: last(1)}
    document.analysis = None
    assert content._found(document) is None
