"""Puts a fault into a demo at a place drawn by chance, records it, and audits that."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.app.demo.recording import DemoRecorder
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.replaying import make_builtin
from isoscope.core.attribution.attributor import attribute
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.envs.manager import context
from isoscope.core.envs.tasks.registry import TASKS
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.registry import load
from isoscope.core.replay.alone import SteppedAgain

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.demo import Demo
    from isoscope.core.isolation.findings import Audit

LONGEST = 5  # control steps of an episode
LAST = 3  # the last episode in which a fault is put
SPARE = 2  # episodes after it, for what shows late
POLICIES = ["random", "smooth"]
QUICK_TASKS = ("CartPole", "CartPoleLab", "DoublePendulumRail")


@dataclass(frozen=True)
class Scattered:
    """One fault somewhere, and what came of it."""

    name: str
    settings: DemoSettings
    demo: Demo
    said: Audit

    @property
    def happened(self) -> list[tuple[int, int, int]]:
        """Environment, episode, control step of where it did."""
        told = self.demo.faults[0].happened
        return [
            tuple(int(n) for n in place.replace("/", ":").split(":"))  # type: ignore[misc]
            for place in told
        ]


def settings_at(name: str, number: int, *, quick: bool = False) -> DemoSettings:
    """A demo with the fault somewhere: the same one each time for one number."""
    kind = all_faults()[name]
    drawn = np.random.default_rng([number, *name.encode()])

    def one_of(choices: Any) -> Any:
        return choices[int(drawn.integers(len(choices)))]

    workers = 2 if "workers" in kind.NEEDS else 0
    envs = int(drawn.integers(2, 6 if quick else 17))
    if workers:
        envs = max(4, envs + envs % 2)
    env = int(drawn.integers(envs))
    episode, k = int(drawn.integers(1, LAST + 1)), int(drawn.integers(1, LONGEST + 1))
    if kind.WHEN == "start":
        episode, k = 1, 0
    elif kind.WHEN == "reset":
        k = 0
    return DemoSettings(
        task=one_of(QUICK_TASKS if quick else sorted(TASKS)),
        envs=envs,
        scene=one_of(kind.SCENES),
        autoreset=one_of(kind.MODES),
        policy=one_of(["smooth"] if "policy-state" in kind.NEEDS else POLICIES),
        precision=one_of(["float64", "float64", "float32"]),
        workers=workers,
        device="cpu",
        seed=int(drawn.integers(1000)),
        steps=(LAST + SPARE) * (LONGEST + 1),
        frames="frames" in kind.NEEDS,
        task_settings={"max_steps": LONGEST},
        faults=(FaultOrder(name, Place(env, episode, k)),),
    )


def scattered(folder: Path, settings: DemoSettings) -> Scattered:
    """Run it, and audit its recording as the command does."""
    torch.set_num_threads(1)
    context._managers.clear()
    file = folder / "run.isoscope.h5"
    recorder = DemoRecorder(settings, file)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        run = stack.enter_context(DemoRun(settings, recorder.around))
        recorder.listen(run)
        demo = run.run()
    recording = load(file)
    examined = Examined(recording, attribute(recording))
    with SteppedAgain(examined, make_builtin) as again:
        said = audit(Context(examined, resimulator=again))
    return Scattered(settings.faults[0].name, settings, demo, said)
