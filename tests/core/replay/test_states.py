"""What was stepped again is kept with the rows, actors and numbers of the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.replay.again import ReplayOptions, replay
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.states import Keeper, States
from tests.core.replay.recorded import read, record_in_turn
from tests.core.replay.test_alone import demo

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.replay_forms import Replay


def stepped(examined: Examined, **options: object) -> tuple[Replay, States]:
    """A re-simulation and what it stepped."""
    keeper = Keeper(TOLERANCE)
    found = replay(examined, make_builtin, ReplayOptions(**options), keeper=keeper)  # type: ignore[arg-type]  # by name
    return found, keeper.states(examined.recording)


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    path = tmp_path_factory.mktemp("leak") / "run.isoscope.h5"
    return read(demo(path, "inertia-leak@1:1/6"))


def test_equal_states_are_the_recorded_bits(tmp_path: Path) -> None:
    factory = EnvFactory("CartPole", {"max_steps": 20})
    examined = record_in_turn(tmp_path / "run.isoscope.h5", factory)
    found, states = stepped(examined)
    assert found.claims.bit_for_bit.answer == "yes"
    assert len(states.rows) == found.compared_steps
    mine, theirs = states.recording.actors, examined.recording.actors
    assert [a.name for a in mine] == [a.name for a in theirs]
    compared = 0
    for here, there in zip(mine, theirs, strict=True):
        for name, track in here.fields.tracks.items():
            for row in states.rows.tolist():
                one, two = track.at(row), there.fields[name].at(row)
                assert one is not None
                assert two is not None
                assert one.tobytes() == two.tobytes()
                compared += 1
    assert compared > 10 * found.compared_steps
    assert all(not trace.size.any() for trace in states.traces)


def test_what_was_not_stepped_is_absent(leak: Examined) -> None:
    _, states = stepped(leak, mode="alone", env=2)
    labels = leak.attribution.labels
    assert set(labels.env[states.rows].tolist()) == {2}
    others = np.flatnonzero(labels.env != 2)
    moving = [a for a in states.recording.actors if "translation" in a.fields]
    assert moving
    for actor in moving:
        track = actor.fields["translation"]
        assert all(track.at(int(row)) is None for row in others)
        assert all(track.at(int(row)) is not None for row in states.rows)
    assert states.has(int(states.rows[0]))
    assert not states.has(int(others[0]))


def test_traces_say_what_the_report_says(leak: Examined) -> None:
    found, states = stepped(leak, mode="alone")
    first = found.first_divergence
    assert first is not None
    assert first.native is not None
    name = f"{first.actor}.{first.field}"
    trace = next(t for t in states.of(name) if t.env == first.env)
    before = trace.rows < first.native
    assert not trace.size[before].any(), "equal before it"
    at = int(np.searchsorted(trace.rows, first.native))
    assert trace.rows[at] == first.native
    assert 0 < trace.size[at] <= first.size
    largest = {f"{m.actor}.{m.field}": m.value for m in found.max_difference}
    for full_name, value in largest.items():
        of = states.of(full_name)
        assert max(float(t.size.max()) for t in of) <= value
        assert all((t.limit >= TOLERANCE).all() for t in of)
    assert largest[states.fields()[0]] > 0


def test_beyond_is_what_the_report_counts(leak: Examined) -> None:
    found, states = stepped(leak, mode="alone", tolerances={"omega": 1e-3})
    rows = [t.rows[t.size > t.limit] for t in states.traces]
    per_env: dict[int, set[int]] = {}
    for trace, beyond in zip(states.traces, rows, strict=True):
        per_env.setdefault(trace.env, set()).update(beyond.tolist())
    count = sum(len(steps) for steps in per_env.values())
    assert found.claims.within_tolerance.reason.startswith(f"{count} native step")
    omega = states.of("CartPole.omega")
    assert all((t.limit == 1e-3).all() for t in omega)


def test_no_step_at_all(leak: Examined) -> None:
    states = Keeper(TOLERANCE).states(leak.recording)
    assert len(states.rows) == 0
    assert states.traces == ()
    assert not states.has(0)
    assert len(states.recording) == len(leak.recording)
