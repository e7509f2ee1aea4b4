"""A labelled recording opened as a file: control steps as fields, places, chunks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.errors import PositionError
from isoscope.core.export_csv import export_csv
from isoscope.core.following.feed import Feed
from isoscope.core.following.reading import told_of
from isoscope.core.positions import parse_position, resolve_position
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.places import labelled_place
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.recording.registry import load
from isoscope.core.series import CONTROL, component_names, unit_told
from isoscope.core.timeline.chunk_words import facts_of
from isoscope.core.timeline.chunks import ChunkKey
from isoscope.core.timeline.pieces import Shape
from tests.live.made_run import write

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Recording:
    return load(write(tmp_path_factory.mktemp("run") / "run.isoscope.h5", 4, 40))


def test_control_steps_are_fields_of_the_rows_they_took(recording):
    control = recording.control
    raw = control["raw_action/action"]
    clipped, reward = control["action"], control["reward"]
    labelled = recording.labelled
    for number, transition in enumerate(labelled.transitions()):
        for row in range(transition.first_row, transition.last_row + 1):
            told = labelled.track("transitions", "raw_action", "action").at(number)
            assert raw.at(row) == told
            assert clipped.at(row) == np.clip(told, -10, 10)
            if np.isnan(transition.reward):
                assert reward.at(row) is None
            else:
                assert reward.at(row) == transition.reward
    seen = control["observation_after/observation"]
    assert component_names("", seen.shape, seen)[2] == "theta [rad]"
    assert unit_told("action", clipped) == "N"


def test_a_row_beyond_the_last_control_step_holds_none(recording):
    track = recording.control["reward"]
    window = track.read(len(recording) - 2, len(recording) + 3)
    assert window.valid.tolist() == [True, True, False, False, False]


def test_the_copied_program_reads_the_very_value(recording):
    place = labelled_place(recording, CONTROL, "action", 9, creation=False)
    done = subprocess.run(
        [sys.executable, "-c", place.python(0)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) == recording.control["action"].at(9)[0]


def test_a_chunk_is_found_by_its_key_and_its_actions(recording):
    row = resolve_position(recording, parse_position("chunk:0.0.0.0.1")).row
    told = told_of(recording)
    source, at = told.chunks.find(ChunkKey(0, 0, 0, 0, 1))
    assert row == int(source.begin.values[at])
    second = resolve_position(recording, parse_position("chunk:0.0.0.0.1/1")).row
    labels = recording.labels
    first = resolve_position(recording, parse_position("chunk:0.0.0.0.1/0")).row
    assert labels.env[first] == labels.env[second] == 0
    assert labels.control_step[second] == labels.control_step[first] + 1
    for wrong in ("chunk:9.0.0.0.1", "chunk:0.0.7.0.1", "chunk:0.0.0.0.1/40"):
        with pytest.raises(PositionError, match="run"):
            resolve_position(recording, parse_position(wrong))


def test_a_waiting_chunk_says_what_for(recording):
    told = told_of(recording)
    facts = facts_of(told.chunks, ChunkKey(0, 0, 1, 0, 3), recording.wall_s[-1])
    assert facts.state == "parts of both halves"
    assert facts.waits.startswith("the env part of slot 1, for ")
    later_s = recording.wall_s[-1] + 5000
    later = facts_of(told.chunks, ChunkKey(0, 0, 1, 0, 3), later_s)
    assert later.waits.startswith("the env part of slot 1, for 5,00")
    assert later.waits.endswith(" s so far")
    assert facts.fragments[0].startswith("policy part: slots 0 to 1, +0 ms")
    assert "row 3" in facts.rows[0]
    assert "row 4" in facts.rows[1]
    whole = facts_of(told.chunks, ChunkKey(0, 0, 0, 0, 0), recording.wall_s[-1])
    assert (whole.state, whole.waits) == ("flushed", "")
    assert facts_of(told.chunks, ChunkKey(0, 0, 9, 0, 0), 0.0) is None


def test_a_failure_of_the_run_stands_where_the_run_was_by_then(tmp_path):
    path = tmp_path / "failed.isoscope.h5"
    begin_ns, second_ns = 1_800_000_000 * 10**9, 10**9
    with Recorder(path, r.Identity(environments=1)) as recorder:
        for row in range(6):
            at_ns = begin_ns + row * second_ns
            recorder.native(r.NativeStep(env=0, h_s=0.02, wall_ns=at_ns))
        after_ns = begin_ns + 3 * second_ns + 1000
        recorder.failure(r.Failure("program", "it broke", wall_ns=after_ns))
        recorder.failure(r.Failure("program", "nobody knows when"))
        recorder.failure(r.Failure("step", "in its row", row=1, wall_ns=after_ns))
        recorder.dropped(r.Dropped("records", 2, wall_ns=begin_ns + 99 * second_ns))
    marks = Feed(load(path)).news().marks
    assert [mark.row for mark in marks] == [3, 0, 1, 5]


def test_the_resets_that_a_run_opens_with_are_no_chunk_s(tmp_path):
    """Nor where the environment tells its half first, once the chunk is over."""
    path = tmp_path / "late.isoscope.h5"
    begin_ns, second_ns = 1_800_000_000 * 10**9, 10**9
    kinds = [StepKind.RESET] * 2 + [StepKind.SUBSTEP] * 4
    with Recorder(path, r.Identity(environments=2)) as recorder:
        for row, kind in enumerate(kinds):
            recorder.native(
                r.NativeStep(
                    env=row % 2, kind=kind, h_s=0.02, wall_ns=begin_ns + row * second_ns
                )
            )
        recorder.chunk(
            r.ChunkEvent(
                state="env part",
                step=0,
                epoch=0,
                rank=0,
                stage=0,
                chunk=0,
                wall_ns=begin_ns + 5 * second_ns + 1000,
            )
        )
    (source,) = told_of(load(path)).chunks.ordered
    assert source.begin.values.tolist() == [2]


def test_environments_end_as_they_were_told_to(recording):
    told = told_of(recording)
    labels = recording.labels
    ends = [t for t in recording.labelled.transitions() if t.terminated == 1]
    assert ends
    end = ends[0]
    assert told.ended(end.env, end.last_row).shape is Shape.DONE
    assert told.ended(end.env, end.last_row).words == "terminated"
    own = np.flatnonzero(labels.env == end.env)
    after = int(own[own > end.last_row][0])
    assert told.ended(end.env, after).shape is Shape.NOTE
    assert told.ended(end.env, -1).shape is Shape.NOTE


def test_control_steps_are_exported_like_any_field(recording, tmp_path):
    from isoscope.widgets.session import FieldRef

    path = tmp_path / "out.csv"
    export_csv(path, recording, [FieldRef(CONTROL, "action")], 0, 4)
    head, first = path.read_text().splitlines()[:2]
    assert "control.action" in head
    assert first
