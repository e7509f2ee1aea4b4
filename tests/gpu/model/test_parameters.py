from __future__ import annotations

import math

import pytest
import torch

from isoscope.gpu.errors import ParameterError
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.declarations import DECLARATIONS, declaration, row_names
from isoscope.gpu.model.named import model_names, named_model
from isoscope.gpu.model.parameters import Parameters


def made(name: str = "double_pendulum_rail", worlds: int = 4) -> Parameters:
    return Parameters.from_tree(build_tree(named_model(name)), worlds=worlds)


@pytest.mark.parametrize("name", model_names())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_parameter_has_its_rows_names_and_type(
    name: str, dtype: torch.dtype
) -> None:
    tree = build_tree(named_model(name))
    parameters = Parameters.from_tree(tree, dtype=dtype)
    for declared, values in parameters.items():
        assert values.shape == (declared.rows(tree), 1)
        assert values.dtype == dtype
        assert len(row_names(tree, declared.name)) == declared.rows(tree)
        assert not torch.isnan(values).any()
        assert declared.about
    assert [d.name for d, _ in parameters.items()] == [d.name for d in DECLARATIONS]


def test_rows_are_named_for_people() -> None:
    tree = build_tree(named_model("falling_bodies"))
    assert row_names(tree, "mass") == ("Ball", "Crate", "Rod")
    assert row_names(tree, "gravity") == ("gravity.x", "gravity.y", "gravity.z")
    assert row_names(tree, "damping")[:7] == (
        "Ball.x",
        "Ball.y",
        "Ball.z",
        "Ball.rx",
        "Ball.ry",
        "Ball.rz",
        "Crate.x",
    )
    assert row_names(tree, "friction") == (
        "Ball/Ball",
        "Crate/Crate",
        "Rod/Rod",
        "world/Ground",
    )
    assert row_names(tree, "inertia")[5] == "Ball inertia.yz"


def test_numbers_come_from_the_model() -> None:
    parameters = made()
    assert parameters.mass[:, 0].tolist() == [2.0, 0.5, 0.5]
    assert parameters.center[:, 0].tolist() == [0, 0, 0, 0, 0.3, 0, 0, 0.3, 0]
    assert parameters.damping[:, 0].tolist() == [0.1, 0.01, 0.01]
    assert parameters.limit_lower[:, 0].tolist() == [-2.0, -math.inf, -math.inf]
    assert parameters.drive_control_upper.tolist() == [[100.0]]
    assert parameters.drive_force_upper.tolist() == [[math.inf]]
    assert parameters["gravity"][:, 0].tolist() == [0.0, -9.81, 0.0]


def test_a_limits_spring_is_critically_damped_for_what_it_stops() -> None:
    parameters = made()
    # the cart's limit stops all three bodies
    stiffness, damping = parameters.limit_stiffness[0], parameters.limit_damping[0]
    assert float(stiffness) == pytest.approx(3.0 * 50.0**2)
    assert float(damping) == pytest.approx(2 * 3.0 * 50.0)


def test_one_parameter_is_replaced_and_the_rest_shared() -> None:
    before = made()
    after = before.replaced("mass", [1.0, 2.0, 3.0])
    assert after.mass.tolist() == [[1.0], [2.0], [3.0]]
    assert before.mass[0, 0] == 2.0
    assert after.inertia is before.inertia
    assert before.replaced("friction", 0.25).friction.shape == before.friction.shape


def test_some_worlds_get_their_own() -> None:
    after = made().replaced("gravity", [[0, 1], [0, 2], [0, 3]], worlds=[3, 1])
    assert after.gravity.shape == (3, 4)
    assert after.gravity[:, 1].tolist() == [1, 2, 3]
    assert after.gravity[:, 3].tolist() == [0, 0, 0]
    assert after.gravity[:, 0].tolist() == after.gravity[:, 2].tolist() == [0, -9.81, 0]
    one = after.replaced("gravity", [5.0, 5.0, 5.0], worlds=[0])
    assert one.gravity[:, 0].tolist() == [5, 5, 5]
    assert one.gravity[:, 1].tolist() == [1, 2, 3]


def test_blocks_tile_the_worlds() -> None:
    parameters = made().replaced("mass", torch.rand(3, 4, dtype=torch.float64) + 1)
    left, right = parameters.block(0, 3), parameters.block(3, 4)
    assert (left.worlds, right.worlds) == (3, 1)
    assert torch.equal(torch.cat([left.mass, right.mass], dim=1), parameters.mass)
    assert left.gravity is parameters.gravity
    assert parameters.block(0, 4) is parameters
    assert right.block(0, 1) is right


def test_the_structure_says_what_is_zero_everywhere() -> None:
    parameters = made()
    assert parameters.is_zero("armature") == (True, True, True)
    assert parameters.is_zero("inertia")[:6] == (False,) * 3 + (True,) * 3
    after = parameters.replaced("armature", [0.0, 0.1, 0.0], worlds=[2])
    assert after.is_zero("armature") == (True, False, True)
    assert after.structure != parameters.structure
    assert hash(after.structure) != hash(parameters.structure)
    # other worlds might have it still, as far as is known without reading them back
    one = after.replaced("armature", [0.0, 0.0, 0.0], worlds=[2])
    assert one.is_zero("armature") == (True, False, True)
    back = after.replaced("armature", 0.0)
    assert back.structure == parameters.structure
    assert parameters.replaced("mass", [1.0, 2.0, 3.0]).structure == back.structure


def test_a_gradient_goes_through() -> None:
    mass = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    after = made().replaced("mass", mass, worlds=[0, 2])
    after.mass.sum().backward()
    assert mass.grad is not None
    assert mass.grad.tolist() == [2.0, 2.0, 2.0]


def test_precision_can_be_changed() -> None:
    single = made().to(dtype=torch.float32)
    assert {t.dtype for _, t in single.items()} == {torch.float32}
    assert single.structure == made().structure


@pytest.mark.parametrize(
    ("name", "value", "worlds", "message"),
    [
        ("weight", 1.0, None, 'no parameter "weight"; there are mass, '),
        ("mass", [1.0], None, "this model has 3 of them"),
        ("mass", [[[1.0]]], None, "this model has 3 of them"),
        ("mass", -1.0, None, "-1 was given; it must be at least 0 kg"),
        ("slip_speed", 0.0, None, "must be more than 0"),
        ("mass", math.nan, None, "not finite"),
        ("damping", math.inf, None, "not finite"),
        ("limit_upper", math.nan, None, "not finite"),
        ("mass", torch.ones(3, 2), None, "values for 2 worlds were given for 4"),
        ("mass", torch.ones(3, 4), [0, 1], "values for 4 worlds were given for 2"),
        ("mass", 1.0, [4], "no world 4; they are 0 to 3"),
        ("mass", 1.0, [1, 1], "named twice"),
        ("inertia", [1.0, 1, 3, 0, 0, 0] * 3, None, "of link 0 no body has"),
    ],
)
def test_what_can_not_be_set_says_why(name, value, worlds, message) -> None:
    with pytest.raises(ParameterError, match=message):
        made().replaced(name, value, worlds=worlds)


def test_infinite_limits_are_no_limits() -> None:
    assert declaration("limit_upper").infinite
    assert made().replaced("limit_upper", math.inf).limit_upper[0, 0] == math.inf
