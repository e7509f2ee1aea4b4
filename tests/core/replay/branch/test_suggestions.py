"""What could be edited at a place, as one writes it; and any edit read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.errors import UsageError
from isoscope.core.replay.branch.branches import source_of
from isoscope.core.replay.branch.looked_at import looked_at
from isoscope.core.replay.branch.model import (
    ActionEdit,
    ConfigurationEdit,
    StateEdit,
    new_branch,
)
from isoscope.core.replay.branch.running import place_of, run_branch, tape_of
from isoscope.core.replay.branch.suggestions import parse_edit, suggestions
from tests.core.replay.recorded import record_in_turn

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    path = tmp_path_factory.mktemp("branch") / "run.isoscope.h5"
    return record_in_turn(path, EnvFactory("CartPole", {"max_steps": 20}))


def test_each_suggestion_sets_what_was_recorded(examined: Examined) -> None:
    """Taken as they are, but for those of actions, they change nothing."""
    env, row = 1, 12
    episode, step, native = place_of(examined, env, row)
    offered = suggestions(tape_of(examined, env), env, native, step)
    assert list(offered) == ["Actions", "Native inputs", "Configuration", "State"]
    assert f"{step}-:control*=1.5" in offered["Actions"]
    edits = [parse_edit(text) for texts in offered.values() for text in texts]
    kinds = (ActionEdit, ConfigurationEdit, StateEdit)
    assert all(isinstance(edit, kinds) for edit in edits)
    # No links, which only go with their joints, and nothing that would be refused.
    assert [text.partition("=")[0] for text in offered["State"]] == ["CartPole.pose"]
    same = [
        e
        for e in edits
        if getattr(e, "key", "") == "gravity" or isinstance(e, StateEdit)
    ]
    branch = new_branch(
        name="same",
        source=source_of(examined),
        file="run",
        env=env,
        episode=episode,
        control_step=step,
        native=native,
        edits=tuple(same),
    )
    labels, tracks = examined.attribution.labels, examined.recording.actors[0].fields
    own = np.flatnonzero(labels.env == env)
    recorded = tracks["pose"].at(int(own[own < native][-1]))
    assert recorded is not None
    run = run_branch(examined, make_builtin, branch)
    # Not every bit: where a state is set, a solver has nothing to start warm from.
    assert run.report.claims.same_configuration.answer == "yes"
    assert run.report.claims.within_tolerance.answer == "yes"
    assert run.start["CartPole", "pose"].tobytes() == recorded.tobytes()


def test_a_run_is_looked_at_over_the_recording_s_rows(examined: Examined) -> None:
    env, row = 0, 8
    episode, step, native = place_of(examined, env, row)
    branch = new_branch(
        name="up",
        source=source_of(examined),
        file="run",
        env=env,
        episode=episode,
        control_step=step,
        native=native,
        edits=(parse_edit(f"{step}:control+=0.5"),),
        steps=200,
    )
    run = run_branch(examined, make_builtin, branch)
    found = looked_at(examined, run)
    assert found.name == "up"
    assert found.report is run.report
    along = run.rows[run.rows >= 0]
    np.testing.assert_array_equal(found.states.rows, along)
    first = run.report.first_divergence
    assert first is not None
    trace = next(t for t in found.states.of(f"{first.actor}.{first.field}"))
    at = int(np.searchsorted(trace.rows, first.native or 0))
    assert trace.size[at] > 0
    assert not trace.size[:at].any()
    actor = next(a for a in found.states.recording.actors if a.name == first.actor)
    track = actor.fields[str(first.field)]
    key = (str(first.actor), str(first.field))
    for k, native_row in enumerate(run.rows.tolist()):
        if native_row >= 0:
            there = track.at(native_row)
            assert there is not None
            assert there.tobytes() == run.states[key][k].tobytes()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3:control=1", ActionEdit),
        ("3-:control*=2", ActionEdit),
        ("3-9:CartPole.force[Slide]+=2", ActionEdit),
        ("gravity=0,-1,0", ConfigurationEdit),
        ("mass=[1,2]", ConfigurationEdit),
        ("integrator.max_iterations=4", ConfigurationEdit),
        ("CartPole.pose=0,1", StateEdit),
        ("CartPole.positions[Hinge]=1", StateEdit),
        ("CartPole/Pole.omega[2]=1", StateEdit),
    ],
)
def test_the_kind_of_an_edit_is_seen_by_its_form(text: str, kind: type) -> None:
    assert isinstance(parse_edit(text), kind)


@pytest.mark.parametrize(
    "text", ["", "gravity", "3:", "a.b", "integrator.tolerance", "=1"]
)
def test_what_is_no_edit_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_edit(text)
