"""How fast the simulator is, against MuJoCo, SuperDex and itself; what it copies."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope import resources
from isoscope.app.bench import simulate_mujoco
from isoscope.app.bench.simulate_ledger import bytes_per_step
from isoscope.app.bench.simulate_superdex import ENVS, SUBSTEPS, SuperDex
from isoscope.app.environments import EnvFactory
from isoscope.core.bench import FEWEST, ratio
from isoscope.gpu.model.mjcf.reader import load_mjcf
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.gpu.scene.scene import SimulatedScene

WORLDS, MANY = 8192, 65_536
SEED = 20261130
ROUNDS = 7
# native steps of a round, ours and MuJoCo's; each side some tenths of a second
OURS = {"cartpole": 200, "arm7": 20}
THEIRS = {"cartpole": 40, "arm7": 8}
GROWTH_STEPS = {WORLDS: 80, MANY: 10}
BATCH_STEPS, SUPERDEX_STEPS = 6, 60
TRIES = 2  # with each number of threads, before the rounds


def run(worlds: int = WORLDS, many: int = MANY, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Returns
    -------
    dict
        ``ratio_mujoco_cartpole`` and ``ratio_mujoco_arm``: our native steps a second
        over MuJoCo's, of `worlds` worlds of the same file with the same step, float32
        and semi-implicit here, on all cores there. ``ratio_superdex``: those of
        `many` resident CartPole environments, stepped by backward Euler as SuperDex's
        are, over those of its 64 on shared scenes in 2 workers; both with resets,
        rewards and random actions (``…_worlds``: `worlds`). ``ratio_growth``: the
        time of a step of `many` worlds over that of `worlds`. ``ledger``: bytes between
        host and device a step when nothing reads, on CUDA (None without). And what they
        are of: rates are medians, ``…_all`` every round's, ``warmup_…`` those before.
    """
    threads = torch.get_num_threads()
    try:
        figures: dict[str, Any] = {"runs": rounds, "worlds": worlds, "many": many}
        for model, name in (("cartpole", "cartpole"), ("arm7", "arm")):
            figures |= _against_mujoco(model, name, worlds, rounds)
        figures |= _against_superdex(worlds, many, rounds)
        figures |= _growth(worlds, many, rounds)
        figures |= bytes_per_step(many)
    finally:
        torch.set_num_threads(threads)
    return figures


def _against_mujoco(model: str, name: str, worlds: int, rounds: int) -> dict[str, Any]:
    ours = _Ours(model, worlds, OURS[model])
    known = {f"threads_{name}": ours.threads}
    sides: dict[str, Callable[[], float | None]] = {f"native_{name}": ours.advance}
    theirs: simulate_mujoco.Rollouts | None = None
    if simulate_mujoco.installed():
        theirs = simulate_mujoco.Rollouts(model, ours.start, THEIRS[model])
        if theirs.h_s != ours.h_s:
            raise AssertionError(f"steps of {ours.h_s} s here, {theirs.h_s} s there")
        sides[f"mujoco_{name}"] = theirs.advance
    try:
        figures = _rates(sides, rounds)
    finally:
        if theirs is not None:
            theirs.close()
    over, under = figures[f"native_{name}"], figures.get(f"mujoco_{name}")
    told: dict[str, Any] = {f"ratio_mujoco_{name}": ratio(over, under)}
    if theirs is None:
        told["mujoco_remedy"] = simulate_mujoco.REMEDY
    return {**told, **known, **figures, f"valid_{name}": ours.valid}


class _Ours:
    """W worlds of an MJCF file here, with as many threads as are fastest."""

    def __init__(self, model: str, worlds: int, steps: int) -> None:
        path = resources.path("models", f"{model}.xml")
        self.h_s = {"cartpole": 0.02, "arm7": 0.002}[model]
        self._scene: SimulatedScene = make_scene(
            load_mjcf(path).model, worlds, "cpu", "float32", "semi_implicit"
        )
        self._worlds, self._steps = worlds, steps
        actor = next(a for a in self._scene.actors if not a.static)
        rng = np.random.default_rng(SEED)
        self.start = rng.uniform(-0.2, 0.2, (worlds, actor.position_size))
        rest = np.zeros((worlds, actor.velocity_size))
        self._scene.set_state(actor.index, self.start, rest)
        self.threads = 0  # until it is known: as they are set
        self.threads = _fastest_threads(self.advance)

    @property
    def valid(self) -> bool:
        """Whether all worlds are still good."""
        return bool(self._scene.valid.all())

    def advance(self) -> float:
        """Step; native steps a second."""
        if self.threads:
            torch.set_num_threads(self.threads)
        begun = time.perf_counter()
        for _ in range(self._steps):
            self._scene.step(self.h_s)
        return self._worlds * self._steps / (time.perf_counter() - begun)


def _against_superdex(worlds: int, many: int, rounds: int) -> dict[str, Any]:
    """Batches with everything that an environment does; results are not read."""
    batches = {
        "batch_many": _Batch(many, None),
        "batch": _Batch(worlds, None),
        "batch_semi_implicit": _Batch(worlds, "semi_implicit"),
    }
    sides: dict[str, Callable[[], float | None]] = {
        name: batch.advance for name, batch in batches.items()
    }
    other, remedy = SuperDex.start()
    if other is not None:
        their = other

        def advance() -> float | None:
            took = their.step(SUPERDEX_STEPS)
            return None if took is None else ENVS * SUBSTEPS * SUPERDEX_STEPS / took

        sides["superdex"] = advance
    try:
        figures = _rates(sides, rounds)
    finally:
        if other is not None:
            other.close()
        for batch in batches.values():
            batch.close()
    under = figures.get("superdex")
    told: dict[str, Any] = {
        "ratio_superdex": ratio(figures["batch_many"], under),
        "ratio_superdex_worlds": ratio(figures["batch"], under),
        "ratio_superdex_semi_implicit": ratio(figures["batch_semi_implicit"], under),
    }
    if remedy:
        told["superdex_remedy"] = remedy
    return told | figures


class _Batch:
    """Resident CartPole environments."""

    def __init__(self, envs: int, integrator: str | None) -> None:
        self._envs = envs
        factory = EnvFactory(
            "CartPole", device="cpu", precision="float32", integrator=integrator
        )
        self._batch = factory.batch(envs, results="lazy")
        self._batch.reset_device(None, list(range(envs)))
        generator = torch.Generator().manual_seed(SEED)
        self._actions = [
            torch.rand(envs, 1, generator=generator) * 6 - 3 for _ in range(BATCH_STEPS)
        ]
        self._threads = 0
        self._threads = _fastest_threads(self.advance)

    def advance(self) -> float:
        """Step; native steps a second, those of resets not counted."""
        if self._threads:
            torch.set_num_threads(self._threads)
        begun = time.perf_counter()
        for action in self._actions:
            self._batch.step_device(action)
        took = time.perf_counter() - begun
        return self._envs * SUBSTEPS * BATCH_STEPS / took

    def close(self) -> None:
        """Let go of the scene."""
        self._batch.close()


def _growth(worlds: int, many: int, rounds: int) -> dict[str, Any]:
    few, lots = (
        _Ours("cartpole", w, GROWTH_STEPS.get(w, GROWTH_STEPS[WORLDS]))
        for w in (worlds, many)
    )
    rates = _rates({"few": few.advance, "lots": lots.advance}, rounds)
    few_s, many_s = worlds / rates["few"], many / rates["lots"]
    return {
        "ratio_growth": ratio(many_s, few_s),
        "step_worlds_s": few_s,
        "step_many_s": many_s,
    }


def _rates(
    sides: Mapping[str, Callable[[], float | None]], rounds: int
) -> dict[str, Any]:
    """Take the sides in turn; the median rate of each, all of them, the warm-up's."""
    if rounds < FEWEST:
        raise ValueError(f"a median of {rounds} says too little; take {FEWEST}")
    first = {name: side() for name, side in sides.items()}
    seen: dict[str, list[float | None]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            seen[name].append(side())
    figures: dict[str, Any] = {}
    for name, rates in seen.items():
        known = [rate for rate in rates if rate is not None]
        whole = len(known) == len(rates)
        figures[name] = statistics.median(known) if whole else None
        figures[f"{name}_all"] = rates
        figures[f"warmup_{name}"] = first[name]
    return figures


def _fastest_threads(work: Callable[[], float]) -> int:
    """Try one thread and as many as are set; the better number."""
    tried: dict[int, float] = {}
    before = torch.get_num_threads()
    for threads in sorted({1, before}):
        torch.set_num_threads(threads)
        tried[threads] = max(work() for _ in range(TRIES))
    torch.set_num_threads(before)
    return max(tried, key=lambda threads: tried[threads])
