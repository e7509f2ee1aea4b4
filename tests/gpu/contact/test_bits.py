"""A world's contacts have the same bits alone and among any others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.gpu.contact.scenes import compiled, random_motion
from tests.gpu.contact.test_law import CROWD, LINKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.gpu.contact.report import ContactReport

FIELDS = (
    *("position", "normal", "force", "distance", "velocity", "share", "active"),
    "wrench",
)
WORLDS = 37


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def assert_same_bits(
    all_worlds: ContactReport, some: ContactReport, chosen: list[int]
) -> None:
    for name in FIELDS:
        ours, theirs = getattr(all_worlds, name)[..., chosen], getattr(some, name)
        assert (
            ours.contiguous().numpy().tobytes() == theirs.contiguous().numpy().tobytes()
        )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_worlds_do_not_depend_on_one_another(dtype: torch.dtype) -> None:
    _, parameters, contacts = compiled(CROWD)
    parameters = parameters.to(dtype=dtype)
    motion = random_motion(np.random.default_rng(3), LINKS, WORLDS, 0.15).to(dtype)
    whole = contacts.evaluate(motion, parameters)
    assert whole.force.dtype == dtype
    # every pair touches in some world
    touched = {int(point) for point in torch.nonzero(whole.active.any(1))}
    pairs = list(zip(whole.shape_a.tolist(), whole.shape_b.tolist(), strict=True))
    assert {pairs[point] for point in touched} == set(pairs)
    for chosen in ([0], [36], [5, 3, 11], list(range(7, 24))):
        part = contacts.evaluate(motion.world(chosen), parameters)
        assert_same_bits(whole, part, chosen)


def test_parameters_of_each_world_give_the_bits_of_uniform_ones() -> None:
    _, uniform, contacts = compiled(CROWD, WORLDS)
    own = uniform
    for name in ("friction", "contact_stiffness", "contact_damping", "slip_speed"):
        own = own.replaced(name, uniform[name].repeat(1, WORLDS))
    motion = random_motion(np.random.default_rng(4), LINKS, WORLDS, 0.15)
    assert_same_bits(
        contacts.evaluate(motion, uniform),
        contacts.evaluate(motion, own),
        list(range(WORLDS)),
    )


def test_again_is_the_same() -> None:
    _, parameters, contacts = compiled(CROWD)
    motion = random_motion(np.random.default_rng(5), LINKS, WORLDS, 0.15)
    one, two = (contacts.evaluate(motion, parameters) for _ in range(2))
    assert_same_bits(one, two, list(range(WORLDS)))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_agrees_with_the_cpu_and_copies_nothing() -> None:
    _, parameters, contacts = compiled(CROWD)
    motion = random_motion(np.random.default_rng(6), LINKS, WORLDS, 0.15)
    here = contacts.evaluate(motion, parameters)
    moved = type(motion)(
        *(
            getattr(motion, name).cuda()
            for name in ("position", "matrix", "linear", "angular")
        )
    )
    away = parameters.to(device="cuda")
    contacts.evaluate(moved, away)
    torch.cuda.set_sync_debug_mode("error")
    try:
        there = contacts.evaluate(moved, away)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(there.wrench.cpu(), here.wrench, rtol=1e-7, atol=1e-7)


class Operations(TorchDispatchMode):
    """Which operations torch is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.add(func.name())
        return func(*args, **(kwargs or {}))


def test_nothing_is_read_or_made_on_the_host() -> None:
    """No number is asked for, none is brought, and no shape depends on one."""
    _, parameters, contacts = compiled(CROWD)
    motion = random_motion(np.random.default_rng(7), LINKS, 3, 0.15)
    contacts.evaluate(motion, parameters)
    with Operations() as asked:
        contacts.evaluate(motion, parameters)
    assert "aten::index_select" in asked.names
    for name in asked.names:
        assert not name.startswith(
            (
                *("aten::_local_scalar_dense", "aten::lift_fresh", "aten::nonzero"),
                *("aten::masked_select", "aten::index.", "aten::is_nonzero"),
            )
        ), name
