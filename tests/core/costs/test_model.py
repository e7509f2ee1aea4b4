"""Sums, phases, workers and windows of the costs, against numbers done by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.costs import columns
from isoscope.core.costs.compare import compare, sentence
from isoscope.core.costs.model import CostModel
from isoscope.core.costs.naming import Stage, solve_entries
from isoscope.core.costs.report import Window
from isoscope.core.costs.samples import Phase
from isoscope.core.costs.written import to_csv
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.registry import open_source
from tests.core.costs.recorded import labelled_of, recorder_at, stepped, usual
from tests.core.envs.making import env as make_env

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.costs.report import CostReport


def costs(path: Path, window: Window | None = None) -> CostReport:
    model = CostModel(labelled_of(path))
    model.update()
    return model.report(window or Window())


def part(report: CostReport, path: str):
    return next(p for p in report.parts if p.path == path)


@pytest.fixture
def two_workers(tmp_path: Path) -> Path:
    """Two processes of two environments; those of the second take twice as long."""
    path = tmp_path / "two.isoscope.h5"
    with recorder_at(path, environments_per_process=2, control_hz=25) as recorder:
        for k in range(1, 6):
            for env in range(4):
                first = 5.0 if k == 1 else 1.0
                stepped(recorder, env, k, usual(first * (1 + env // 2)), per_worker=2)
    return path


def test_a_parent_is_never_added_to_its_children(two_workers: Path) -> None:
    report = costs(two_workers)
    assert part(report, "step").whole.median == pytest.approx(0.01)
    assert part(report, "step").own.median == pytest.approx(0.002)
    # 4 steady steps of 10, 10, 20 and 20 ms
    assert report.top_s == pytest.approx(0.24)
    assert report.own_s == pytest.approx(0.24)
    assert report.adds_up
    assert report.problems == ()


def test_the_first_step_is_apart_from_the_steady_ones(two_workers: Path) -> None:
    report = costs(two_workers)
    assert report.samples[Phase.FIRST] == 4
    assert report.samples[Phase.STEADY] == 16
    assert part(report, "step").first.largest == pytest.approx(0.1)
    assert part(report, "step").whole.p95 == pytest.approx(0.02)


def test_the_slowest_worker_is_named_and_its_stages_add_up(two_workers: Path) -> None:
    report = costs(two_workers)
    slowest = report.slowest
    assert slowest is not None
    assert (slowest.name, slowest.envs) == ("worker 1", (2, 3))
    assert slowest.turn_s == pytest.approx(0.04)
    assert slowest.stages[Stage.SUBSTEPS] == pytest.approx(0.024)
    assert sum(slowest.stages.values()) == pytest.approx(slowest.turn_s)


def test_the_solver_and_the_wall_are_told_without_a_profiler(tmp_path: Path) -> None:
    path = tmp_path / "bare.isoscope.h5"
    with recorder_at(path, solver_statuses={0: "converged"}) as recorder:
        for k in range(1, 5):
            stepped(recorder, 0, k, [])
    report = costs(path)
    assert report.entries == 0
    assert report.parts == ()
    assert report.solver.statuses == {"converged": 4}
    assert report.solver.iterations.total == 14
    assert report.wall.control.median == pytest.approx(0.004)
    assert report.wall.native.count == 0  # each control step has one native step
    assert not report.empty


def test_nothing_at_all_is_empty_and_nothing_is_made_up(tmp_path: Path) -> None:
    path = tmp_path / "nothing.isoscope.h5"
    with recorder_at(path) as recorder:
        recorder.native(r.NativeStep(env=0, h_s=0.02))
    report = costs(path)
    assert report.empty
    assert math.isnan(report.solver.residual.median)
    assert report.copies == ()


def test_windows_by_rows_and_by_last_steps(two_workers: Path) -> None:
    rows = costs(two_workers, Window(rows=(16, 19)))
    assert rows.samples[Phase.STEADY] == 4
    assert rows.samples[Phase.FIRST] == 0
    assert rows.solver.told == 4
    last = costs(two_workers, Window(last_steps=2))
    assert last.samples[Phase.STEADY] == 8
    assert last.solver.told == 8
    assert last.wall.control.count == 4


def test_units_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "units.isoscope.h5"
    entries = [
        ("step", 0.02, "s", ""),
        ("step/step_scene", 15.0, "ms", "step"),
        ("step/observe", 900.0, "us", "step"),
        ("step/odd", 3.0, "parsecs", "step"),
        ("cpp_nameless", 3.0, "", "step"),
    ]
    with recorder_at(path) as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, entries)
    report = costs(path)
    assert part(report, "step").own.median == pytest.approx(0.02 - 0.015 - 0.0009)
    said = " ".join(report.problems)
    assert "parsecs" in said
    assert "cpp_nameless is told without a unit" in said
    assert {o[0] for o in report.others} == {"step/odd", "cpp_nameless"}


def test_the_engine_s_total_holds_the_others_and_lies_in_the_scene_s_step(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lab.isoscope.h5"
    inside = "step/simulate"
    entries = [
        ("timings/step", 10.0, "ms", ""),
        ("timings/step/simulate", 9.0, "ms", "timings/step"),
        ("timings/step/simulate/step_scene", 6.0, "ms", ""),
        ("timings/step/simulate/cpp_total_step", 5.0, "ms", ""),
        ("timings/step/simulate/cpp_solve_step", 4.0, "ms", ""),
        ("timings/step/simulate/restore_state", 1.0, "ms", ""),
    ]
    with recorder_at(path, engine="superdex", substeps=2) as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, entries)
    report = costs(path)
    own = {p.path: round(1e3 * p.own.median, 6) for p in report.parts}
    assert own == {
        "step": 1.0,
        inside: 2.0,
        f"{inside}/step_scene": 1.0,
        f"{inside}/cpp_total_step": 1.0,
        f"{inside}/cpp_solve_step": 4.0,
        f"{inside}/restore_state": 1.0,
    }
    assert report.adds_up
    (worker,) = report.workers
    assert worker.stages[Stage.SUBSTEPS] == pytest.approx(0.008)
    assert worker.stages[Stage.RESTORE] == pytest.approx(0.001)
    assert any("the last of 2 native steps" in line for line in report.problems)


def test_parents_that_can_t_be_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "odd.isoscope.h5"
    entries = [
        ("step", 1.0, "ms", ""),
        ("step/restore", 3.0, "ms", "step"),
        ("lost", 1.0, "ms", "nowhere"),
        ("snake", 1.0, "ms", "tail"),
        ("tail", 1.0, "ms", "snake"),
    ]
    with recorder_at(path) as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, entries)
    said = "\n".join(costs(path).problems)
    assert "the parts of step are longer than it is in 3 of 3, by up to 2 ms" in said
    assert "lost is told to be inside of nowhere, which is not told" in said
    assert "is told to be inside of itself" in said


def test_resets_and_waits_are_no_control_steps(tmp_path: Path) -> None:
    path = tmp_path / "resets.isoscope.h5"
    with recorder_at(path) as recorder:
        for k in range(4):
            row = recorder.rows - 1
            if k in (0, 2):
                for name, value in (("reset", 50.0), ("reset/observe", 5.0)):
                    above = "reset" if "/" in name else ""
                    recorder.profile(
                        r.ProfileEntry(name, value, "ms", above, 0, -1, row)
                    )
            recorder.profile(r.ProfileEntry("wait", 2.0, "ms", "", 0, -1, row))
            stepped(recorder, 0, k + 1, usual())
    report = costs(path)
    assert report.samples == {
        Phase.INITIALISATION: 2,
        Phase.FIRST: 1,
        Phase.STEADY: 6,
        Phase.RESET: 1,
    }
    assert part(report, "reset").initialisation.total == pytest.approx(0.05)
    assert part(report, "reset/observe").stage is Stage.RESET
    assert part(report, "step").whole.count == 3
    (worker,) = report.workers
    assert worker.wait_s == pytest.approx(0.002)
    assert worker.turn_s == pytest.approx(0.01)
    assert Stage.RESET not in worker.stages


def test_copies_by_cause_and_each_solve_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "device.isoscope.h5"
    entries = [
        *usual(),
        ("copies/h2d/action", 8.0, "B", ""),
        ("copies/d2h/view", 4.0, "KiB", ""),
        ("copies/syncs/view", 2.0, "", ""),
        *solve_entries({"host_to_device_s": 0.001, "iterations": 0.004}),
        *solve_entries({"host_to_device_s": 0.003, "iterations": 0.006}),
    ]
    with recorder_at(path) as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, entries)
    report = costs(path)
    found = [(c.way, c.cause, c.total, c.each.median) for c in report.copies]
    assert found == [
        ("d2h", "view", 3 * 4096.0, 4096.0),
        ("h2d", "action", 24.0, 8.0),
        ("syncs", "view", 6.0, 2.0),
    ]
    assert list(report.solves) == ["host_to_device", "iterations"]
    assert report.solves["host_to_device"].count == 6
    assert report.solves["iterations"].largest == pytest.approx(0.006)
    assert report.adds_up  # neither is a part of the step


def test_a_recording_that_grows_block_by_block_says_the_same(
    two_workers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = costs(two_workers)
    for rows in (1, 3, 7):
        monkeypatch.setattr(columns, "BLOCK_ROWS", rows)
        # by its text: NaN is not equal to itself
        assert repr(costs(two_workers)) == repr(whole)


def test_what_is_written_since_is_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "live.isoscope.h5"
    with recorder_at(path) as recorder:
        stepped(recorder, 0, 1, usual())
        recorder.flush()
        source = open_source(path)
        source.index()
        labelled = source.recording.labelled
        model = CostModel(labelled)
        assert model.update()
        assert not model.update()
        assert model.report().samples[Phase.STEADY] == 0
        for k in range(2, 5):
            stepped(recorder, 0, k, usual())
        recorder.flush()
        source.refresh()
        assert model.update()
        assert model.report().samples[Phase.STEADY] == 3
        source.close()


def test_a_vector_environment_is_not_added_to_its_workers(tmp_path: Path) -> None:
    path = tmp_path / "vector.isoscope.h5"
    with recorder_at(path, environments_per_process=1) as recorder:
        for k in range(1, 5):
            for env in range(2):
                stepped(recorder, env, k, usual())
            for entry in (("step", 30.0, "ms", ""), ("step/wait", 25.0, "ms", "step")):
                recorder.profile(r.ProfileEntry(*entry, -1, -1, recorder.rows - 1))
    report = costs(path)
    assert part(report, "step").whole.largest == pytest.approx(0.01)
    assert [w.name for w in report.workers] == [
        "worker 0",
        "worker 1",
        "vector environment",
    ]
    assert report.workers[-1].stages[Stage.WAIT] == pytest.approx(0.025)


def test_two_stretches_say_what_dominates(tmp_path: Path) -> None:
    cpu, gpu = tmp_path / "cpu.isoscope.h5", tmp_path / "gpu.isoscope.h5"
    on_gpu = [
        ("step", 11.0, "ms", ""),
        ("step/substeps_launch", 1.0, "ms", "step"),
        ("step/convert", 9.0, "ms", "step"),
    ]
    for path, entries in ((cpu, usual()), (gpu, on_gpu)):
        with recorder_at(path) as recorder:
            for k in range(1, 5):
                stepped(recorder, 0, k, entries)
    found = compare(costs(cpu), costs(gpu))
    assert found.ratio == pytest.approx(1.1)
    assert found.stages[0][0] is Stage.CONVERT
    assert found.differences[0].path == "step/convert"
    said = sentence(found)
    assert "1.10 times as long: 11 ms against 10 ms" in said
    assert "82 % of it is convert" in said
    assert "launches" in said


def test_csv_has_a_line_for_each_and_empty_cells_for_what_is_absent(
    two_workers: Path,
) -> None:
    lines = to_csv(costs(two_workers)).splitlines()
    step = next(line for line in lines if line.startswith("part,step,"))
    assert step.split(",")[:5] == ["part", "step", "other", "s", "16"]
    assert step.endswith(",0.1,")  # no initialisation was told
    assert sum(line.startswith("turn,worker 1,") for line in lines) == 4


def test_what_our_environments_tell_goes_through(tmp_path: Path) -> None:
    from tests.core.costs.recorded import profiles_into

    path = tmp_path / "ours.isoscope.h5"
    made = [make_env(scene="shared", env_id=e) for e in range(2)]
    lead: dict[int, int] = {}
    with recorder_at(path) as recorder, profiles_into(recorder, lead):
        for one in made:
            one.reset(seed=1)
        for k in range(1, 6):
            for e, one in enumerate(made):
                lead[e] = k * 2 + e
                one.step(np.zeros(1, np.float32))
    for one in made:
        one.close()
    report = costs(path)
    assert report.adds_up
    assert report.problems == ()
    assert report.samples[Phase.STEADY] == 8
    assert report.samples[Phase.INITIALISATION] == 2
    (worker,) = report.workers
    assert {Stage.RESTORE, Stage.SUBSTEPS, Stage.CAPTURE} <= set(worker.stages)
    assert sum(worker.stages.values()) == pytest.approx(worker.turn_s)
