"""The analysis: incremental, stoppable, and indexed by environment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.analysis import Analyser, Analysis, Timings, aligned, audited
from isoscope.core.attribution.attributor import Attributor
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import load, open_source
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path

MISSED = "shared_cartpole_missed_restore.h5"
LEAK = "shared_cartpole_leak_inertia.h5"
ALONE = "independent_cartpole_env0.h5"


def analysis_of(path: Path) -> Analysis:
    return Analyser(load(path)).run()


def test_it_attributes_audits_and_times(recordings: Path) -> None:
    found = analysis_of(recordings / MISSED)
    assert found.rows == 126
    assert found.environments == (0, 1)
    assert found.shared
    assert [finding.id for finding in found.findings] == ["missed-restore"]
    assert found.timings.attribution_s > 0
    assert found.timings.audit_s > 0
    assert np.isnan(found.timings.alignment_s)
    assert found.reference == ""


def test_progress_is_told_and_a_cancel_is_obeyed(recordings: Path) -> None:
    recording = load(recordings / MISSED)
    told: list[tuple[int, int]] = []
    Analyser(recording).run(lambda done, total: told.append((done, total)))
    assert told[-1] == (126, 126)
    with pytest.raises(CancelledError, match="native step 0"):
        Analyser(recording).run(cancelled=lambda: True)


def test_what_was_taken_in_before_a_cancel_stays(recordings: Path) -> None:
    recording = load(recordings / MISSED)
    analyser = Analyser(recording)
    answers = iter([False, True])
    with pytest.raises(CancelledError, match="auditing"):
        analyser.run(cancelled=lambda: next(answers))
    assert [f.id for f in analyser.run().findings] == ["missed-restore"]


def test_a_growing_recording_is_taken_in_piece_by_piece(recordings: Path) -> None:
    source = open_source(recordings / MISSED)
    analyser = Analyser(source.recording)
    early = analyser.run(complete=False)
    assert early.rows == 0
    assert early.audit is None
    assert early.findings == []
    source.index()
    late = analyser.run()
    whole = analysis_of(recordings / MISSED)
    for name in ("env", "episode", "control_step", "substep", "kind"):
        one, other = getattr(late.labels, name), getattr(whole.labels, name)
        assert np.array_equal(one, other)
    assert late.findings == [
        replace_file(f, late.findings[0].file) for f in whole.findings
    ]
    source.close()


def replace_file(finding, file):
    import msgspec

    return msgspec.structs.replace(finding, file=file)


def test_a_twin_shows_what_the_file_alone_can_not(recordings: Path) -> None:
    recording, twin = load(recordings / LEAK), load(recordings / ALONE)
    alone = Analyser(recording).run()
    assert alone.findings == []
    attributor = Attributor(twin)
    attributor.update()
    reference = Examined(twin, attributor.result())
    found = audited(alone, recording, reference)
    (leak,) = found.findings
    assert (leak.id, leak.env, leak.episode, leak.control_step) == (
        "hidden-leak",
        0,
        2,
        4,
    )
    assert found.reference == ALONE
    assert found.attribution is alone.attribution
    assert [f.id for f in audited(found, recording).findings] == []


def test_findings_are_by_the_environments_they_reach(recordings: Path) -> None:
    found = analysis_of(recordings / "shared_cartpole_leak_gravity.h5")
    assert [f.id for f in found.findings_of(0)] == ["config-changed"]
    assert [f.id for f in found.findings_of(1)] == ["config-changed"]
    missed = analysis_of(recordings / MISSED)
    assert [f.id for f in missed.findings_of(0)] == ["missed-restore"]
    assert missed.findings_of(1) == []


def test_clocks_run_through_a_segment_and_end_at_the_missed_restore(
    recordings: Path,
) -> None:
    recording = load(recordings / MISSED)
    found = Analyser(recording).run()
    assert found.segment_at(20) is None
    found = aligned(found, recording)
    assert found.timings.alignment_s > 0
    for row, native, why in ((20, 31, "missed_restore"), (35, 39, "reset")):
        env = found.owner(row)
        segment = found.segment_at(found.last_row(0, row))
        assert env in (0, 1)
        assert segment is not None
        assert segment.native[1] == native
        assert segment.why_it_ends == why
    assert found.segment_at(-1) is None


def test_the_control_time_is_the_step_s_own_environment_s(recordings: Path) -> None:
    found = analysis_of(recordings / MISSED)
    assert found.control_s[0] == 0.0  # env 0's reset
    assert found.control_s[3] == pytest.approx(0.04)  # its first control step
    assert found.control_s[4] == pytest.approx(0.02)  # env 1's first substep


def test_a_line_breaks_at_resets_and_where_a_state_was_taken(recordings: Path) -> None:
    found = analysis_of(recordings / MISSED)
    turns = found.turns_of(0)
    breaks = turns.place[turns.sequence == -1].tolist()
    assert breaks == [34, 40, 123]
    assert found.turns_of(0) is turns
    assert len(found.turns_of(7)) == 0


envs = st.lists(st.integers(-1, 5), min_size=0, max_size=60)


@given(envs, st.integers(-1, 5), st.integers(-2, 62))
def test_own_rows_are_found_as_by_looking_at_each(
    owners: list[int], env: int, row: int
) -> None:
    recording = Recording(None, "test")
    attributor = Attributor(recording)
    empty = attributor.result()
    labels = type(empty.labels).unknown(len(owners))
    labels.env[:] = owners
    found = Analysis(
        len(owners),
        replace(empty, labels=labels),
        np.zeros(len(owners)),
        None,
        "",
        Timings(0.0),
    )
    own = [r for r, e in enumerate(owners) if e == env] if env >= 0 else []
    assert found.rows_of(env).tolist() == own
    before = [r for r in own if r <= row]
    after = [r for r in own if r > row]
    assert found.last_row(env, row) == (before[-1] if before else -1)
    assert found.next_row(env, row) == (after[0] if after else -1)
    assert found.environments == tuple(sorted({e for e in owners if e >= 0}))
    inside = 0 <= row < len(owners)
    assert found.owner(row) == (owners[row] if inside else -1)


def test_it_knows_what_is_tainted_and_works_it_out_once(recordings: Path) -> None:
    recording = load(recordings / MISSED)
    unfinished = Analyser(recording).run(complete=False)
    assert unfinished.tainted is None
    found = audited(unfinished, recording)
    assert found.tainted is not None
    rows = np.flatnonzero(found.tainted.rows)
    assert rows.tolist() == [34, 35, 38, 39]
    assert (found.labels.env[rows] == 0).all()
    assert [f.id for f in found.tainted.why_row(34)] == ["missed-restore"]
    assert len(found.tainted.transitions) == 0  # a bare recording has none
    assert aligned(found, recording).tainted is found.tainted


def test_a_labelled_recording_s_transitions_are_tainted(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.step(0, restore=False)  # env 1 stepped last
    spread = Analyser(run.examine().recording).run().tainted
    assert spread is not None
    assert spread.transitions.tolist() == [False] * 6 + [True]
