"""Every clock and number of a native step, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.analysis import Analyser
from isoscope.core.following.feed import News
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.recording.registry import load
from isoscope.widgets.clocks.facts import facts_at
from isoscope.widgets.clocks.plots import as_many_as_fit, clock_plots, wanted_of
from isoscope.widgets.session import Phase
from tests.widgets.opened import (
    analysed_document,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from pathlib import Path

MISSED = "shared_cartpole_missed_restore.h5"


@pytest.fixture
def missed(recordings: Path):
    return analysed_document(recordings / MISSED)


def said(document, row: int) -> dict[str, str]:
    return {fact.name: fact.value for fact in facts_at(document, row)}


def test_all_clocks_and_indices_of_a_step(missed) -> None:
    facts = said(missed, 31)
    assert facts["native step"] == "31 of 125"
    assert facts["recording"] == "0.60002 s"
    assert facts["scene"] == "0.32001 s"
    assert facts["control"] == "0.32000 s"
    assert facts["wall"] == "not recorded"
    assert facts["environment"] == "env 0"
    assert (facts["episode"], facts["control step"]) == ("1", "8")
    assert facts["substep"] == "1 of 2"
    assert facts["goes on from"] == "native 30"
    assert facts["clocks run"] == "native 0 to 31"
    assert facts["until"] == "a missed restore"


def test_the_reset_s_own_step_is_an_offset_and_no_drift(missed) -> None:
    facts = said(missed, 31)
    assert facts["scene clock"] == "0.04 s/control"
    assert facts["its offset"] == "1e-05 s"
    assert facts["its jitter"] == "0 s"


def test_a_foreign_state_stands_out(missed) -> None:
    (fact,) = [f for f in facts_at(missed, 34) if f.name == "goes on from"]
    assert fact.value == "native 33, env 1"
    assert fact.tone == "error"


def test_a_reset_has_no_substep(missed) -> None:
    facts = said(missed, 0)
    assert facts["control step"] == "0, the reset"
    assert facts["substep"] == "—"
    assert facts["goes on from"] == "the reset"
    assert "residual" not in facts


def test_what_is_unknown_says_so_and_is_never_a_number(recordings: Path) -> None:
    facts = said(analysed_document(recordings / "no_state.h5"), 2)
    assert facts["scene"] == "unknown"
    assert facts["control"] == "unknown"
    assert facts["environment"] == "unknown"
    assert facts["goes on from"] == "unknown"
    assert facts["why unknown"] == "no step tells where it began"
    assert "confidence" not in facts


def test_without_a_reset_the_scene_s_time_is_relative(recordings: Path) -> None:
    facts = said(analysed_document(recordings / "restore_twice.h5"), 15)
    assert facts["scene"] == "began + 0.02000 s"
    assert facts["its offset"].endswith("(relative)")


def test_before_any_analysis_only_the_file_speaks(recordings: Path) -> None:
    facts = said(open_document(recordings / MISSED), 3)
    assert facts["recording"] == "0.04002 s"
    assert "environment" not in facts
    assert facts_at(open_document(recordings / MISSED), 500) == []


def test_the_plots_are_the_clocks_the_control_time_the_residual(missed) -> None:
    plots = clock_plots(missed)
    assert [plot.actor for plot in plots] == ["clocks", "control time", "residual"]
    assert [c.name for c in plots[0].curves] == ["recording", "scene", "env 0", "env 1"]
    control = {c.name: c for c in plots[1].curves}
    assert control["env 0"].rows.at(33) == pytest.approx(0.32)
    line = control["env 0"].decimator.window(0, 126, 4000)
    assert line.values[30:36] == pytest.approx([0.3, 0.32, 0.32, 0.32, 0.34, 0.36])
    residual = plots[2].curves[0]
    assert residual.rows.at(0) is None
    assert residual.rows.at(34) == -15  # exactly 0 stands at the floor
    assert plots[2].note == "0 stands at -15"


def test_the_scene_s_line_goes_back_at_every_restore(missed) -> None:
    scene = clock_plots(missed)[0].curves[1]
    line = scene.decimator.window(0, 126, 4000)
    back = [
        int(r)
        for r, d in zip(line.rows[1:], line.values[1:] - line.values[:-1], strict=True)
        if d < 0
    ]
    assert back[:3] == [4, 8, 12]


def test_few_fit_where_it_is_low(missed) -> None:
    plots = clock_plots(missed)
    assert len(as_many_as_fit(plots, 60)) == 1
    assert len(as_many_as_fit(plots, 200)) == 2
    assert len(as_many_as_fit(plots, 2000)) == 3


def test_who_is_looked_at_is_drawn_last_and_the_others_pale(missed) -> None:
    missed.focus = 0
    curves = clock_plots(missed)[1].curves
    assert [(c.name, c.pale) for c in curves] == [("env 1", True), ("env 0", False)]
    missed.set_hidden_envs({1})
    assert [c.name for c in clock_plots(missed)[1].curves] == ["env 0"]


def test_without_a_known_reset_a_relative_line_still_goes_back(recordings: Path):
    document = analysed_document(recordings / "restore_twice.h5")
    names = [c.name for c in clock_plots(document)[0].curves]
    assert names == ["recording", "scene, rel."]


def test_what_tells_no_times_has_no_plot() -> None:
    recording = made_recording(4)
    recording.steps.time_s[:] = np.nan
    document = made_document(recording)
    assert clock_plots(document) == []
    document.analysis = Analyser(recording).run()
    assert clock_plots(document) == []


def live_document(path: Path, told_from: int, rows: int = 12):
    """One of a run whose steps have an h from this row on; a reset every four."""
    with Recorder(path, r.Identity(environments=1, substeps=1)) as recorder:
        for row in range(rows):
            reset, told = row % 4 == 0, row >= told_from
            recorder.native(
                r.NativeStep(
                    env=0,
                    episode=row // 4 + 1,
                    control_step=row % 4,
                    substep=0,
                    kind=StepKind.RESET if reset else StepKind.SUBSTEP,
                    h_s=0.02 if told else np.nan,
                    scene_time_s=row * 0.02 if told else np.nan,
                    wall_ns=1_800_000_000 * 10**9 + row,
                )
            )
    recording = load(path)
    recording.steps.time_s[:] = np.nan  # as where control steps are the rows
    return made_document(recording, Phase.LIVE)


def test_a_run_without_times_has_no_plot_of_its_resets_alone(tmp_path: Path) -> None:
    document = live_document(tmp_path / "run.isoscope.h5", told_from=99)
    document.take(News(12))
    assert np.nanmax(document.analysis.control_s) == 0.0
    assert clock_plots(document) == []
    assert wanted_of(document).told == frozenset()


def test_clocks_that_turn_up_later_are_plotted_then(tmp_path: Path) -> None:
    document = live_document(tmp_path / "run.isoscope.h5", told_from=5)
    document.take(News(4))
    before = wanted_of(document)
    assert clock_plots(document) == []
    document.take(News(12))
    after = wanted_of(document, before)
    assert after != before
    assert "scene" in after.told
    assert "scene" in [curve.name for curve in clock_plots(document)[0].curves]
