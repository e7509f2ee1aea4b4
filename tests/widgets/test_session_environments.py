"""Looking at one environment or a finding: what the session tells, and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.clock import TimeKind
from isoscope.widgets.session import Session
from tests.widgets.opened import analysed_document, open_document

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.session import Document

MISSED = "shared_cartpole_missed_restore.h5"


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def document(session: Session, recordings: Path) -> Document:
    made = analysed_document(recordings / MISSED)
    session.add(made)
    return made


def heard(signal) -> list[object]:
    calls: list[object] = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def test_scene_and_control_time_can_be_chosen_once_they_are_known(
    session: Session, recordings: Path
) -> None:
    plain = open_document(recordings / MISSED)
    session.add(plain)
    assert session.clock.kinds == (TimeKind.RECORDING, TimeKind.NATIVE)
    found = analysed_document(recordings / MISSED).analysis
    session.clock.seek(9)
    plain.set_analysis(found)
    assert session.clock.kinds == (
        TimeKind.RECORDING,
        TimeKind.SCENE,
        TimeKind.CONTROL,
        TimeKind.NATIVE,
    )
    assert session.clock.row == 9
    assert session.clock.stamp(34, TimeKind.SCENE) == pytest.approx(0.34001)


def test_the_control_time_is_that_of_who_is_looked_at(
    session: Session, document: Document
) -> None:
    clock = session.clock
    clock.set_time(TimeKind.CONTROL)
    assert clock.stamp(33) == pytest.approx(0.32)  # env 1's own
    calls = heard(session.focus_changed)
    session.focus(0)
    assert document.focus == 0
    assert clock.stamp(33) == pytest.approx(0.32)  # env 0's last, held
    assert clock.stamp(36) == pytest.approx(0.36)
    assert not clock.axis.durations_s[[32, 33]].any()
    session.focus(0)
    assert len(calls) == 1
    session.focus(None)
    assert clock.axis.durations_s[33] > 0


def test_a_finding_leads_to_its_environment_and_step(
    session: Session, document: Document
) -> None:
    calls = heard(session.finding_changed)
    session.clock.play()
    session.show_finding(0)
    assert session.clock.row == 34
    assert not session.clock.state.playing
    assert document.focus == 0
    assert document.chosen_finding is document.findings[0]
    session.clock.seek(0)
    session.show_finding(0)  # again: goes there again, and tells nothing new
    assert session.clock.row == 34
    assert len(calls) == 1
    session.show_finding(5)
    assert document.finding == 0
    session.show_finding(None)
    assert document.chosen_finding is None
    assert session.clock.row == 34
    assert len(calls) == 2


def test_without_a_document_nothing_is_looked_at(session: Session) -> None:
    session.focus(0)
    session.show_finding(0)
    assert session.clock.state.rows == 0


def test_a_new_analysis_keeps_what_is_looked_at_if_it_is_still_there(
    session: Session, document: Document
) -> None:
    session.show_finding(0)
    found = document.analysis
    document.set_analysis(found)
    assert document.finding == 0
    assert document.focus == 0
    document.set_analysis(None)
    assert document.finding is None
    assert document.focus is None
    assert document.findings == []
    assert document.shown_envs == ()


def test_hidden_environments_are_told_once(document: Document) -> None:
    calls = heard(document.hidden_envs_changed)
    document.set_hidden_envs({1})
    document.set_hidden_envs({1})
    assert len(calls) == 1
    assert document.shown_envs == (0,)


def test_labels_are_those_found_out(document: Document) -> None:
    labels = document.labels
    assert labels is not None
    assert np.unique(labels.env).tolist() == [0, 1]


def test_playing_control_time_passes_over_the_others_turns(
    session: Session, document: Document
) -> None:
    session.focus(0)
    clock = session.clock
    clock.set_time(TimeKind.CONTROL)
    clock.seek(2)
    clock.play()
    seen = []
    for _ in range(12):
        seen.append(clock.row)
        clock.tick(0.02)
    assert {document.analysis.owner(row) for row in seen} == {0}


def test_a_run_that_is_followed_is_followed_again_when_looked_at_again(
    session: Session, document: Document, recordings: Path
) -> None:
    session.clock.set_follow(True)
    other = open_document(recordings / MISSED)
    session.add(other)
    assert not session.clock.state.follow
    session.clock.seek(3)
    session.activate(document)
    assert session.clock.state.follow
    assert session.clock.row == document.rows - 1
    session.activate(other)
    assert not session.clock.state.follow
    assert session.clock.row == 3
