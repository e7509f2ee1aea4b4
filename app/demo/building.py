"""Make a demo's environments, and what acts in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.app.demo.settings import MODES
from isoscope.app.environments import EnvFactory
from isoscope.core.envs.faults.configuration import IncompleteKey
from isoscope.core.envs.faults.fault import RunFault
from isoscope.core.envs.faults.storing import RolloutFault
from isoscope.core.envs.faults.switch import FaultSwitch, SwitchedEnv
from isoscope.core.envs.rollout.rollout import Rollout, RolloutOptions
from isoscope.core.envs.rollout.sources import ResidentSource, TurnSource
from isoscope.core.envs.rollout.stages import RolloutStages
from isoscope.core.envs.rollout.surviving import SurvivingEnv
from isoscope.core.envs.rollout.tally import SolverTally
from isoscope.core.envs.vector.factories import IndexedFactory
from isoscope.core.envs.vector.hybrid import HybridVectorEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.envs.faults.fault import Fault
    from isoscope.core.envs.rollout.sources import Source
    from isoscope.core.envs.task import Task
    from isoscope.core.envs.vector.factories import EnvIndex
    from isoscope.core.scene import SceneRow

    Make = Callable[..., Any]
    Around = Callable[[Make, int], Make]


@dataclass(frozen=True, slots=True)
class DemoParts:
    """What a demo runs on."""

    task: Task
    switch: FaultSwitch
    tally: SolverTally
    source: Source
    rollout: Rollout
    envs: Any


def build(
    settings: DemoSettings,
    faults: Sequence[Fault],
    device: str,
    around: Around | None = None,
) -> DemoParts:
    """Make everything; nothing is reset yet.

    Parameters
    ----------
    device
        ``cpu`` or ``cuda``.
    around
        What wants to see inside, a tap say: called with what makes an environment and
        its number, and gives what is called in its place; a resident batch is number 0.
        With workers that has to be picklable.
    """
    task = settings.make_task()
    tally = SolverTally()
    switch = FaultSwitch(faults, tally)
    factory = EnvFactory(
        settings.task,
        settings=_task_settings(settings),
        scene="independent" if settings.scene == "resident" else settings.scene,
        device=device,
        precision=settings.precision,
        integrator=settings.integrator,
        stages=switch,
    )
    source: Source
    envs: Any
    rows: Sequence[SceneRow]
    if settings.scene == "resident":
        make: Any = partial(
            factory.batch,
            settings.envs,
            autoreset_mode=MODES[settings.autoreset],
            results="lazy",
        )
        envs = make() if around is None else around(make, 0)()
        source = ResidentSource(envs, settings.watched(faults))
        rows = envs.unwrapped.scene.rows
    else:
        envs = _in_turn(settings, task, factory, switch, faults, around)
        source = TurnSource(envs)
        rows = _rows_of(factory) if _fields(faults) else ()
    rollout = Rollout(
        source,
        task,
        range(settings.seed, settings.seed + settings.envs),
        RolloutOptions(
            policy=settings.policy,
            fields=_wanted(rows, _fields(faults)),
            frames=settings.frames or any("frames" in f.NEEDS for f in faults),
        ),
        wrapped(RolloutStages(), faults),
    )
    return DemoParts(task, switch, tally, source, rollout, envs)


def wrapped(stages: RolloutStages, faults: Sequence[Fault]) -> RolloutStages:
    """Lay the faults that concern a consumer around stages."""
    for fault in faults:
        if isinstance(fault, RolloutFault):
            fault.inner = stages
            stages = fault
    return stages


def make_inside(index: EnvIndex, factory: EnvFactory, switch: FaultSwitch) -> Any:
    """Make one environment of a demo, in whatever process."""
    return SwitchedEnv(factory.at(index), index.global_index, switch)


def make_env(index: EnvIndex, inside: Callable[[EnvIndex], Any]) -> Any:
    """Make one whose failures end its episode, whoever looks inside."""
    return SurvivingEnv(inside(index))


def _in_turn(
    settings: DemoSettings,
    task: Task,
    factory: EnvFactory,
    switch: FaultSwitch,
    faults: Sequence[Fault],
    around: Around | None,
) -> HybridVectorEnv:
    wishes: dict[int, dict[str, Any]] = {
        fault.place.env: fault.WANTED
        for fault in faults
        if isinstance(fault, IncompleteKey)
    }
    factories = []
    for number in range(settings.envs):
        own = replace(factory, configuration=wishes.get(number, {}))
        inside: Any = partial(make_inside, factory=own, switch=switch)
        if around is not None:
            inside = around(inside, number)
        factories.append(IndexedFactory(partial(make_env, inside=inside)))
    arguments: dict[str, Any] = {
        "workers": settings.workers,
        "autoreset_mode": MODES[settings.autoreset],
        # no environment has to be made only to be looked at
        "spaces": (task.observation.box(), task.action.box()),
    }
    if settings.workers:
        arguments["threads_per_worker"] = 1
    for fault in faults:
        if isinstance(fault, RunFault):
            arguments |= fault.arrange(arguments)
    return HybridVectorEnv(factories, **arguments)


def _task_settings(settings: DemoSettings) -> dict[str, Any]:
    chosen = dict(settings.task_settings)
    if settings.control_hz is not None:
        chosen["control_hz"] = settings.control_hz
    return chosen


def _fields(faults: Sequence[Fault]) -> tuple[str, ...]:
    wanted = [
        field
        for fault in faults
        if isinstance(fault, RolloutFault)
        for field in fault.FIELDS
    ]
    return tuple(dict.fromkeys(wanted))


def _wanted(
    rows: Sequence[SceneRow], fields: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """The fields of the first articulation, or body: those it has not are absent."""
    if not fields or not rows:
        return ()
    articulated = [row for row in rows if row.type == "Articulated"]
    chosen = (articulated or list(rows))[0]
    return tuple((chosen.index, field) for field in fields)


def _rows_of(factory: EnvFactory) -> Sequence[SceneRow]:
    """What there is to read in a scene of the task."""
    alone = replace(factory, scene="independent", stages=None)(0)
    try:
        return alone.scene.rows
    finally:
        alone.close()
