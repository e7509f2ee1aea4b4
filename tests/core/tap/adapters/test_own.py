"""The simulator's environments: nothing changes, every native step has its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from isoscope.app.environments import EnvFactory
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.tap.adapters.resident import worlds_seen
from isoscope.core.tap.session import Command
from tests.core.tap.adapters.same import assert_same, column, vector_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.core.tap.adapters.conftest import Tap

FACTORY = EnvFactory("CartPole", settings={"max_steps": 7})


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def in_turn(envs: list[Any], steps: int) -> list[Any]:
    """Environments that share a scene, stepped in turn."""
    chance = np.random.default_rng(5)
    out: list[Any] = [env.reset(seed=3 + k) for k, env in enumerate(envs)]
    for _ in range(steps):
        for env in envs:
            action = chance.uniform(-4, 4, 1).astype(np.float32)  # over the limits too
            out.append(env.step(action))
            if out[-1][2] or out[-1][3]:
                out.append(env.reset())
    for env in envs:
        env.close()
    return out


def test_shared_scenes(watched: Tap) -> None:
    plain = in_turn([FACTORY() for _ in range(3)], 12)
    envs = [watched.attach(FACTORY()) for _ in range(3)]
    assert_same(in_turn(envs, 12), plain)
    recording = watched.recording()
    labelled = recording.labelled
    assert labelled is not None
    told = labelled.transitions()
    assert len(told) == len(plain)
    labels = recording.labels
    assert labels is not None
    # Every native step is somebody's, and every control step says which were its.
    owners = np.full(len(recording), -1)
    for t in told:
        rows = slice(t.first_row, t.last_row + 1)
        assert t.last_row - t.first_row + 1 == (2 if t.control_step else 1)
        assert set(labels.env[rows]) == {t.env}
        assert set(labels.control_step[rows]) == {t.control_step}
        owners[rows] = t.env
    assert (owners >= 0).all()
    assert len(labelled.snapshots()) >= len(labelled.resets())
    raw, clipped = column(labelled, "raw_action"), column(labelled, "action")
    acted = clipped.valid
    np.testing.assert_array_equal(
        np.clip(raw.values[acted], -3, 3), clipped.values[acted]
    )
    assert np.abs(raw.values[acted]).max() > 3
    names = dict.fromkeys(s.role for s in labelled.identity.spaces)
    assert list(names) == ["observation", "action"]
    assert labelled.identity.shared_scenes is True
    examined = Examined(recording, attribute(recording))
    assert audit(Context(examined)).findings == []


def test_a_snapshot_is_what_the_digest_says(watched: Tap) -> None:
    in_turn([watched.attach(FACTORY())], 6)
    labelled = watched.labelled()
    for snapshot in labelled.snapshots():
        assert labelled.snapshot_data(snapshot.id)
        assert snapshot.row >= 0
    restores = [e for e in labelled.events() if e.kind == "restore"]
    assert any(e.snapshot >= 0 for e in restores)


def kept_when_asked(labelled: Any) -> list[tuple[int, int]]:
    return [(s.env, s.control_step) for s in labelled.snapshots() if s.why == "asked"]


def test_snapshots_that_are_asked_for(watched: Tap) -> None:
    envs = [watched.attach(FACTORY()) for _ in range(2)]
    for k, env in enumerate(envs):
        env.reset(seed=k)
    session = watched.session
    assert session.state["allowed"] == ["snapshot"]
    told: list[tuple[bool, str]] = []
    for control_step in range(1, 4):
        if control_step == 2:
            command = Command("snapshot", {}, lambda ok, why: told.append((ok, why)))
            session.ask(command)
            assert session.commands() == []  # the tap itself obeys it
        for env in envs:
            env.step(np.zeros(1, np.float32))
    for env in envs:
        env.close()
    labelled = watched.recording().labelled
    assert labelled is not None
    assert kept_when_asked(labelled) == [(0, 2), (1, 2)]
    ((ok, why),) = told
    assert ok
    assert "control step" in why


def test_a_run_that_takes_snapshots_itself_is_asked_itself(watched: Tap) -> None:
    env = watched.attach(FACTORY())
    env.reset(seed=0)
    session = watched.session
    session.allow("pause", "snapshot")
    assert session.state["allowed"] == ["pause", "snapshot"]
    session.ask(Command("snapshot", {}))
    assert [command.what for command in session.commands()] == ["snapshot"]
    env.step(np.zeros(1, np.float32))
    env.close()
    assert kept_when_asked(watched.recording().labelled) == []


def test_a_snapshot_of_a_batch_that_is_asked_for(watched: Tap) -> None:
    env = watched.attach(FACTORY.batch(3, autoreset_mode="NextStep"))
    env.reset(seed=0)
    session = watched.session
    session.ask_snapshots()
    for _ in range(3):
        env.step(np.zeros((3, 1), np.float32))
    env.close()
    assert len(kept_when_asked(watched.recording().labelled)) == 1


def test_a_change_of_the_configuration_has_its_author(watched: Tap) -> None:
    envs = [watched.attach(FACTORY()) for _ in range(2)]
    for k, env in enumerate(envs):
        env.reset(seed=k)
    action = np.zeros(1, np.float32)
    for env in envs:
        env.step(action)
    scene = envs[0].scene
    envs[0].lanes.handle.scene.configure("gravity", np.array([0.0, -3.0, 0.0]))
    envs[0].lanes.handle.tell("configure", envs[0].env_id, entry="gravity")
    envs[1].step(action)
    assert scene is envs[1].scene
    labelled = watched.labelled()
    changed = [c for c in labelled.changes() if c.old is not None]
    assert [c.key for c in changed] == ["gravity"]
    assert changed[0].new == [0.0, -3.0, 0.0]
    assert changed[0].row == 6


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_resident_batches(watched: Tap, mode: str) -> None:
    watched.session.options["visible"] = [1, 3]
    plain = vector_run(FACTORY.batch(5, autoreset_mode=mode), 18)
    batch = watched.attach(FACTORY.batch(5, autoreset_mode=mode))
    seen = vector_run(batch, 18)
    batch.close()
    assert_same(seen, plain)
    recording = watched.recording()
    labelled = recording.labelled
    assert labelled is not None
    told = labelled.transitions()
    assert {t.env for t in told} == {1, 3}
    assert sum(t.valid == 0 for t in told) == len(labelled.resets())
    labels = recording.labels
    assert labels is not None
    for t in told:  # the rows of those that are seen alternate
        own = labels.env[t.first_row : t.last_row + 1] == t.env
        assert own[0]
        assert own[-1]
        assert own.sum() == (2 if t.control_step else 1)
    last = [t for t in told if t.env == 3 and t.valid == 1][-1]
    assert last.episode >= 2
    assert labelled.identity.environments == 5
    assert labelled.identity.seeds[1] == 4


def test_only_worlds_that_are_seen_cross_over(watched: Tap) -> None:
    watched.session.options["visible"] = [2]
    crossed = []
    for worlds in (4, 40):
        batch = watched.attach(FACTORY.batch(worlds))
        vector_run(batch, 8)
        watched.session.recorder.intake.catch_up()  # what was kept is read now
        by_cause = batch.scene.ledger.by_cause()
        told = [by_cause["read"], by_cause["tap"]]
        crossed.append([(t.h2d_bytes, t.d2h_bytes, t.d2d_bytes) for t in told])
        batch.close()
    assert crossed[0] == crossed[1]


@pytest.mark.parametrize("wish", [-1, True, "three", [0, 9], [-1], 2.5])
def test_worlds_that_are_none_are_refused(wish: Any) -> None:
    with pytest.raises(Exception, match="visible="):
        worlds_seen(wish, 5)


def test_worlds_that_are_seen() -> None:
    assert worlds_seen(2, 5) == [0, 1]
    assert worlds_seen(99, 3) == [0, 1, 2]
    assert worlds_seen([4, 1, 4], 5) == [1, 4]
    assert worlds_seen(0, 5) == []
