"""The wrong environment's state: what A is asked is A's, whoever is in the scene."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.main import main
from isoscope.core.envs.errors import SnapshotLostError

if TYPE_CHECKING:
    from pathlib import Path

PUSH = np.array([3.0], np.float32)


def pair() -> tuple[Any, Any]:
    make = EnvFactory("CartPole", integrator="semi_implicit")
    a, b = make(0, render_mode="ansi"), make(1, render_mode="ansi")
    a.reset(seed=1)
    b.reset(seed=2)
    return a, b


def fields(one: Any) -> list[tuple[int, str]]:
    return [
        (row.index, field)
        for row in one.scene.rows
        if row.actor is not None
        for field in row.fields
    ]


def test_a_is_given_as_itself_after_b_stepped() -> None:
    a, b = pair()
    a.step(PUSH)
    own = {key: a.read(*key) for key in fields(a)}
    picture, last = a.render(), a.last_step()
    b.step(-PUSH)
    assert b.resident
    assert not a.resident
    theirs = {key: b.read(*key) for key in fields(b)}
    assert any(not np.array_equal(own[key], theirs[key]) for key in own)
    for key, value in own.items():
        assert np.array_equal(a.read(*key), value), key
    assert a.render() == picture != b.render()
    again = a.last_step()
    assert np.array_equal(again.observation_after, last.observation_after)
    # and B is still what is in the scene
    for key, value in theirs.items():
        assert np.array_equal(b.scene.read(*key)[0], value), key
    a.close()
    b.close()


def test_looking_at_a_changes_nothing_for_b() -> None:
    a, b = pair()
    alone = EnvFactory("CartPole", scene="independent", integrator="semi_implicit")()
    alone.reset(seed=2)
    for _ in range(4):
        a.step(PUSH)
        a.read(0, "pose")
        b.render()
        a.render()
        assert np.array_equal(b.step(PUSH)[0], alone.step(PUSH)[0])
        a.read(0, "pose")
    for one in (a, b, alone):
        one.close()


def test_where_a_has_no_state_it_says_so() -> None:
    a, b = pair()
    a.step(PUSH)
    b.step(PUSH)
    a.lanes.close()  # its snapshot is gone
    with pytest.raises(SnapshotLostError, match="env 0"):
        a.read(0, "pose")
    with pytest.raises(SnapshotLostError, match="env 0"):
        a.render()
    b.step(PUSH)
    a.close()
    b.close()


@pytest.mark.parametrize("fault", ["stale-render", "stale-observation"])
def test_the_audit_finds_what_was_read_in_another_s_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    path = str(tmp_path / "run.isoscope.h5")
    given = ["--envs", "3", "--steps", "5", "--device", "cpu"]
    order = ["--fault", f"{fault}@1:1/3", "--record", path]
    assert main(["demo", "--headless", *given, *order, "--json"]) == 0
    capsys.readouterr()
    assert main(["audit", path, "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["id"] == "stale-read"
    assert (found["env"], found["episode"], found["control_step"]) == (1, 1, 3)
