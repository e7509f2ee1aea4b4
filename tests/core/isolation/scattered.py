"""Puts a fault into a demo at a place drawn by chance, records it, and audits that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.demo.settings import DemoSettings
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.tasks.registry import TASKS
from tests.core.isolation.recorded_demo import WITH_CONTACT, recorded

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.envs.faults.fault import Fault
    from tests.core.isolation.recorded_demo import RecordedDemo

POLICIES = ("random", "smooth")
PRECISIONS = ("float64", "float64", "float32")
TRIES = 12  # until a place is drawn that the run comes to


@dataclass(frozen=True)
class Scale:
    """How long and wide such runs are.

    Attributes
    ----------
    envs
        At most, from 2.
    longest
        Control steps of an episode.
    last
        The last episode in which a fault is put; two more follow, for what shows late.
    """

    envs: int
    longest: int
    last: int
    tasks: tuple[str, ...]


QUICK = Scale(6, 4, 2, ("CartPole", "CartPoleLab", "DoublePendulumRail"))
WHOLE = Scale(16, 5, 3, tuple(sorted(TASKS)))


@dataclass(frozen=True)
class Scattered:
    """One fault somewhere, and what came of it."""

    kind: type[Fault]
    run: RecordedDemo

    @property
    def happened(self) -> tuple[int, int, int] | None:
        """Environment, episode, control step of where it first did."""
        for told in self.run.demo.faults[0].happened:
            env, episode, k = (int(n) for n in told.replace("/", ":").split(":"))
            return env, episode, k
        return None


def settings_at(name: str, number: int, scale: Scale = WHOLE) -> DemoSettings:
    """A demo with the fault somewhere: the same one each time for one number."""
    kind = all_faults()[name]
    drawn = np.random.default_rng([number, *name.encode()])

    def one_of(choices: Any) -> Any:
        return choices[int(drawn.integers(len(choices)))]

    workers = 2 if "workers" in kind.NEEDS else 0
    envs = int(drawn.integers(2, scale.envs + 1))
    if workers:
        envs = max(4, envs + envs % 2)
    env = int(drawn.integers(envs))
    episode = int(drawn.integers(1, scale.last + 1))
    k = int(drawn.integers(1, scale.longest + 1))
    if kind.WHEN == "start":
        episode, k = 1, 0
    elif kind.WHEN == "reset":
        k = 0
    task = one_of(scale.tasks)
    return DemoSettings(
        task=task,
        envs=envs,
        scene=one_of(kind.SCENES),
        autoreset=one_of(kind.MODES),
        policy=one_of(("smooth",) if "policy-state" in kind.NEEDS else POLICIES),
        precision=one_of(PRECISIONS),
        workers=workers,
        device="cpu",
        seed=int(drawn.integers(1000)),
        steps=(scale.last + 2) * (scale.longest + 1),
        frames="frames" in kind.NEEDS,
        task_settings={"max_steps": scale.longest, **WITH_CONTACT.get(task, {})},
        faults=(FaultOrder(name, Place(env, episode, k)),),
    )


def somewhere(folder: Path, name: str, number: int, scale: Scale = WHOLE) -> Scattered:
    """Put a fault in at a place that the run comes to."""
    for attempt in range(TRIES):
        inside = folder / str(attempt)
        inside.mkdir()
        settings = settings_at(name, number + 1000 * attempt, scale)
        found = Scattered(all_faults()[name], recorded(inside, settings))
        if found.happened is not None:
            return found
    raise AssertionError(f"{name} never happened: {settings}")


def expect_it_and_only_it(one: Scattered) -> None:
    """Fail unless the fault was found where it happened, and nothing else was."""
    kind, at = one.kind, one.happened
    all_of_them = one.run.said.findings
    told = [(f.id, f.env, f.episode, f.control_step, f.message) for f in all_of_them]
    said = f"{one.run.settings}\n{told}"
    assert at is not None, said
    found = [f for f in all_of_them if f.id in kind.FINDS]
    others = [f for f in all_of_them if f.id not in kind.FINDS]
    assert {f.id for f in found} == set(kind.FINDS), said
    assert {f.id for f in others} <= set(kind.MAY_FIND), said
    assert all(f.env == at[0] for f in others), said
    match kind.WHOSE:
        case "env":
            places = {(f.env, f.episode, f.control_step) for f in found}
            assert places == {at}, said
        case "pair":
            assert all(at[0] in (f.env, f.other_env) for f in found), said
            assert {(f.episode, f.control_step) for f in found} == {at[1:]}, said
        case "process":
            for f in found:
                assert {f.env, at[0]} <= set(f.evidence["environments"]), said
                # None where it died before it had sent anything.
                where = f.episode, f.control_step
                assert where == (None, None) or where <= at[1:], said
        case "run":
            assert len(found) == 1, said
