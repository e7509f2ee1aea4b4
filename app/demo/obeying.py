"""What windows ask of a demo is done, and how it stands is told to them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.faults.fault import RunFault
from isoscope.core.envs.faults.registry import all_faults, refuse_unfit
from isoscope.core.envs.faults.storing import RolloutFault
from isoscope.core.errors import IsoscopeError, UsageError, one_line

if TYPE_CHECKING:
    from isoscope.app.demo.run import DemoRun
    from isoscope.core.envs.faults.fault import Fault
    from isoscope.core.tap.session import Command, TapSession

LOOK_S = 0.01
TELL_S = 0.5
ALLOWED = ("pause", "resume", "step", "speed", "fault", "stop")


class Obeying:
    """A thread that takes a session's commands to a run.

    Parameters
    ----------
    speed
        That it begins with; None for as fast as can be.
    """

    def __init__(self, run: DemoRun, session: TapSession, speed: float | None) -> None:
        self._run, self._session = run, session
        self._speed = speed
        self._over = threading.Event()
        self._told: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._work, name="obey", daemon=True)

    def start(self) -> None:
        """Say what is allowed, and begin."""
        self._session.allow(*ALLOWED)
        self._session.tell(faults=possible_faults(self._run))
        self._tell()
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        told_at = 0.0
        while not self._over.wait(LOOK_S):
            for command in self._session.commands():
                self._obey(command)
                told_at = 0.0
            now = time.monotonic()
            if now - told_at > TELL_S:
                told_at = now
                self._tell()

    def _obey(self, command: Command) -> None:
        try:
            self._do(command)
        except (IsoscopeError, ValueError, TypeError) as error:
            command.refused(one_line(error))

    def _do(self, command: Command) -> None:
        run, given = self._run, command.arguments
        match command.what:
            case "pause":
                if given.get("snapshot"):  # each environment's, by one more round
                    self._session.ask_snapshots()
                    run.step(1)
                else:
                    run.pause()
            case "resume":
                run.resume()
            case "step":
                run.step(int(given.get("rounds", 1)))
            case "speed":
                speed = given.get("speed")
                run.set_speed(None if speed is None else float(speed))
                self._speed = None if speed is None else float(speed)
            case "fault":
                self._put(command)
                return
            case "stop":
                run.stop()
            case other:
                raise UsageError(f"there is no command {other!r}")
        command.done()

    def _put(self, command: Command) -> None:
        name, env = str(command.arguments.get("name")), command.arguments.get("env")
        if not isinstance(env, int) or isinstance(env, bool):
            raise UsageError(f"putting {name} in: {env!r} is no environment's number")

        def told(place: str, why: str) -> None:
            if why:
                command.refused(why)
            else:
                command.done(f"{name} comes at {place}")

        self._run.put_next(name, env, told)

    def _tell(self) -> None:
        run = self._run
        control_hz = run.parts.task.timing.control_hz
        paced = None if self._speed is None else self._speed * control_hz
        achieved = run.pacer.rate_hz
        state = {
            "paused": run.state == "paused",
            "speed": self._speed,
            "paced_hz": paced,
            "achieved_hz": None if achieved is None else round(achieved, 2),
            "rounds": run.rounds,
            "at_s": time.monotonic(),
        }
        still = ("paused", "speed", "rounds")
        if any(state[name] != self._told.get(name) for name in still):
            self._told = state
            self._session.tell(**state)


def possible_faults(run: DemoRun) -> list[dict[str, Any]]:
    """The faults that can be put into this run while it goes on."""
    return [
        {"name": kind.NAME, "about": kind.ABOUT, "finds": list(kind.FINDS)}
        for kind in all_faults().values()
        if _fits(kind, run)
    ]


def _fits(kind: type[Fault], run: DemoRun) -> bool:
    settings, options = run.settings, run.parts.rollout.options
    if issubclass(kind, RunFault) or kind.WHEN == "start":
        return False
    if issubclass(kind, RolloutFault) and kind.FIELDS:
        return False
    if "frames" in kind.NEEDS and not options.frames:
        return False
    from isoscope.core.envs.faults.order import FaultOrder, Place

    order = FaultOrder(kind.NAME, Place(0, 1, 0 if kind.WHEN == "reset" else 1))
    try:
        refuse_unfit(
            kind(order),
            envs=settings.envs,
            scene=settings.scene,
            mode=settings.autoreset,
            has=settings.has(),
        )
    except UsageError:
        return False
    return True
