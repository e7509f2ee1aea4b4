"""Friction, springs, limits and drives, each with the number one expects."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control, zero_control
from isoscope.gpu.model.spec import Actor, Drive, Joint, Link, Model
from tests.gpu.dynamics.models import built, forest


def force(
    q: float, v: float, u: float | None = None, drive: Any = None, **joint: Any
) -> float:
    links = (
        Link(
            name="slider",
            joint=Joint(name="rail", type="prismatic", axis=(1.0, 0.0, 0.0), **joint),
            mass=1.0,
        ),
    )
    drives = () if drive is None else (Drive(name="drive", joint="rail", **drive),)
    tree, parameters = built(
        Model(name="m", actors=(Actor(name="a", links=links, drives=drives),))
    )

    def row(value: float) -> torch.Tensor:
        return torch.tensor([[value]], dtype=torch.float64)

    control = Control(None if u is None else row(u))
    dynamics = Dynamics(tree, parameters)
    return dynamics.joint_force(row(q), row(v), control, parameters).item()


def test_friction_opposes_motion() -> None:
    assert force(0.0, 3.0, damping=2.0) == -6.0
    assert force(0.0, -3.0, damping=2.0) == 6.0


def test_a_spring_pulls_to_its_rest() -> None:
    assert force(0.5, 0.0, stiffness=4.0, rest=1.5) == 4.0


LIMITS: dict[str, Any] = {
    "limits": (-1.0, 2.0),
    "limit_stiffness": 10.0,
    "limit_damping": 1.0,
}


@pytest.mark.parametrize(
    ("q", "v", "expected"),
    [
        (0.0, 5.0, 0.0),
        (2.5, 0.0, -5.0),
        (2.5, 1.0, -6.0),
        (-1.5, 0.0, 5.0),
        (-1.5, -1.0, 6.0),
        (2.5, -100.0, 0.0),  # leaves so fast that the damper would pull
        (-1.5, 100.0, 0.0),
    ],
)
def test_limits_push_back_and_never_pull(q: float, v: float, expected: float) -> None:
    assert force(q, v, **LIMITS) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("drive", "q", "v", "u", "expected"),
    [
        ({"gear": 3.0}, 0.0, 0.0, 2.0, 6.0),
        ({"gear": 3.0, "control_limits": (-1.0, 1.0)}, 0.0, 0.0, 2.0, 3.0),
        ({"gear": 3.0, "force_limits": (-1.0, 0.5)}, 0.0, 0.0, 2.0, 1.5),
        ({"gear": 3.0, "force_limits": (-1.0, 0.5)}, 0.0, 0.0, -2.0, -3.0),
        ({"type": "position", "stiffness": 5.0}, 1.0, 0.0, 3.0, 10.0),
        (
            {"type": "position", "stiffness": 5.0, "damping": 2.0, "gear": 2.0},
            1.0,
            0.5,
            3.0,
            2 * (5 * (3 - 2) - 2 * 2 * 0.5),
        ),
        ({"type": "velocity", "damping": 2.0}, 9.0, 0.5, 3.0, 5.0),
        (
            {"type": "velocity", "damping": 2.0, "force_limits": (-1.0, 1.0)},
            9.0,
            0.5,
            3.0,
            1.0,
        ),
    ],
)
def test_drives(drive: Any, q: float, v: float, u: float, expected: float) -> None:
    assert force(q, v, u, drive) == pytest.approx(expected, abs=1e-12)


def test_a_drive_that_is_off_does_nothing() -> None:
    assert force(1.0, 1.0, None, {"type": "position", "stiffness": 5.0}) == 0.0


def test_a_control_is_cut_into_blocks_and_takes_wrenches() -> None:
    tree, _ = built(forest())
    control = zero_control(tree, 6)
    assert control.targets is not None
    assert control.targets.shape == (3, 6)
    assert control.forces is None
    wrench = torch.ones(len(tree.links), 6, 6, dtype=torch.float64)
    twice = control.with_wrench(wrench).with_wrench(wrench)
    assert twice.wrenches is not None
    assert torch.equal(twice.wrenches, 2 * wrench)
    block = twice.block(1, 3)
    assert block.targets is not None
    assert block.targets.shape == (3, 2)
    assert block.forces is None
