"""What a collecting run is: its sizes, and the configuration the collector reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import gcd, lcm
from typing import Any

from isoscope.core.collection.errors import CollectionError
from isoscope.core.trajectory.plan import TrajectoryMode

MOST_CHUNKS = 64  # of a training step, where nobody says how many
FEWEST_CHUNKS = 8  # a run that can't be divided into so many is one training step
MOST_IN_MICRO_BATCH = 256
MOST = 1 << 16  # environments; more are a slip of the finger


class Runner(StrEnum):
    """How environments and policy keep step.

    Attributes
    ----------
    SYNC
        In turn; the next training step begins when the last one's outputs were taken.
    ASYNC
        Every source by itself, each request answered as it comes.
    DECOUPLED
        Every source by itself, waiting requests answered together.
    """

    SYNC = "sync"
    ASYNC = "async"
    DECOUPLED = "decoupled"


class PolicyName(StrEnum):
    """The policies that come with the program."""

    RANDOM = "random"
    LINEAR = "linear"
    MLP = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings:
    """A collecting run.

    Attributes
    ----------
    env
        A Gymnasium environment's id, such as ``"CartPole-v1"``.
    envs
        Environments over all workers, N.
    chunk
        Actions in a chunk, C.
    steps
        Control steps of every environment.
    mode
        What comes out.
    runner
        How environments and policy keep step.
    policy
        What acts.
    workers
        Sources that the environments are divided among.
    actors
        Who takes what comes out.
    horizon
        Control steps of a rollout epoch; None for as many as divide the run evenly.
    epochs
        Rollout epochs in a training step, E.
    micro_batch
        Rows of a micro-batch in pipeline mode; None for as many as divide evenly.
    auto_reset
        Whether environments go on with new episodes inside an epoch.
    transitions
        Whether the observations before and after each chunk are kept.
    gamma, gae_lambda
        Of returns and advantages.
    task
        The task's text; the environment's id where it is empty.
    seed
        Of environments, weights and chance.
    weights
        A checkpoint's file, whose weights the actor-critic begins with.

    Raises
    ------
    CollectionError
        If a size can't be, or doesn't divide what it has to.
    """

    env: str
    envs: int = 8
    chunk: int = 4
    steps: int = 256
    mode: TrajectoryMode = TrajectoryMode.ROLLOUT
    runner: Runner = Runner.SYNC
    policy: PolicyName = PolicyName.MLP
    workers: int = 1
    actors: int = 1
    horizon: int | None = None
    epochs: int = 1
    micro_batch: int | None = None
    auto_reset: bool = True
    transitions: bool = False
    gamma: float = 0.99
    gae_lambda: float = 0.95
    task: str = ""
    seed: int = 0
    weights: str = ""

    def __post_init__(self) -> None:
        for name in (
            *("envs", "chunk", "steps", "workers", "actors", "epochs"),
            *(("micro_batch",) if self.micro_batch is not None else ()),
        ):
            if getattr(self, name) < 1:
                self._refuse(f"{name} is {getattr(self, name)}; give 1 or more")
        for name in ("envs", "workers", "actors"):
            if getattr(self, name) > MOST:
                self._refuse(
                    f"{name} is {getattr(self, name):,}; give {MOST:,} or fewer"
                )
        if self.weights and self.policy is not PolicyName.MLP:
            self._refuse(f"the policy {self.policy} takes no weights; take mlp")
        if self.seed < 0:
            self._refuse(f"seed is {self.seed}; give 0 or more")
        if self.steps % (self.chunk * self.epochs):
            whole = self.chunk * self.epochs
            below = self.steps // whole * whole
            near = " or ".join(str(n) for n in (below, below + whole) if n)
            self._refuse(
                f"{self.steps} steps are not whole chunks of {self.chunk}"
                + (f" in {self.epochs} epochs" if self.epochs > 1 else "")
                + f"; give {near}"
            )
        if self.envs % self.workers:
            self._refuse(
                f"{self.envs} environments can't be divided among {self.workers} "
                f"workers; give a multiple of {self.workers}"
            )
        if self.horizon is not None:
            if self.horizon < 1 or self.horizon % self.chunk:
                self._refuse(
                    f"a horizon of {self.horizon} control steps is not whole chunks of "
                    f"{self.chunk}"
                )
            if self.steps % (self.horizon * self.epochs):
                self._refuse(
                    f"{self.steps} steps are not whole training steps of "
                    f"{self.horizon * self.epochs}; change steps or horizon"
                )
        if self.mode is TrajectoryMode.PIPELINE:
            self._check_pipeline()
        shards = lcm(self.workers, self.actors) // self.workers
        if self.mode is TrajectoryMode.ROLLOUT and self.envs_per_worker % shards:
            self._refuse(
                f"{self.envs_per_worker} environments of a worker can't be cut into "
                f"{shards} equal shards for {self.actors} actors; give a multiple of "
                f"{shards * self.workers} environments"
            )

    def _check_pipeline(self) -> None:
        if self.runner is Runner.DECOUPLED:
            self._refuse(
                "pipeline mode does not support the decoupled runner, whose last "
                "chunk of an epoch comes with the next one; take sync or async"
            )
        if self.policy is not PolicyName.MLP:
            self._refuse(
                f"pipeline mode computes advantages from values, which the policy "
                f"{self.policy} has not; take mlp, or another mode"
            )
        if self.envs % self.actors:
            self._refuse(
                f"{self.envs} environments can't be divided among {self.actors} "
                f"actors; give a multiple of {self.actors}"
            )
        rows = self._rows_of_a_shard()
        if self.micro_batch is not None and rows % self.micro_batch:
            self._refuse(
                f"micro batches of {self.micro_batch} rows don't divide the {rows} "
                f"(chunks times environments) that an actor gets at a time; give a "
                f"divisor of {rows}"
            )

    def _refuse(self, problem: str) -> None:
        raise CollectionError(f"setting up a collecting run: {problem}")

    @property
    def chunks(self) -> int:
        """Chunks of a rollout epoch."""
        if self.horizon is not None:
            return self.horizon // self.chunk
        total = self.steps // self.chunk // self.epochs
        even = max(n for n in range(1, min(total, MOST_CHUNKS) + 1) if total % n == 0)
        return even if even >= min(total, FEWEST_CHUNKS) else total

    @property
    def training_steps(self) -> int:
        """Training steps of the run."""
        return self.steps // (self.chunks * self.chunk * self.epochs)

    @property
    def envs_per_worker(self) -> int:
        """Environments of one source."""
        return self.envs // self.workers

    @property
    def micro_batch_rows(self) -> int:
        """Rows of a micro-batch."""
        if self.micro_batch is not None:
            return self.micro_batch
        rows = self._rows_of_a_shard()
        most = min(rows, MOST_IN_MICRO_BATCH)
        return max(n for n in range(1, most + 1) if rows % n == 0)

    @property
    def outputs_per_step(self) -> int:
        """Items that come out of a training step, for all actors together."""
        if self.mode is TrajectoryMode.PIPELINE:
            rows = self.envs * self.chunks * self.epochs
            return rows // self.micro_batch_rows
        return lcm(self.workers, self.actors)

    @property
    def wants_values(self) -> bool:
        """Whether the policy is asked what states are worth."""
        return self.policy is PolicyName.MLP and self.mode is not TrajectoryMode.LEROBOT

    def cfg(self, action_dim: int, max_episode_steps: int | None) -> dict[str, Any]:
        """The collector's configuration: section 1.13 of the trajectory contract.

        Parameters
        ----------
        action_dim
            Numbers in one action, A.
        max_episode_steps
            Control steps of the longest episode; None if there is no such limit.
        """
        return {
            "env": {
                "train": {
                    "total_num_envs": self.envs,
                    "max_episode_steps": max_episode_steps or self.steps,
                    "max_steps_per_rollout_epoch": self.chunks * self.chunk,
                    "rollout_epoch": self.epochs,
                    "auto_reset": self.auto_reset,
                    "ignore_terminations": False,
                }
            },
            "rollout": {
                "pipeline_stage_num": 1,
                "collect_prev_infos": True,
                "collect_transitions": self.transitions,
            },
            "actor": {
                "model": {
                    "num_action_chunks": self.chunk,
                    "action_dim": action_dim,
                },
                "micro_batch_size": self.micro_batch_rows,
                "seed": self.seed,
            },
            "algorithm": {
                "adv_type": "gae",
                "reward_type": "chunk_level",
                "bootstrap_type": "standard",
                "gamma": self.gamma,
                "gae_lambda": self.gae_lambda,
                "group_size": 1,
                "dagger": {
                    "online_lerobot": {"enabled": self.mode is TrajectoryMode.LEROBOT}
                },
            },
            "reward": {"env_reward_weight": 1.0, "reward_weight": 1.0},
            "runner": {
                "use_training_pipeline": self.mode is TrajectoryMode.PIPELINE,
                "enable_decoupled_mode": self.runner is Runner.DECOUPLED,
                "task_type": "embodied",
            },
        }

    def _rows_of_a_shard(self) -> int:
        """The greatest number of rows that divides every shard of an epoch."""
        return _overlap(self.envs, self.workers, self.actors) * self.chunks


def _overlap(envs: int, workers: int, actors: int) -> int:
    """The greatest size that divides every piece of a source that goes to an actor."""
    cuts = {envs * at // workers for at in range(workers + 1)}
    cuts |= {envs * at // actors for at in range(actors + 1)}
    ordered = sorted(cuts)
    return gcd(*(b - a for a, b in pairwise(ordered)))
