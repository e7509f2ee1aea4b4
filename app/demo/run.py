"""Runs a demo: can be paused, stepped, sped, stopped and given faults while it runs."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from isoscope.app.demo.building import DemoParts, build, wrapped
from isoscope.app.demo.gathering import happened, ledger_of, solver_of
from isoscope.app.demo.pacing import Pacer
from isoscope.app.demo.placing import next_order
from isoscope.core.demo import Demo, DemoFault, DemoReturns
from isoscope.core.envs.faults.fault import RunFault
from isoscope.core.envs.faults.living import WorkerDeath
from isoscope.core.envs.faults.storing import RolloutFault
from isoscope.core.envs.faults.switch import put_in_worker
from isoscope.core.envs.rollout.sources import ResidentSource
from isoscope.core.envs.vector.errors import VectorEnvError
from isoscope.core.errors import IsoscopeError, UsageError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.demo.building import Around
    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.envs.faults.fault import Fault
    from isoscope.core.envs.faults.order import FaultOrder
    from isoscope.core.recording.source import Progress

State = Literal["ready", "running", "paused", "ended"]
PROGRESS_EVERY = 20


class DemoRun:
    """One run of a task; a context manager that closes what it made.

    `run` is called in one thread, which the scenes then belong to. `pause`, `resume`,
    `step`, `set_speed`, `stop` and `put_fault` may be called from any.

    Parameters
    ----------
    settings
        What to run.
    around
        See `building.build`: what wants to see inside.

    Attributes
    ----------
    parts
        The environments, the switch, the rollout; its signals tell what is stored.
    problems
        What went wrong and did not end the run.

    Raises
    ------
    IsoscopeError
        If the settings, a fault or the device can't be had.
    """

    def __init__(
        self,
        settings: DemoSettings,
        around: Around | None = None,
    ) -> None:
        from isoscope.gpu.device import resolve_device

        settings.check()
        self.settings = settings
        self.faults: list[Fault] = settings.make_faults()
        self.device = str(resolve_device(settings.device))
        self.parts: DemoParts = build(settings, self.faults, self.device, around)
        self.problems: list[str] = []
        self.rounds = 0
        self.seconds = 0.0
        self.ended = ""
        self._happened: dict[str, list[Any]] = {}
        self._wake = threading.Condition()
        self._paused = False
        self._stopped = False
        self._steps_wanted = 0
        self._speed: float | None = None
        self.pacer = Pacer()
        self._due: deque[Fault] = deque()
        self._asked: deque[tuple[str, int, Callable[[str, str], object]]] = deque()
        self._begun = False
        self._closed = False
        self._gathered: tuple[Any, Any] = (None, None)

    def __enter__(self) -> DemoRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- from any thread ---------------------------------------------------------------

    @property
    def state(self) -> State:
        """What it is doing."""
        if self.ended or self._closed:
            return "ended"
        if not self._begun:
            return "ready"
        return "paused" if self._paused else "running"

    def pause(self) -> None:
        """Wait before the next round."""
        with self._wake:
            self._paused = True
            self._steps_wanted = 0

    def resume(self) -> None:
        """Go on."""
        with self._wake:
            self._paused = False
            self._wake.notify_all()

    def step(self, rounds: int = 1) -> None:
        """Take so many rounds, then wait."""
        if rounds < 1:
            raise UsageError(f"stepping a demo: {rounds} rounds; give 1 or more")
        with self._wake:
            self._paused = True
            self._steps_wanted += rounds
            self._wake.notify_all()

    def set_speed(self, factor: float | None) -> None:
        """Run so many times as fast as the robot's time goes; None: as can be."""
        if factor is not None and not 0 < factor < float("inf"):
            raise UsageError(f"setting a demo's speed: {factor}; give more than 0")
        with self._wake:
            self._speed = factor
            self._wake.notify_all()

    def stop(self) -> None:
        """End it before the next round."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()

    def put_fault(self, order: FaultOrder) -> None:
        """Put a fault in before the next round.

        Raises
        ------
        UsageError
            If there is none, the run can't show it, or it had to be there from the
            beginning.
        """
        fault = self._made(order)
        with self._wake:
            self._due.append(fault)
            self._wake.notify_all()

    def put_next(self, name: str, env: int, told: Callable[[str, str], object]) -> None:
        """Put a fault in at the first place of an environment where it can happen.

        Parameters
        ----------
        told
            Called in the thread of the scenes with where it is to happen, and with why
            it can't be put in; one of the two is empty.
        """
        with self._wake:
            self._asked.append((name, env, told))
            self._wake.notify_all()

    def _made(self, order: FaultOrder) -> Fault:
        fault = self.settings.make_fault(order)
        late = ""
        if isinstance(fault, RunFault) or fault.WHEN == "start":
            late = "it happens where a run begins; start the demo with it"
        elif isinstance(fault, RolloutFault) and fault.FIELDS:
            have = self.parts.rollout.options.fields
            if not set(fault.FIELDS) <= {name for _, name in have}:
                late = "native fields have to be read from the beginning"
        elif "frames" in fault.NEEDS and not self.parts.rollout.options.frames:
            late = "sensors have to be read from the beginning"
        if late:
            raise UsageError(f"putting {order} into a running demo: {late}")
        return fault

    # -- in the thread of the scenes ---------------------------------------------------

    def run(self, progress: Progress | None = None) -> Demo:
        """Run to the end, and say what came of it."""
        try:
            if not self._begun:
                self._put_due()
                self.parts.rollout.begin()
                self._begun = True
            self._rounds(progress)
            self.ended = "stopped" if self._stopped else "finished"
        except VectorEnvError as error:
            # a worker that died, say: what was run until then still counts
            self.ended = one_line(error)
            for fault in self.faults:
                if isinstance(fault, WorkerDeath) and fault.waiting:
                    fault.note()  # it can't say so itself any more
        self.parts.rollout.hand_over()
        return self.report()

    def close(self) -> None:
        """Close the environments; what fails is among the problems."""
        if self._closed:
            return
        self._gather()
        self._closed = True
        try:
            self.parts.envs.close()
        except IsoscopeError as error:
            self.problems.append(one_line(error))
        # a cleanup that fails happens only now
        for order, places in self.parts.switch.happened().items():
            if places:
                self._happened[order] = places

    def report(self) -> Demo:
        """What was run so far; closes the environments."""
        self.close()
        settings, timing = self.settings, self.parts.task.timing
        taken = self.rounds * settings.envs
        rate = taken / self.seconds if self.seconds > 0 else None
        returns = self._returns
        solver, ledger = self._gathered
        return Demo(
            task=settings.task,
            envs=settings.envs,
            scene=settings.scene,
            device=self.device,
            precision=settings.precision,
            policy=settings.policy,
            seed=settings.seed,
            autoreset=settings.autoreset,
            workers=settings.workers,
            control_hz=timing.control_hz,
            simulation_hz=timing.simulation_hz,
            control_steps=self.rounds,
            seconds=self.seconds,
            control_steps_per_s=rate,
            native_steps_per_s=None if rate is None else rate * timing.substeps,
            episodes=returns.count,
            returns=returns,
            solver=solver,
            ledger=ledger,
            faults=[self._told(fault) for fault in self.faults],
            problems=self.problems,
            ended=self.ended or "stopped",
        )

    # -- helpers -----------------------------------------------------------------------

    def _rounds(self, progress: Progress | None) -> None:
        control_s = self.parts.task.timing.control_s
        while self.rounds < self.settings.steps:
            if not self._may_go_on():
                return
            begun = time.perf_counter()
            self.parts.rollout.round()
            took = time.perf_counter() - begun
            self.seconds += took
            self.rounds += 1
            if progress is not None and self.rounds % PROGRESS_EVERY == 0:
                progress(self.rounds, self.settings.steps)
            with self._wake:
                speed = self._speed
                rest_s = self.pacer.rest_s(None if speed is None else control_s / speed)
                if rest_s > 0 and not self._stopped:
                    self._wake.wait(rest_s)

    def _may_go_on(self) -> bool:
        """Wait while it is paused; whether another round is to be taken."""
        while True:
            self._put_due()
            with self._wake:
                if self._stopped:
                    return False
                if not self._paused:
                    return True
                self.pacer.begin_anew()
                if self._steps_wanted:
                    self._steps_wanted -= 1
                    return True
                if not self._due and not self._asked:
                    self._wake.wait()

    def _put_due(self) -> None:
        self._take_asked()
        while True:
            with self._wake:
                if not self._due:
                    return
                fault = self._due.popleft()
            self.faults.append(fault)
            rollout = self.parts.rollout
            rollout.stages = wrapped(rollout.stages, [fault])
            if self.settings.workers:
                for worker in range(self.settings.workers):
                    self.parts.envs.worker_call(worker, put_in_worker, fault)
            else:
                self.parts.switch.put(fault)

    def _take_asked(self) -> None:
        """Find the places of faults that are wanted as soon as can be."""
        while self._asked:
            name, env, told = self._asked.popleft()
            try:
                order = next_order(name, env, self.parts.rollout)
                self._due.append(self._made(order))
            except IsoscopeError as error:
                told("", one_line(error))
            else:
                told(str(order.place), "")

    @property
    def _returns(self) -> DemoReturns:
        source, told = self.parts.source, self.parts.rollout.returns
        total, least, most, count = told.total, told.least, told.most, told.count
        if isinstance(source, ResidentSource):
            total, least, most, count = self._resident_returns
        if not count:
            return DemoReturns(None, None, None, 0)
        return DemoReturns(total / count, least, most, count)

    _resident_returns: tuple[float, float, float, int] = (0.0, 0.0, 0.0, 0)

    def _gather(self) -> None:
        """Ask for what is known where the environments are, while they are there."""
        parts, workers = self.parts, self.settings.workers
        try:
            self._happened |= happened(parts, workers)
            self._gathered = (
                solver_of(parts, workers),
                ledger_of(parts, workers),
            )
            if isinstance(parts.source, ResidentSource):
                self._resident_returns = parts.source.returns()
        except VectorEnvError as error:
            self.problems.append(one_line(error))

    def _told(self, fault: Fault) -> DemoFault:
        places = list(fault.happened) or self._happened.get(str(fault.order), [])
        return DemoFault(
            name=fault.NAME,
            place=str(fault.place),
            happened=[str(place) for place in places],
            finds=list(fault.FINDS),
        )
