"""A model of the built-in simulator stands in for SuperDex on its own recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from isoscope.app.standing_in import model_scenes
from isoscope.core.attribution.attributor import attribute
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.isolation.context import Examined
from isoscope.core.jsonform import encode
from isoscope.core.recording.registry import load
from isoscope.core.replay.stand_in.report import StandInOptions, stand_in
from isoscope.gpu.model.jsonform import decode_model
from isoscope.gpu.model.named import named_model
from tests.core.replay.recorded import record_in_turn

if TYPE_CHECKING:
    from isoscope.core.replay.stand_in.forms import FieldResidual, StandIn

RECORDINGS = Path(__file__).parents[3] / "data" / "recordings"
LABELLED = Path(__file__).parents[3] / "data" / "labelled"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The CartPole with 10 N a unit of action, as the recorded environments had it."""
    told = msgspec.json.decode(msgspec.json.encode(named_model("cartpole")))
    told["actors"][0]["drives"][0]["gear"] = 10.0
    decode_model(json.dumps(told))
    path = tmp_path_factory.mktemp("model") / "driven.json"
    path.write_text(json.dumps(told))
    return str(path)


def examined(name: str, substeps: int | None = None) -> Examined:
    recording = load(RECORDINGS / f"{name}.h5")
    return Examined(recording, attribute(recording, substeps))


def predicted(name: str, model: str, *, forced: bool = True, **others: Any) -> StandIn:
    truth = RECORDINGS / f"{name}.truth.json" if forced else None
    options = StandInOptions(
        model=model, integrator="backward_euler", transitions=truth, **others
    )
    make = model_scenes(model, "backward_euler")
    return stand_in(examined(name, 2), make, options)


def of(found: list[FieldResidual], field: str, actor: str = "CartPole") -> Any:
    return next(one for one in found if (one.actor, one.field) == (actor, field))


# -- on SuperDex's CartPole ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("shared_cartpole_2env", 115),
        ("independent_cartpole_env0", 58),
        ("fp64_shared_cartpole_2env", 115),
    ],
)
def test_cartpole(name: str, steps: int, model: str) -> None:
    found = predicted(name, model)
    assert found.predicted == steps
    assert found.undriven == 0
    pose, free = of(found.one_step, "pose"), of(found.free, "pose")
    # measured: 8.5e-6 of changes of 8.5e-3, and 7.6e-4 after 33 steps of falling
    assert pose.largest < 2e-5
    assert pose.rms < 5e-6
    assert pose.rms < 1e-3 * pose.change
    assert free.largest < 2e-3
    assert of(found.one_step, "omega", "CartPole/Pole").largest < 1e-3
    assert of(found.one_step, "vcom", "CartPole/Cart").unit == "m/s"
    assert found.claims.within_tolerance.answer == "yes"
    assert found.claims.bit_for_bit.answer == "not_checkable"
    assert found.claims.same_configuration.answer == "not_checkable"
    assert found.first_divergence is None
    assert found.drift[0].size < found.drift[-1].size
    # the engine lays the pole's frame into its middle, the model into the hinge
    assert any("CartPole/Pole.translation " in line for line in found.not_checkable)
    assert json.loads(encode(found))["schema"] == "isoscope.replay/1"


def test_unforced_is_said_and_is_further_off(model: str) -> None:
    with_, without = (
        predicted("shared_cartpole_2env", model, forced=forced)
        for forced in (True, False)
    )
    assert without.driven_by.startswith("nothing")
    one, two = (of(found.one_step, "pose") for found in (with_, without))
    assert two.rms > 50 * one.rms


def test_half_the_force_is_seen(model: str, tmp_path: Path) -> None:
    told = json.loads(Path(model).read_text())
    told["actors"][0]["drives"][0]["gear"] = 5.0
    weak = tmp_path / "weak.json"
    weak.write_text(json.dumps(told))
    right, wrong = (
        predicted("shared_cartpole_2env", str(one)) for one in (model, weak)
    )
    assert of(wrong.one_step, "pose").rms > 50 * of(right.one_step, "pose").rms


def test_an_inertia_leak_shows_where_it_began(model: str) -> None:
    """What no field of the file shows: the cart's inertia, from (2, 6) of env 1 on."""
    name = "shared_cartpole_leak_inertia"
    found = predicted(name, model, tolerances={"pose": 5e-5}, free=False)
    first = found.first_divergence
    assert first is not None
    assert (first.env, first.episode, first.control_step) == (1, 2, 6)
    assert found.free == []
    only = predicted(name, model, tolerances={"pose": 5e-5}, free=False, env=0)
    assert only.first_divergence is not None
    assert only.first_divergence.env == 0
    assert (only.first_divergence.episode, only.first_divergence.control_step) == (2, 4)


def test_another_gravity_is_told(model: str) -> None:
    found = predicted("shared_cartpole_leak_gravity", model, free=False)
    assert found.claims.same_configuration.answer == "no"
    (one,) = found.configuration_differences
    assert one.key == "gravity"
    assert found.first_divergence is not None
    assert found.first_divergence.control_step == 6


def test_a_part_of_it(model: str) -> None:
    found = predicted("shared_cartpole_2env", model, env=1, steps=4)
    assert found.predicted == 2 * 4 - 1
    assert {one.at.env for one in found.one_step if one.at} == {1}


def test_a_labelled_recording_of_superdex(model: str) -> None:
    recording = load(LABELLED / "shared_cartpole_2env.isoscope.h5")
    subject = Examined(recording, attribute(recording))
    options = StandInOptions(
        model=model,
        integrator="backward_euler",
        transitions=RECORDINGS / "shared_cartpole_2env.truth.json",
    )
    found = stand_in(subject, model_scenes(model, "backward_euler"), options)
    assert found.predicted == 115
    assert of(found.one_step, "pose").largest < 2e-5


# -- on our own, where it is exact -----------------------------------------------------


@pytest.mark.parametrize("task", ["CartPole", "FallingBodies"])
def test_our_own_recordings(task: str, tmp_path: Path) -> None:
    from isoscope.app.environments import EnvFactory

    rates = {"control_hz": 50, "simulation_hz": 50}
    settings = {"CartPole": {"max_steps": 8}, "FallingBodies": {**rates}}[task]
    made = EnvFactory(task, settings, integrator="semi_implicit")
    subject = record_in_turn(tmp_path / "run.isoscope.h5", made, steps=8, every=4)
    name = {"CartPole": "cartpole", "FallingBodies": "falling_bodies"}[task]
    options = StandInOptions(model=name, integrator="semi_implicit")
    found = stand_in(subject, model_scenes(name, "semi_implicit"), options)
    assert found.driven_by == "the recorded native forces"
    assert found.predicted > 0
    for one in found.one_step:
        assert one.largest < 1e-6, (one.actor, one.field)


# -- refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model_name", "missing"),
    [
        ("rigid_contacts_all", "cartpole", "has no CartPole"),
        ("soft_body", "cartpole", "has no CartPole"),
        ("no_state", "cartpole", "the model has no Crate"),
        ("shared_cartpole_2env", "falling_bodies", "the model has no CartPole"),
        ("shared_cartpole_2env", "double_pendulum_rail", "model has no CartPole"),
    ],
)
def test_a_model_that_cant_express_it(name: str, model_name: str, missing: str) -> None:
    with pytest.raises(IsoscopeError, match=missing) as told:
        predicted(name, model_name, forced=False)
    assert "\n" not in str(told.value)


def test_other_degrees_of_freedom(model: str, tmp_path: Path) -> None:
    told = json.loads(Path(model).read_text())
    told["actors"][0]["links"][1]["joint"] = {"type": "fixed"}
    path = tmp_path / "stiff.json"
    path.write_text(json.dumps(told))
    with pytest.raises(IsoscopeError, match="2 degrees of freedom, and the model's 1"):
        predicted("shared_cartpole_2env", str(path))


def test_actions_without_drives(model: str, tmp_path: Path) -> None:
    told = json.loads(Path(model).read_text())
    told["actors"][0]["drives"] = []
    path = tmp_path / "still.json"
    path.write_text(json.dumps(told))
    with pytest.raises(IsoscopeError, match="a drive for each"):
        predicted("shared_cartpole_2env", str(path))


def test_what_isnt_there(model: str, tmp_path: Path) -> None:
    for wrong in ({"env": 9}, {"tolerances": {"nothing": 1.0}}, {"start": 124}):
        with pytest.raises(IsoscopeError):
            predicted("shared_cartpole_2env", model, **wrong)
    with pytest.raises(IsoscopeError):
        model_scenes(str(tmp_path / "nowhere.json"), "backward_euler")


def test_progress_can_stop_it(model: str) -> None:
    def stop(done: int, total: int) -> None:
        raise CancelledError("stopped")

    options = StandInOptions(model=model, integrator="backward_euler")
    with pytest.raises(CancelledError):
        stand_in(
            examined("shared_cartpole_2env"),
            model_scenes(model, "backward_euler"),
            options,
            stop,
        )


def test_quaternions_turn_back() -> None:
    from isoscope.core.replay.stand_in.states import _turned_back

    half = np.sqrt(0.5)
    about_z = np.array([[0, 0, half, half]])  # a quarter turn: x goes to y
    assert _turned_back(about_z, np.array([[0.0, 1, 0]]))[0] == pytest.approx([1, 0, 0])
