"""Environments stepped again alone, as the audit asks for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.environments import EnvFactory
from isoscope.app.replaying import make_builtin
from isoscope.core.envs.faults.order import parse_order
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.replay.alone import SteppedAgain
from isoscope.core.replay.engine import ReplayError
from tests.core.replay.recorded import read, record_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.engine import Blueprint, Engine


def made() -> EnvFactory:
    return EnvFactory("CartPole", {"max_steps": 3}, integrator="semi_implicit")


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Examined:
    """A part of another's action is applied in the second episode of env 1."""
    file = tmp_path_factory.mktemp("again") / "run.isoscope.h5"
    settings = DemoSettings(
        envs=3,
        steps=9,
        device="cpu",
        integrator="semi_implicit",
        task_settings={"max_steps": 3},
        faults=(parse_order("hidden-leak@1:2/2"),),
    )
    recorder = DemoRecorder(settings, file)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        stack.enter_context(DemoRun(settings, recorder.around)).run()
    return read(file)


@pytest.fixture
def again(leaking: Examined) -> Iterator[SteppedAgain]:
    with SteppedAgain(leaking, make_builtin) as found:
        yield found


def nothing(examined: Examined) -> np.ndarray:
    return np.zeros(len(examined.recording), np.bool_)


def test_the_one_that_was_reached_departs_there(
    leaking: Examined, again: SteppedAgain
) -> None:
    assert again.environments() == [0, 1, 2]
    found = {env: again.departure(env, nothing(leaking)) for env in range(3)}
    assert found[0] is None
    assert found[2] is None
    departure = found[1]
    assert departure is not None
    assert leaking.place(departure.row) == (1, 2, 2)
    assert departure.size > 0
    assert departure.last_equal_row < departure.row


def test_what_is_explained_is_passed_over_to_the_end_of_its_episode(
    leaking: Examined, again: SteppedAgain
) -> None:
    whole = again.departure(1, nothing(leaking))
    assert whole is not None
    explained = nothing(leaking)
    explained[whole.row] = True
    assert again.departure(1, explained) is None


def test_more_than_is_wanted_is_not_stepped(leaking: Examined) -> None:
    def make(blueprint: Blueprint) -> Engine:
        raise AssertionError("nothing is to be stepped")

    asked = SteppedAgain(leaking, make, most_steps=10, how_to_ask="to say so")
    with asked, pytest.raises(CannotRunError) as told:
        asked.environments()
    assert told.value.needs == "to say so"


def test_an_engine_that_refuses_is_a_check_that_could_not_run(
    leaking: Examined,
) -> None:
    def make(blueprint: Blueprint) -> Engine:
        raise ReplayError("it is another build")

    with SteppedAgain(leaking, make) as asked:
        said = audit(Context(leaking, resimulator=asked))
    reason = next(one for one in said.not_run if one.id == "hidden-leak")
    assert reason.reason == "it is another build"


def test_who_is_alone_is_not_stepped(tmp_path: Path) -> None:
    examined = record_in_turn(tmp_path / "run.isoscope.h5", made(), 1, 4)
    with SteppedAgain(examined, make_builtin) as asked:
        assert asked.environments() == []
        said = audit(Context(examined, resimulator=asked))
    assert said.findings == []
    assert "hidden-leak" not in {one.id for one in said.not_run}


def test_a_push_that_is_not_recorded_is_no_leak(tmp_path: Path) -> None:
    """Links of env 1 are pushed within its step, of which no field tells."""
    pushing: list[float] = []

    def push(scene: Any, h_s: float) -> None:
        links = np.zeros((1, 2, 6))
        links[:, 1, 0] = pushing[0]
        scene.set_link_wrenches(0, links)

    def before(env: int, step: int, one: Any) -> None:
        if (env, step) == (1, 4):
            pushing[:] = [3.0]
            before.off = one.unwrapped.scene.on_pre_step(push)  # type: ignore[attr-defined]  # kept for the next call
        elif pushing:
            before.off()  # type: ignore[attr-defined]  # set above
            pushing.clear()

    examined = record_in_turn(tmp_path / "run.isoscope.h5", made(), 2, 8, before=before)
    assert examined.recording.labelled is not None
    told = [
        (event.env, event.detail)
        for event in examined.recording.labelled.events()
        if event.kind == "unrecorded_input"
    ]
    assert told == [(1, {"input": "set_link_wrenches"})] * 2
    with SteppedAgain(examined, make_builtin) as asked:
        assert asked.departure(0, nothing(examined)) is None
        with pytest.raises(CannotRunError, match="pushed by set_link_wrenches"):
            asked.departure(1, nothing(examined))
        said = audit(Context(examined, resimulator=asked))
    assert said.findings == []
