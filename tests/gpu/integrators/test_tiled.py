"""Blocks of worlds give the bits that the whole gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.gpu.dynamics.dynamics import Dynamics, Kinematics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from isoscope.gpu.integrators.tiled import Tiled, blocks
from tests.gpu.dynamics.models import built, forest, random_state, varied

if TYPE_CHECKING:
    from isoscope.gpu.model.parameters import Parameters


def test_blocks_cover_all_worlds_once() -> None:
    assert blocks(10, torch.float64, size=4) == [(0, 4), (4, 8), (8, 10)]
    assert blocks(65536, torch.float32)[0] == (0, 16384)
    assert blocks(65536, torch.float64)[0] == (0, 8192)
    assert blocks(7, torch.float32) == [(0, 7)]
    assert blocks(65536, torch.float32, "cuda") == [(0, 65536)]


@dataclass(frozen=True)
class Report:
    wrench: torch.Tensor
    link_a: torch.Tensor


class Gust:
    """A force that depends on each link's speed."""

    def evaluate(self, kinematics: Kinematics, parameters: Parameters) -> Any:
        return Report(
            torch.cat((-kinematics.linear, kinematics.angular * 0.1), dim=1),
            torch.arange(3),
        )


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("size", [1, 7, 20, 1000])
def test_bits_do_not_depend_on_the_blocks(size: int, own: bool) -> None:
    torch.set_num_threads(1)
    tree, parameters = built(forest())
    if own:
        parameters = varied(tree, 29)
    dynamics = Dynamics(tree, parameters)
    whole = SemiImplicitEuler(dynamics, Gust())
    tiled = Tiled(SemiImplicitEuler(dynamics, Gust()), size)
    q, v, force = random_state(tree, 29)
    targets = torch.full((len(tree.drives), 29), 0.3, dtype=torch.float64)
    control = Control(targets, force)
    expected = result = whole.step(q, v, 0.01, control, parameters)
    result = tiled.step(q, v, 0.01, control, parameters)
    for _ in range(2):
        expected = whole.step(expected.q, expected.v, 0.01, control, parameters)
        result = tiled.step(result.q, result.v, 0.01, control, parameters)
    for name in ("q", "v", "status", "iterations", "residual"):
        assert torch.equal(getattr(result, name), getattr(expected, name))
    assert torch.equal(result.contacts.wrench, expected.contacts.wrench)
    assert torch.equal(result.contacts.link_a, expected.contacts.link_a)


def test_new_parameters_are_cut_anew() -> None:
    tree, _ = built(forest())
    first, second = varied(tree, 20, seed=1), varied(tree, 20, seed=2)
    dynamics = Dynamics(tree, first)
    whole, tiled = SemiImplicitEuler(dynamics), Tiled(SemiImplicitEuler(dynamics), 6)
    q, v, _ = random_state(tree, 20)
    for parameters in (first, second, first):
        expected = whole.step(q, v, 0.01, Control(), parameters)
        result = tiled.step(q, v, 0.01, Control(), parameters)
        assert torch.equal(result.v, expected.v)


def test_the_number_of_threads_changes_no_bits() -> None:
    tree, parameters = built(forest())
    dynamics = Dynamics(tree, parameters)
    # torch shares out rows of more than 32,768 worlds among its threads
    q, v, _ = random_state(tree, 40_001)
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            step = SemiImplicitEuler(dynamics).step(q, v, 0.01, Control(), parameters)
            results.append(torch.cat((step.q, step.v)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
