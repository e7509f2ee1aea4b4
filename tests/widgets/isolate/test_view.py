"""Whose state the scene shows, and the ghosts that prove each kind of finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.analysis import Analyser, audited
from isoscope.core.isolation.context import Examined
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.tainting import Tainting
from isoscope.widgets.isolate.overlays import MOST_GHOSTS, predicted_offset, twin_row
from isoscope.widgets.isolate.view import LATEST, NOT_CHOSEN, Isolated, isolated
from isoscope.widgets.theme import DARK
from tests.widgets.opened import analysed_document, made_document, made_recording

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.scene.state import Overlay
    from isoscope.widgets.session import Document

MISSED = "shared_cartpole_missed_restore"


@pytest.fixture
def missed(recordings: Path) -> Document:
    return analysed_document(recordings / f"{MISSED}.h5")


def proof(shown: Isolated) -> Overlay | None:
    return next((o for o in shown.overlays if o.proof), None)


def names(shown: Isolated) -> list[str]:
    return [overlay.name for overlay in shown.overlays]


def test_an_environment_shows_its_own_last_state_not_the_scene_s(missed) -> None:
    missed.focus = 0
    shown = isolated(missed, 33, DARK)  # env 1's step
    assert shown.row == 31
    assert (shown.whose.env, shown.whose.episode, shown.whose.control_step) == (0, 1, 8)
    assert shown.note == (
        "its own last state; the scene itself holds env 1's (native step 33)"
    )
    assert shown.tint == DARK.environment(0)
    assert names(shown) == ["what the scene holds", "other environments"]
    (ghost,) = shown.overlays[0].ghosts
    assert (ghost.row, ghost.label) == (33, "in the scene: env 1")
    (ghost,) = shown.overlays[1].ghosts
    assert (ghost.row, ghost.label) == (33, "env 1")


def test_in_its_own_turn_the_scene_holds_it(missed) -> None:
    missed.focus = 0
    shown = isolated(missed, 31, DARK)
    assert (shown.row, shown.note) == (31, "")
    assert names(shown) == ["other environments"]


def test_before_its_first_step_the_scene_is_shown_and_that_is_said(missed) -> None:
    missed.focus = 1
    shown = isolated(missed, 0, DARK)
    assert shown.row == 0
    assert shown.note == "env 1 has its first native step at 1"
    assert shown.whose.env == 0
    assert shown.tint == DARK.environment(0)


def test_without_a_focus_the_owner_at_the_cursor_colours_it(missed) -> None:
    for row, env in ((31, 0), (33, 1)):
        shown = isolated(missed, row, DARK)
        assert (shown.row, shown.whose.env) == (row, env)
        assert shown.tint == DARK.environment(env)
        assert shown.note == ""


def test_at_a_live_edge_one_environment_is_shown_throughout(missed) -> None:
    missed.follows = True
    for env in (0, 1):
        missed.set_hidden_envs(set(range(env)))
        seen = [isolated(missed, row, DARK) for row in range(20, 126)]
        assert {shown.whose.env for shown in seen} == {env}
        assert {shown.note for shown in seen} == {NOT_CHOSEN}
        latest = [missed.analysis.last_row(env, row) for row in range(20, 126)]
        assert [shown.row for shown in seen] == latest
    missed.focus = 0
    assert isolated(missed, 33, DARK).row == 31
    assert {isolated(missed, row, DARK).note for row in range(126)} == {LATEST}
    missed.focus = None
    missed.set_hidden_envs({0, 1})
    assert isolated(missed, 33, DARK).row == 33


def test_hidden_environments_are_no_ghosts(missed) -> None:
    missed.set_hidden_envs({1})
    assert names(isolated(missed, 31, DARK)) == []


def test_a_missed_restore_shows_where_it_should_have_begun(missed) -> None:
    missed.focus, missed.finding = 0, 0
    overlay = proof(isolated(missed, 34, DARK))
    assert overlay.name == "expected start"
    assert overlay.row == 33  # what the scene held as the step began
    assert overlay.here == "began here: env 1's state"
    (ghost,) = overlay.ghosts
    assert (ghost.row, ghost.label) == (31, "should have begun here")
    assert ghost.arrow
    assert ghost.colour == DARK.environment(0)


def test_through_the_tainted_steps_the_lost_state_stays(missed) -> None:
    missed.focus, missed.finding = 0, 0
    for row in (35, 38, 39):
        overlay = proof(isolated(missed, row, DARK))
        assert overlay.row is None
        assert overlay.ghosts[0].row == 31
    assert proof(isolated(missed, 40, DARK)) is None
    assert proof(isolated(missed, 33, DARK)) is None


def test_it_says_why_a_state_is_not_to_be_trusted(missed) -> None:
    missed.focus = 0
    told = {row: isolated(missed, row, DARK).tainted for row in range(126)}
    # Also while it waits in the state that its row 35 left; it is reset in row 40.
    assert [row for row, text in told.items() if text] == list(range(34, 40))
    assert told[34] == (
        "native step 34 is tainted by missed-restore: "
        "env 0 went on from env 1's state at episode 1, control step 9"
    )
    assert told[37].startswith("native step 35 is tainted by missed-restore")
    missed.focus = 1
    assert not any(isolated(missed, row, DARK).tainted for row in range(126))


def test_an_environment_alone_says_it_too() -> None:
    document = made_document(made_recording(6))
    analysis = Analyser(document.recording).run()
    finding = Finding(
        id="made", severity="error", message="", remedy="", tainted=((2, 3),)
    )
    subject = Examined(document.recording, analysis.attribution)
    document.set_analysis(replace(analysis, tainting=Tainting(subject, [finding])))
    told = [isolated(document, row, DARK).tainted for row in range(6)]
    assert told[2] == "native step 2 is tainted by made"
    assert [bool(text) for text in told] == [False, False, True, True, False, False]


def test_a_changed_gravity_shows_both_sides_and_before_and_after(recordings) -> None:
    document = analysed_document(recordings / "shared_cartpole_leak_gravity.h5")
    document.finding, document.focus = 0, 1
    overlay = proof(isolated(document, 66, DARK))
    assert overlay.apart
    assert overlay.here == "env 1: first under the new gravity"
    (ghost,) = overlay.ghosts
    assert (ghost.row, ghost.label) == (68, "env 0: affected from 2/4")
    assert [a.label for a in overlay.arrows] == [
        "gravity before: 9.8 m/s²",
        "after: 3 m/s²",
    ]
    before, after = (np.linalg.norm(a.direction) for a in overlay.arrows)
    assert before == pytest.approx(1)
    assert after == pytest.approx(3 / 9.8)
    assert proof(isolated(document, 65, DARK)) is None
    document.focus = 0
    overlay = proof(isolated(document, 69, DARK))
    assert overlay.here == "env 0: affected from 2/4"
    assert overlay.ghosts[0].label == "env 1: first under the new gravity"


def test_a_rewind_shows_what_was_given_up(recordings) -> None:
    document = analysed_document(recordings / "restore_twice.h5")
    document.finding = 0
    overlay = proof(isolated(document, 15, DARK))
    assert overlay.ghosts[0].row == 14
    assert overlay.ghosts[0].label == "given up here"
    assert overlay.row is None  # the restored state is in no step
    assert overlay.here == "one step on from the restored state"
    assert proof(isolated(document, 16, DARK)) is None


def test_a_moved_body_shows_where_its_velocity_takes_it(recordings) -> None:
    document = analysed_document(recordings / "post_callback.h5")
    document.finding = 0
    overlay = proof(isolated(document, 1, DARK))
    (ghost,) = overlay.ghosts
    ball = next(a for a in document.recording.actors if a.name == "BallA")
    assert ghost.actors == (ball.index,)
    com, speed = ball.fields["translationCom"], ball.fields["vcom"]
    expected = com.at(0) + 0.02 * speed.at(1) - com.at(1)
    assert ghost.offset == pytest.approx(expected, abs=1e-6)
    assert np.linalg.norm(ghost.offset) > 1


def test_a_leak_shows_the_twin_at_the_same_step(recordings) -> None:
    document = analysed_document(recordings / "shared_cartpole_leak_inertia.h5")
    twin = analysed_document(recordings / "independent_cartpole_env0.h5")
    reference = Examined(twin.recording, twin.analysis.attribution)
    document.analysis = audited(document.analysis, document.recording, reference)
    document.finding, document.focus = 0, 0
    assert proof(isolated(document, 68, DARK)) is None  # the twin was closed
    document.twin = twin
    for row in (68, 69, 122):
        (ghost,) = proof(isolated(document, row, DARK)).ghosts
        assert ghost.recording is twin.recording
        ours = document.analysis.attribution.scene_time_s[row]
        theirs = twin.analysis.attribution.scene_time_s[ghost.row]
        assert ours == pytest.approx(theirs)
    finding = document.findings[0]
    assert twin_row(document.analysis, finding, twin.analysis, 10**6) is None


def test_a_finding_without_a_picture_has_no_overlay(recordings) -> None:
    document = analysed_document(recordings / "variable_steps.h5")
    document.finding = 0
    assert isolated(document, 8, DARK).overlays == ()


def test_one_environment_alone_keeps_its_actors_colours(recordings) -> None:
    document = analysed_document(recordings / "rigid_contacts_all.h5")
    shown = isolated(document, 5, DARK)
    assert shown.tint is None
    assert shown.whose.env == -1  # "native step 5 of 79" says more
    alone = analysed_document(recordings / "independent_cartpole_env0.h5")
    assert isolated(alone, 5, DARK).whose.env == 0


def test_without_an_analysis_the_cursor_s_step_is_shown() -> None:
    document = made_document(made_recording(4))
    assert isolated(document, 3, DARK).row == 3
    assert isolated(document, 3, DARK).whose is None


def test_many_others_are_not_all_ghosts(missed, monkeypatch) -> None:
    analysis = missed.analysis
    analysis.labels.env[:] = np.arange(126) % 40
    fresh = type(analysis)(
        126, analysis.attribution, analysis.control_s, None, "", analysis.timings
    )
    missed.analysis = fresh
    shown = isolated(missed, 120, DARK)
    assert len(shown.overlays[-1].ghosts) == MOST_GHOSTS


def test_a_place_that_is_not_known_is_not_predicted(recordings) -> None:
    document = analysed_document(recordings / "no_state.h5")
    recording = document.recording
    for actor in recording.actors:
        assert predicted_offset(recording, actor, 0, 1) is None
