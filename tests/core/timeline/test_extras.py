"""From an analysis to what the timeline draws of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.analysis import Analyser
from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.recording.model import Labels
from isoscope.core.recording.registry import load
from isoscope.core.timeline.extras import extras_of, found_so_far, taints_of
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.pieces import Shape
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.analysis import Analysis
    from isoscope.core.timeline.model import TimelineExtras


def extras(path: Path) -> TimelineExtras:
    return extras_of(Analyser(load(path)).run())


def test_a_missed_restore_is_an_arc_a_mark_and_tainted_rows(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_missed_restore.h5")
    (arc,) = found.arcs
    assert (arc.source, arc.target, arc.severity) == (33, 34, "error")
    assert arc.text == "env 0 went on from env 1's state"
    (mark,) = found.findings
    assert (mark.row, mark.env, mark.severity) == (34, 0, "error")
    (taint,) = found.tainted
    assert (taint.low, taint.high, taint.env) == (34, 39, 0)


def test_usual_restores_are_no_arcs(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_2env.h5")
    assert found.arcs == ()
    assert found.findings == ()


def test_a_rewind_is_a_quiet_arc(recordings: Path) -> None:
    found = extras(recordings / "restore_twice.h5")
    assert [(a.target, a.severity) for a in found.arcs] == [(15, "note"), (30, "note")]


def test_taint_is_of_the_environment_that_was_reached(recordings: Path) -> None:
    found = extras(recordings / "shared_cartpole_leak_gravity.h5")
    (mark,) = found.findings
    assert (mark.row, mark.env) == (66, 1)
    (taint,) = found.tainted
    assert (taint.low, taint.env) == (68, 0)


def test_lanes_come_of_them(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_missed_restore.h5")
    made = timeline_of(recording, extras_of(Analyser(recording).run()))
    keys = [lane.key for lane in made.lanes]
    assert keys[:2] == ["owner", "residual"]
    assert keys[-2:] == ["env:0", "env:1"]
    lane = made.lane("env:0")
    assert lane is not None
    assert Shape.ERROR in lane.marks.kinds


def hatched(found: TimelineExtras, analysis: Analysis) -> dict[int, set[int]]:
    """Each environment's own rows that are under a taint of its own."""
    own = {env: set(analysis.rows_of(env).tolist()) for env in analysis.environments}
    rows: dict[int, set[int]] = {env: set() for env in own}
    for taint in found.tainted:
        assert taint.env is not None
        rows[taint.env] |= own[taint.env] & set(range(taint.low, taint.high + 1))
    return rows


def tainted_of(analysis: Analysis) -> dict[int, set[int]]:
    spread = analysis.tainted
    assert spread is not None
    rows = set(np.flatnonzero(spread.rows).tolist())
    return {
        env: rows & set(analysis.rows_of(env).tolist()) for env in analysis.environments
    }


@pytest.mark.parametrize(
    "name",
    [
        "shared_cartpole_missed_restore",
        "shared_cartpole_leak_gravity",
        "shared_cartpole_2env",
        "restore_twice",
    ],
)
def test_exactly_the_tainted_rows_are_hatched(recordings: Path, name: str) -> None:
    analysis = Analyser(load(recordings / f"{name}.h5")).run()
    assert hatched(extras_of(analysis), analysis) == tainted_of(analysis)


def spoilt_run(path: Path) -> Run:
    run = Run(path, 3).resets().steps(2)
    run.step(1, restore=False)
    for env in (0, 2, 1):
        run.step(env)
    for env in range(3):
        run.reset(env)
    return run.steps(2)


def test_a_labelled_run_hatches_to_the_next_reset_of_the_same(tmp_path: Path) -> None:
    run = spoilt_run(tmp_path)
    analysis = Analyser(run.examine().recording).run()
    rows = hatched(extras_of(analysis), analysis)
    assert rows == tainted_of(analysis)
    labels = analysis.labels
    spoilt = (labels.env == 1) & (labels.episode == 1) & (labels.control_step > 2)
    assert rows == {0: set(), 1: set(np.flatnonzero(spoilt).tolist()), 2: set()}
    (taint,) = extras_of(analysis).tainted
    assert taint.text.startswith("env 1 is tainted by missed-restore: native steps ")


def test_an_open_taint_grows_with_the_run(tmp_path: Path) -> None:
    recording = spoilt_run(tmp_path).examine().recording
    steps = OwnSteps(recording)
    finding = Finding(
        id="made",
        severity="error",
        message="",
        remedy="",
        taints=(Taint(env=2, native=(4, None), until="end"),),
    )
    ends = []
    for upto in (2, 12, len(recording)):
        steps.take(upto)
        analysis = steps.analysis()
        object.__setattr__(analysis, "audit", _audit(finding))
        taints = found_so_far(analysis).tainted
        own = analysis.rows_of(2)
        rows = own[own >= 4]
        assert [(t.low, t.high, t.env) for t in taints] == (
            [(int(rows[0]), int(rows[-1]), 2)] if len(rows) else []
        )
        ends.append(taints[0].high if taints else -1)
    assert -1 == ends[0] < ends[1] < ends[2]


def _audit(*findings: Finding) -> object:
    from isoscope.core.isolation.findings import Audit

    return Audit(files=[], findings=list(findings), not_run=[], checks=[])


def test_stretches_break_at_own_steps_that_can_be_trusted_and_at_reasons() -> None:
    labels = Labels.unknown(9)
    labels.env[:] = [0, 1, 0, 1, 0, 1, 0, -1, -1]
    findings = [
        Finding(id=key, severity="error", message="", remedy="") for key in ("a", "b")
    ]

    def own(env: int) -> np.ndarray:
        return np.flatnonzero(labels.env == env)

    def spans(*reasons: int) -> list[tuple[int, int, int | None, str]]:
        found = taints_of(np.array(reasons, np.int32), findings, labels, own)
        return [(t.low, t.high, t.env, t.text.split(":")[0][-1]) for t in found]

    assert spans(*[-1] * 9) == []
    # Row 3 is env 1's and can be trusted; env 0 waits there in a tainted state.
    assert spans(0, -1, 0, -1, -1, -1, -1, -1, -1) == [(0, 2, 0, "a")]
    assert spans(0, -1, -1, -1, 0, 1, 1, -1, -1) == [
        (0, 0, 0, "a"),
        (4, 4, 0, "a"),
        (6, 6, 0, "b"),
        (5, 5, 1, "b"),
    ]
    assert spans(*[-1] * 7, 1, 1) == [(7, 8, None, "b")]
