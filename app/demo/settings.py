"""What a demo is to run, checked before anything is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

# Three of these are looked up when settings are read from JSON.
from isoscope.core.envs.faults.fault import SceneKind  # noqa: TC001
from isoscope.core.envs.faults.order import FaultOrder  # noqa: TC001
from isoscope.core.envs.faults.registry import make_fault, refuse_unfit
from isoscope.core.envs.rollout.policies import POLICIES
from isoscope.core.envs.tasks.registry import make_task
from isoscope.core.errors import UsageError
from isoscope.core.scene import Precision  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.faults.fault import Fault, Need
    from isoscope.core.envs.task import Task

Autoreset = Literal["next_step", "same_step", "disabled"]
# by Gymnasium's own names
MODES: dict[str, str] = {
    "next_step": "NextStep",
    "same_step": "SameStep",
    "disabled": "Disabled",
}
WATCHED_ALL = 64  # resident environments whose rows are read without being asked for
# In turn a round of as many takes seconds; in a batch each takes some 10 kB of memory.
MOST_ENVS: dict[SceneKind, int] = {
    "shared": 10_000,
    "independent": 10_000,
    "resident": 2**20,
}
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """A demo.

    Attributes
    ----------
    steps
        Rounds: control steps of every environment.
    control_hz
        None: the task's own.
    workers
        Processes; 0 steps all environments in this one.
    task_settings
        Further fields of the task.
    integrator
        None: the one that the task was made for.
    watch
        Resident environments whose rows come to the host; None: all of up to 64,
        otherwise those that faults are about.
    frames
        Whether sensors are read even if no fault asks for it.
    """

    task: str = "CartPole"
    envs: int = 4
    scene: SceneKind = "shared"
    device: str = "auto"
    precision: Precision = "float64"
    steps: int = 200
    control_hz: int | None = None
    seed: int = 0
    policy: str = "random"
    workers: int = 0
    autoreset: Autoreset = "next_step"
    faults: tuple[FaultOrder, ...] = ()
    task_settings: dict[str, Any] = field(default_factory=dict)
    integrator: str | None = None
    watch: tuple[int, ...] | None = None
    frames: bool = False

    def make_task(self) -> Task:
        """The task with its settings.

        Raises
        ------
        UsageError
            For an unknown task or setting, or frequencies that don't divide.
        """
        settings = dict(self.task_settings)
        if self.control_hz is not None:
            settings["control_hz"] = self.control_hz
        task = make_task(self.task, **settings)
        _ = task.timing  # refuses frequencies that don't divide
        return task

    def check(self) -> None:
        """Refuse numbers that can't be, in one line.

        Raises
        ------
        UsageError
        """
        problem = ""
        if self.envs < 1:
            problem = f"{self.envs} environments; give 1 or more"
        elif self.envs > MOST_ENVS[self.scene]:
            problem = (
                f"{self.envs} environments with --scene {self.scene}; give "
                f"{MOST_ENVS[self.scene]} or fewer"
            )
            if self.envs <= MOST_ENVS["resident"]:
                problem += ", or take --scene resident"
        elif self.workers > MOST_WORKERS:
            problem = f"{self.workers} workers; give {MOST_WORKERS} or fewer"
        elif self.steps < 1:
            problem = f"{self.steps} steps; give 1 or more"
        elif self.seed < 0:
            problem = f"the seed {self.seed}; give 0 or more"
        elif self.policy not in POLICIES:
            problem = f"no policy {self.policy!r}; there are {', '.join(POLICIES)}"
        elif self.autoreset not in MODES:
            problem = f"no autoreset {self.autoreset!r}; there are {', '.join(MODES)}"
        elif self.workers and self.scene == "resident":
            problem = "workers and a resident scene; a batch on the device has none"
        elif self.workers < 0 or (self.workers and self.envs % self.workers):
            problem = (
                f"{self.envs} environments in {self.workers} workers; give a number of "
                "workers that divides them"
            )
        if problem:
            raise UsageError(f"setting up a demo: {problem}")

    def has(self) -> set[Need]:
        """What a fault may need and this run has; sensors are read where asked for."""
        found: set[Need] = {"frames", "profile"}
        if self.workers:
            found.add("workers")
        if self.envs // max(self.workers, 1) > 1:
            found.add("others")
        if self.policy == "smooth":
            found.add("policy-state")
        return found

    def make_faults(self) -> list[Fault]:
        """The faults that were ordered.

        Raises
        ------
        UsageError
            For an unknown one, or one that this run can't show.
        """
        return [self.make_fault(order) for order in self.faults]

    def make_fault(self, order: FaultOrder) -> Fault:
        """One fault, if this run can show it."""
        fault = make_fault(order)
        refuse_unfit(
            fault,
            envs=self.envs,
            scene=self.scene,
            mode=self.autoreset,
            has=self.has(),
        )
        return fault

    def watched(self, faults: Sequence[Fault]) -> tuple[int, ...]:
        """Resident environments to read back."""
        if self.watch is not None:
            return self.watch
        if self.envs <= WATCHED_ALL:
            return tuple(range(self.envs))
        return tuple(sorted({fault.place.env for fault in faults}))
