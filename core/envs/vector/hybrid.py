"""A Gymnasium vector environment of P spawned workers with K environments each.

Environment g = p·K + j is the j-th in the turn of worker p. With no workers all are
stepped in this process, by the same code. Nothing here knows what the environments are
or who wraps them: what wants to see inside goes around the factories.
"""

from __future__ import annotations

from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from isoscope.core.envs.profiling import Profiler
from isoscope.core.envs.vector.arguments import (
    RESETTING,
    check_arguments,
    mode_of,
    reset_mask,
)
from isoscope.core.envs.vector.crew import (
    CLOSE_S,
    STEP_REQUEST,
    Crew,
    InProcess,
    Request,
    WorkerInfo,
)
from isoscope.core.envs.vector.errors import VectorEnvError, listed
from isoscope.core.envs.vector.factories import probe
from isoscope.core.envs.vector.infos import merged
from isoscope.core.envs.vector.layout import copied, read_row, tree_of, write_all
from isoscope.core.envs.vector.memory import Memory, MemorySpec
from isoscope.core.envs.vector.pool import WorkerPool
from isoscope.core.envs.vector.process import refuse_while_importing
from isoscope.core.envs.vector.seeds import Seed, SeedExpansion, expanded
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gymnasium import Space

    from isoscope.core.envs.vector.factories import Factory
    from isoscope.core.envs.vector.infos import Infos

Array = np.ndarray[Any, Any]
Step = tuple[Any, Array, Array, Array, "Infos"]
STEPPING = "stepping the environments"


class HybridVectorEnv(VectorEnv[Any, Any, Array]):
    """N environments in P worker processes of K, or all in this process.

    What `step` and `reset` return is owned by the caller: nothing writes into it later.
    Infos are as in `infos`. Not for several threads at once.

    Parameters
    ----------
    env_fns
        N factories: callables without arguments, or
        :class:`~isoscope.core.envs.vector.factories.IndexedFactory`. For workers they
        have to be picklable.
    workers
        P; divides N. 0: all in this process, in turn.
    autoreset_mode
        As Gymnasium's: who resets an environment whose episode ended, and when.
    spaces
        The observation and action space of a single environment. Without it the first
        factory runs once more, here, to look at the spaces; that environment is closed
        again and never reset or stepped.
    seed_expansion
        ``"twice"`` seeds as SuperDex Lab 1.0.0 does, see `seeds.expanded`; for
        diagnosis only.
    threads_per_worker
        Threads that each worker's libraries may take (OMP_NUM_THREADS and its kind, set
        before the worker starts); None: as they like.
    timeout_s
        How long a worker may take for one answer, [s], also for making its
        environments; None: as long as it likes. Without workers there is no limit.

    Attributes
    ----------
    autoreset_mode
        The constructor's argument; also in `metadata`, which is this object's own.
    worker_info
        Who runs which environments.

    Raises
    ------
    VectorEnvError
        If arguments don't fit, or a space is not supported (`layout` has the list).
    EnvironmentFailedError
        If an environment can't be made.
    WorkerDiedError, WorkerTimeoutError
        If a worker died, or gave no answer, while they were made.
    """

    _crew: Crew | None = None
    _finalizer: Finalize | None = None

    def __init__(
        self,
        env_fns: Sequence[Factory],
        *,
        workers: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        spaces: tuple[Space[Any], Space[Any]] | None = None,
        seed_expansion: SeedExpansion = "once",
        threads_per_worker: int | None = None,
        timeout_s: float | None = 300.0,
    ) -> None:
        super().__init__()
        env_fns = tuple(env_fns)
        self.env_fns = env_fns  # as Gymnasium's have them
        if workers:
            refuse_while_importing()
        check_arguments(
            len(env_fns), workers, seed_expansion, threads_per_worker, timeout_s
        )
        self.autoreset_mode = mode_of(autoreset_mode)
        self.num_envs = len(env_fns)
        self.seed_expansion = seed_expansion
        self._per_worker = self.num_envs // max(workers, 1)
        if spaces is None:
            looks = probe(env_fns[0])
            spaces = looks.observation_space, looks.action_space
        observation_space, action_space = spaces
        spec = MemorySpec(
            tree_of(action_space, "action"),
            tree_of(observation_space, "observation"),
            self.num_envs,
            workers,
        )
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, self.num_envs)
        self.action_space = batch_space(action_space, self.num_envs)
        self._crew = (
            WorkerPool(
                env_fns,
                workers,
                self.autoreset_mode,
                spec,
                spaces,
                threads=threads_per_worker,
                timeout_s=timeout_s,
            )
            if workers
            else InProcess(env_fns, self.autoreset_mode, spec, spaces)
        )
        # closed also when nobody does: before the interpreter ends its children
        self._finalizer = Finalize(self, self._crew.close, exitpriority=10)
        self.metadata = dict(self._crew.metadata or {})
        self.metadata["autoreset_mode"] = self.autoreset_mode
        self.render_mode = self._crew.render_mode
        self._workers = tuple(self._crew.workers)
        self._seeds: list[Seed] = [None] * self.num_envs
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        self._begun = np.zeros(self.num_envs, dtype=np.bool_)
        self._in_doubt = False
        self.profiler = Profiler(())

    @property
    def worker_info(self) -> tuple[WorkerInfo, ...]:
        """Who runs which environments; where all run in this process, one entry.

        It stays as it was when they are closed.
        """
        return self._workers

    @property
    def lane_seeds(self) -> tuple[Seed, ...]:
        """The seed that each environment's generator last began with; None: none."""
        return tuple(self._seeds)

    def reset(
        self,
        *,
        seed: Any = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, Infos]:
        """Reset all environments, or those of a mask.

        Parameters
        ----------
        seed
            An integer s (environment g gets s + g), N integers or None, or None.
        options
            Given to every environment without ``reset_mask``: bool [N], which to reset;
            the others keep their observation. The dict itself is left as it is.

        Raises
        ------
        VectorEnvError
            If seed or mask don't fit, or an environment was never reset.
        EnvironmentFailedError
            If one raised. Reset all of them then.
        WorkerDiedError, WorkerTimeoutError
            See the class; the vector environment is closed then.
        """
        crew = self._open(RESETTING)
        seeds = expanded(seed, self.num_envs, self._per_worker, self.seed_expansion)
        mask, options = reset_mask(self.num_envs, options)
        if self._in_doubt and not mask.all():
            raise VectorEnvError(
                f"{RESETTING}: the last request failed or was interrupted half-way; "
                "reset all of them, without a mask"
            )
        if not (self._begun | mask).all():
            raise VectorEnvError(
                f"{RESETTING}: {listed(np.flatnonzero(~self._begun))} were never "
                "reset; reset all of them once, without a mask"
            )
        requests: list[Request] = [
            ("reset", (seeds[rows], options, mask[rows].tolist()))
            if mask[rows].any()
            else None
            for rows in self._parts()
        ]
        answers = self._asked(crew, RESETTING, requests)
        for g in np.flatnonzero(mask):
            if seeds[g] is not None:
                self._seeds[g] = seeds[g]
        self._ended &= ~mask
        self._begun |= mask
        memory = _memory(crew)
        return copied(memory.observations), self._infos(memory, answers, mask)

    def step(self, actions: Any) -> Step:
        """Take an action in every environment.

        Parameters
        ----------
        actions
            As the action space has it, with the exact batch shape.

        Returns
        -------
        tuple
            Observations; rewards float64 [N]; terminated and truncated bool [N]; infos.

        Raises
        ------
        VectorEnvError
            If the actions don't fit, the environments were not reset, or (DISABLED) an
            environment whose episode ended was not.
        EnvironmentFailedError
            If one raised. The others of its worker that come after it were not stepped,
            so nothing is known of this step: reset all, or close.
        WorkerDiedError, WorkerTimeoutError
            See the class; the vector environment is closed then.
        """
        with self.profiler.whole("step"):
            return self._step(self._open(STEPPING), actions)

    def _step(self, crew: Crew, actions: Any) -> Step:
        part = self.profiler.part
        self._check_can_step()
        memory = _memory(crew)
        with part("convert"):
            try:
                write_all(memory.actions, actions)
            except (TypeError, ValueError) as error:
                raise VectorEnvError(
                    f"{STEPPING}: the actions don't fit: {one_line(error)}"
                ) from None
        with part("wait"):
            answers = self._asked(crew, STEPPING, [STEP_REQUEST] * len(crew.workers))
        with part("convert"):
            terminated, truncated = memory.terminated.copy(), memory.truncated.copy()
            self._ended = terminated | truncated
            every = np.ones(self.num_envs, dtype=np.bool_)
            return (
                copied(memory.observations),
                memory.rewards.copy(),
                terminated,
                truncated,
                self._infos(memory, answers, every),
            )

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute; gives N results."""
        return self.lane_call(range(self.num_envs), name, *args, **kwargs)

    def lane_call(
        self, lanes: Sequence[int], name: str, *args: Any, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Call a method of some environments, or read an attribute.

        Parameters
        ----------
        lanes
            Global indices; one result for each, in their order.
        name
            Looked for from the outermost wrapper inward.
        *args, **kwargs
            For the method.
        """
        doing = f"calling {name}"
        crew = self._open(doing)
        for g in lanes:
            if not 0 <= g < self.num_envs:
                raise VectorEnvError(
                    f"{doing}: there is no environment {g}; there are {self.num_envs}"
                )
        wanted = [
            [g for g in dict.fromkeys(lanes) if rows.start <= g < rows.stop]
            for rows in self._parts()
        ]
        requests: list[Request] = [
            ("call", ([g - rows.start for g in part], name, args, kwargs))
            if part
            else None
            for part, rows in zip(wanted, self._parts(), strict=True)
        ]
        answers = self._ask(crew, doing, requests)
        found = {
            g: value
            for part, answer in zip(wanted, answers, strict=True)
            for g, value in zip(part, answer or (), strict=True)
        }
        return tuple(found[g] for g in lanes)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment.

        Parameters
        ----------
        name
            Of a wrapper that has it, else of the base environment.
        values
            A list or tuple of N: each its own. Anything else: the same for all.
        """
        doing = f"setting {name}"
        crew = self._open(doing)
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise VectorEnvError(
                f"{doing}: there are {len(values)} values and {self.num_envs} "
                "environments; give one for each, or one that is no list"
            )
        self._ask(
            crew,
            doing,
            [("set_attr", (name, list(values[rows]))) for rows in self._parts()],
        )

    def worker_call(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function beside a worker's environments; for diagnosis.

        Parameters
        ----------
        worker
            p.
        function
            Called with the list of the worker's K environments and `args`; with workers
            it has to be a function of a module.
        *args
            For it.
        """
        doing = f"calling {getattr(function, '__name__', 'a function')}"
        crew = self._open(doing)
        if not 0 <= worker < len(crew.workers):
            raise VectorEnvError(
                f"{doing}: there is no worker {worker}; there are {len(crew.workers)}"
            )
        requests: list[Request] = [None] * len(crew.workers)
        requests[worker] = ("run", (function, args))
        return self._ask(crew, doing, requests)[worker]

    def render(self) -> tuple[Any, ...]:
        """Render every environment."""
        return self.call("render")

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """The environments' generators; with workers, copies of them."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the environments' generators, as they say themselves."""
        return self.get_attr("np_random_seed")

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment, then every worker, then the shared memory.

        Parameters
        ----------
        **kwargs
            ``timeout``: how long the environments may take, [s]. ``terminate``: end the
            workers at once; their environments are then not closed.

        Raises
        ------
        VectorEnvError
            If an environment could not be closed; everything else is closed then.
        """
        crew, self._crew = self._crew, None
        if self._finalizer is not None:
            self._finalizer.cancel()
        if crew is None:
            return
        self.closed = True
        timeout = kwargs.get("timeout")
        failures = crew.close(
            CLOSE_S if timeout is None else float(timeout),
            at_once=bool(kwargs.get("terminate", False)),
        )
        self._why_closed = crew.lost
        if failures:
            raise VectorEnvError(
                f"closing the environments: {'; '.join(failures)}; the others are "
                "closed"
            )

    _why_closed: Exception | None = None

    def __del__(self) -> None:
        # Gymnasium closes here in some versions; an error would have nowhere to go
        finalizer = self._finalizer
        if finalizer is not None and finalizer.still_active():
            finalizer()

    def _open(self, doing: str) -> Crew:
        if self._crew is None:
            why = f" ({one_line(self._why_closed)})" if self._why_closed else ""
            raise VectorEnvError(f"{doing}: the vector environment is closed{why}")
        return self._crew

    def _asked(self, crew: Crew, doing: str, requests: Sequence[Request]) -> list[Any]:
        """Ask; until all have answered well, nothing is known of the environments."""
        before, self._in_doubt = self._in_doubt, True
        try:
            answers = self._ask(crew, doing, requests)
        except VectorEnvError as error:
            if type(error) is VectorEnvError:  # refused before anybody was asked
                self._in_doubt = before
            raise
        self._in_doubt = False
        return answers

    def _ask(self, crew: Crew, doing: str, requests: Sequence[Request]) -> list[Any]:
        try:
            return crew.ask(doing, requests)
        except BaseException:
            if crew.lost is not None:
                self.close()
            raise

    def _check_can_step(self) -> None:
        if self._in_doubt:
            raise VectorEnvError(
                f"{STEPPING}: the last request failed or was interrupted half-way, so "
                "nothing is known of the environments; reset them"
            )
        if not self._begun.all():
            raise VectorEnvError(f"{STEPPING}: they were not reset; reset them")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise VectorEnvError(
                f"{STEPPING}: {listed(np.flatnonzero(self._ended))} ended and nobody "
                "reset them; reset(options={'reset_mask': terminated | truncated})"
            )

    def _parts(self) -> Iterator[slice]:
        for first in range(0, self.num_envs, self._per_worker):
            yield slice(first, first + self._per_worker)

    def _infos(self, memory: Memory, answers: list[Any], mask: Array) -> Infos:
        if not memory.has_final.any() and not any(answers):
            return {}
        entries: list[tuple[int, dict[str, Any]]] = []
        for answer, rows in zip(answers, self._parts(), strict=True):
            for lane in range(self._per_worker):
                g = rows.start + lane
                info, final = answer[lane] if answer else ({}, None)
                if mask[g] and memory.has_final[g]:
                    last = read_row(memory.finals, g)
                    entries.append((g, {"final_obs": last, "final_info": final or {}}))
                entries.append((g, info))
        return merged(entries, self.num_envs)


def _memory(crew: Crew) -> Memory:
    return cast("Memory", crew.memory)
