"""A world's bits depend on its own numbers alone, not on the batch it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.model.parameters import Parameters
from tests.gpu.dynamics.models import arm, built, cartpole, forest, random_state, varied

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import Model

MODELS = [cartpole(), arm(), forest()]
DTYPES = [torch.float32, torch.float64]


def stepped(
    dynamics: Dynamics,
    parameters: Parameters,
    columns: slice | list[int],
    dtype: torch.dtype,
) -> torch.Tensor:
    tree = dynamics.tree
    q, v, force = random_state(tree, 203, dtype)
    targets = random_state(tree, 203, dtype, seed=1)[1][: len(tree.drives)]
    wrench = torch.sin(torch.arange(len(tree.links) * 6 * 203, dtype=torch.float64))
    wrench = wrench.reshape(-1, 6, 203).to(dtype)
    q, v = q[:, columns].contiguous(), v[:, columns].contiguous()
    control = Control(
        targets[:, columns].contiguous(),
        force[:, columns].contiguous(),
        wrench[..., columns].contiguous(),
    )
    for _ in range(3):
        q, v = dynamics.semi_implicit(q, v, 0.01, control, parameters)
    whole = dynamics.kinematics(q, v, parameters)
    return torch.cat([q, v, whole.rotation.flatten(0, 1), whole.linear.flatten(0, 1)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_bits_do_not_depend_on_the_batch(model: Model, dtype: torch.dtype) -> None:
    torch.set_num_threads(1)
    tree, _ = built(model)
    parameters = Parameters.from_tree(tree, dtype=dtype)
    dynamics = Dynamics(tree, parameters)
    whole = stepped(dynamics, parameters, slice(None), dtype)
    for columns in ([0], [202], [5, 3], list(range(7, 24)), list(range(100, 203))):
        part = stepped(dynamics, parameters, columns, dtype)
        assert torch.equal(part, whole[:, columns])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_own_parameters_give_the_bits_of_common_ones(
    model: Model, dtype: torch.dtype
) -> None:
    torch.set_num_threads(1)
    tree, _ = built(model)
    common = Parameters.from_tree(tree, dtype=dtype, worlds=203)
    own = common
    for declared, tensor in common.items():
        own = own.replaced(declared.name, tensor.expand(-1, 203).contiguous())
    dynamics = Dynamics(tree, common)
    assert own.mass.shape[1] == 203
    expected = stepped(dynamics, common, slice(None), dtype)
    assert torch.equal(stepped(dynamics, own, slice(None), dtype), expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_another_worlds_parameters_change_no_bits(model: Model) -> None:
    torch.set_num_threads(1)
    tree, _ = built(model)
    common = Parameters.from_tree(tree, worlds=203)
    # what was zero, unlimited or one in all worlds no longer is: the code is another
    other = common
    for name in ("center", "armature", "damping", "gravity", "drive_gear"):
        if common[name].shape[0]:
            other = other.replaced(name, common[name] + 0.25, worlds=[0])
    if tree.drives:
        other = other.replaced("drive_control_lower", 0.1, worlds=[0])
    other = other.replaced("limit_lower", 0.1, worlds=[0])
    other = other.replaced("limit_upper", 0.2, worlds=[0])
    dynamics = Dynamics(tree, common)
    expected = stepped(dynamics, common, slice(None), torch.float64)
    result = stepped(dynamics, other, slice(None), torch.float64)
    assert not torch.equal(result[:, 0], expected[:, 0])
    assert torch.equal(result[:, 1:], expected[:, 1:])


def test_the_number_of_threads_changes_no_bits() -> None:
    tree, parameters = built(cartpole())
    dynamics = Dynamics(tree, parameters)
    # torch shares out rows of more than 32,768 worlds among its threads
    q, v, _ = random_state(tree, 40_001)
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            step = dynamics.semi_implicit(q, v, 0.01, Control(), parameters)
            results.append(torch.cat(step))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("size", [1, 7, 20])
def test_bits_do_not_depend_on_the_blocks(size: int, own: bool) -> None:
    torch.set_num_threads(1)
    tree, parameters = built(forest())
    if own:
        parameters = varied(tree, 29)
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 29)
    targets = torch.full((len(tree.drives), 29), 0.3, dtype=torch.float64)
    control = Control(targets, force)
    whole = torch.cat(dynamics.semi_implicit(q, v, 0.01, control, parameters))
    for start in range(0, 29, size):
        stop = min(29, start + size)
        part = dynamics.semi_implicit(
            q[:, start:stop],
            v[:, start:stop],
            0.01,
            control.block(start, stop),
            parameters.block(start, stop) if own else parameters,
        )
        assert torch.equal(torch.cat(part), whole[:, start:stop])


def test_a_block_of_worlds_has_the_bits_it_has_in_the_whole() -> None:
    torch.set_num_threads(1)
    tree, _ = built(forest())
    parameters = varied(tree, 203)
    dynamics = Dynamics(tree, parameters)
    whole = stepped(dynamics, parameters, slice(None), torch.float64)
    block = parameters.block(50, 81)
    part = stepped(dynamics, block, slice(50, 81), torch.float64)
    assert torch.equal(part, whole[:, 50:81])
