"""P spawned workers of K environments: asking them, losing one, closing them all."""

from __future__ import annotations

import os
import pickle
import selectors
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.vector.crew import (
    CLOSE_S,
    STEP_REQUEST,
    Request,
    WorkerInfo,
    failed,
)
from isoscope.core.envs.vector.errors import (
    VectorEnvError,
    WorkerDiedError,
    WorkerLostError,
    WorkerTimeoutError,
    listed,
)
from isoscope.core.envs.vector.factories import EnvIndex, packed
from isoscope.core.envs.vector.memory import IDLE, Block, Memory, new_block
from isoscope.core.envs.vector.process import (
    GUARD,
    NO_GUARD_STATUS,
    WorkerProcess,
    received,
    telling,
)
from isoscope.core.envs.vector.worker import (
    FAILURE,
    NOTHING,
    STEP,
    Failure,
    Hello,
    Setup,
)
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gymnasium.vector import AutoresetMode

    from isoscope.core.envs.vector.factories import Factory
    from isoscope.core.envs.vector.memory import MemorySpec

TICK_S = 1.0  # how often to look whether a silent worker is still there


class WorkerPool:
    """P spawned workers of K lanes.

    Parameters
    ----------
    factories
        N of them.
    count
        P; divides N.
    mode, spec, spaces
        How they reset, what the batch's memory holds, and the single spaces.
    threads
        For each worker's libraries; None: as they like.
    timeout_s
        For one answer; None: no limit.
    """

    def __init__(
        self,
        factories: Sequence[Factory],
        count: int,
        mode: AutoresetMode,
        spec: MemorySpec,
        spaces: tuple[Any, Any],
        *,
        threads: int | None,
        timeout_s: float | None,
    ) -> None:
        self.memory: Memory | None = None
        self.lost: WorkerLostError | None = None
        self._owner = os.getpid()
        self._timeout_s = timeout_s
        self._selector = selectors.DefaultSelector()
        self._processes: list[WorkerProcess] = []
        per_worker = len(factories) // count
        parts = [range(p * per_worker, (p + 1) * per_worker) for p in range(count)]
        pickled = [packed([factories[g] for g in rows]) for rows in parts]
        self._block: Block | None = new_block(spec.nbytes)
        self._linked = True
        try:
            self.memory = Memory.over(spec, self._block.bytes)
            self.memory.at[:, 0] = IDLE
            for number, rows in enumerate(parts):
                self._start(number, rows, threads)
            setups = [
                Setup(
                    number,
                    tuple(EnvIndex(number, j, g) for j, g in enumerate(rows)),
                    mode,
                    self._block.name,
                    spec,
                    pickled[number],
                    spaces,
                )
                for number, rows in enumerate(parts)
            ]
            hellos: list[Hello] = self._exchange(
                "making the environments", [pickle.dumps(setup) for setup in setups]
            )
        except BaseException as error:
            self.close(at_once=not isinstance(error, VectorEnvError))
            raise
        self._block.unlink()  # all have it; nothing is left whoever dies from now on
        self._linked = False
        self.metadata = hellos[0].metadata
        self.render_mode = hellos[0].render_mode
        self.workers = [
            WorkerInfo(number, hello.pid, tuple(parts[number]), hello.threads)
            for number, hello in enumerate(hellos)
        ]

    def ask(self, doing: str, requests: Sequence[Request]) -> list[Any]:
        """Ask the workers.

        Raises
        ------
        EnvironmentFailedError
            If one raised. All have answered then.
        WorkerLostError
            If one died or did not answer in time. All are closed then.
        """
        messages = [
            request
            if request is None
            else STEP
            if request is STEP_REQUEST
            else _packed_request(doing, request)
            for request in requests
        ]
        return self._exchange(doing, messages)

    def close(self, timeout_s: float = CLOSE_S, *, at_once: bool = False) -> list[str]:
        """Close every environment and end every worker."""
        if os.getpid() != self._owner or self._block is None:
            return []
        before = [process for process in self._processes if process.gone]
        failures = [] if at_once else self._close_environments(timeout_s)
        for process in self._processes:
            died = process.gone and process.owed and process not in before
            process.end(0.0 if process.owed or at_once else timeout_s)
            if died:
                failures.append(process.described(self._lane(process)))
        self._selector.close()
        self.memory = None
        block, self._block = self._block, None
        if self._linked:
            block.unlink()
        block.close()
        return failures

    def _start(self, number: int, rows: range, threads: int | None) -> None:
        process = WorkerProcess(number, rows, threads)
        self._processes.append(process)
        for pipe in (process.pipe, process.words):
            self._selector.register(pipe, selectors.EVENT_READ, process)

    def _exchange(self, doing: str, messages: Sequence[bytes | None]) -> list[Any]:
        # an interrupted request may have left answers on their way
        self._collect(doing, drop=True)
        for process, message in zip(self._processes, messages, strict=True):
            if message is not None:
                try:
                    process.send(message)
                except OSError:
                    self._lose(doing, process)
        answers = self._collect(doing)
        failures = [
            (answer, process)
            for answer, process in zip(answers, self._processes, strict=True)
            if isinstance(answer, Failure)
        ]
        if failures:
            failure, process = failures[0]
            raise failed(doing, failure, process.number, process.rows.start)
        return answers

    def _collect(self, doing: str, *, drop: bool = False) -> list[Any]:
        """Wait for every answer that is owed; the last one of each is given."""
        answers: list[Any] = [None] * len(self._processes)
        deadline = None if self._timeout_s is None else _now() + self._timeout_s
        while any(process.owed for process in self._processes):
            left = TICK_S if deadline is None else min(TICK_S, deadline - _now())
            answered = False
            for key, _ in self._selector.select(max(left, 0.0)):
                process: WorkerProcess = key.data
                if key.fileobj is process.words:
                    self._hear(process)
                elif self._take(process, answers):
                    answered = True
                else:
                    self._lose(doing, process)
            if answered:
                continue
            for process in self._processes:
                if process.owed and process.has_ended() and not process.pipe.poll(0):
                    self._lose(doing, process)
            if deadline is not None and _now() >= deadline:
                self._time_out(doing)
        if drop:
            return [None] * len(answers)
        for process in self._processes:
            process.begun = True
        return answers

    def _take(self, process: WorkerProcess, answers: list[Any]) -> bool:
        answer = received(process.pipe)
        if answer is None:
            return False
        process.owed -= 1
        answers[process.number] = _unpacked(answer)
        return True

    def _hear(self, process: WorkerProcess) -> None:
        if not process.hear():
            self._forget(process.words)

    def _forget(self, pipe: Any) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(pipe)

    def _lose(self, doing: str, process: WorkerProcess) -> None:
        """End with the error of a worker that died; the others are closed."""
        process.process.join(1.0)  # its pipe is gone before its status is there
        lost = [one for one in self._processes if one is process or one.has_ended()]
        if all(
            one.process.exitcode == NO_GUARD_STATUS and not one.begun for one in lost
        ):
            self._end(lost, at_once=True)
            raise VectorEnvError(GUARD)
        what = "; ".join(one.described(self._lane(one)) for one in lost)
        raise self._lost(WorkerDiedError, f"{doing}: {what}", lost)

    def _time_out(self, doing: str) -> None:
        """End with the error of workers that don't answer; they are killed."""
        lost = [process for process in self._processes if process.owed]
        for process in lost:
            # before it has its handler, the signal would end it
            if self.memory is not None and self.memory.at[process.number, 1]:
                process.ask_for_stack()
        what = "; ".join(
            f"worker {one.number} ({listed(one.rows)}) gave no answer in "
            f"{self._timeout_s:g} s"
            + ("" if lane < 0 else f": it is in environment {one.rows[lane]}")
            for one, lane in ((one, self._lane(one)) for one in lost)
        )
        raise self._lost(WorkerTimeoutError, f"{doing}: {what}", lost)

    def _lost(
        self, kind: type[WorkerLostError], what: str, lost: list[WorkerProcess]
    ) -> WorkerLostError:
        failures = self._end(lost)
        also = f" ({'; '.join(failures)})" if failures else ""
        words = "\n".join(one.last_words for one in lost if one.last_words)
        self.lost = kind(
            f"{what}; its last words: {one_line(telling(words))}; the other workers "
            f"were closed{also}, so make the vector environment anew",
            workers=[one.number for one in lost],
            environments=[g for one in lost for g in one.rows],
            last_words=words,
        )
        return self.lost

    def _lane(self, process: WorkerProcess) -> int:
        return IDLE if self.memory is None else int(self.memory.at[process.number, 0])

    def _end(self, lost: list[WorkerProcess], *, at_once: bool = False) -> list[str]:
        """End those that were lost, and close all others; gives what went wrong."""
        for process in lost:
            self._forget(process.pipe)
            self._forget(process.words)
            process.end(0.0)
        return self.close(at_once=at_once)

    def _close_environments(self, timeout_s: float) -> list[str]:
        """Ask the workers that are left to close theirs, and wait for that."""
        message = pickle.dumps(("close", ()))
        asked = [process for process in self._processes if not process.gone]
        for process in asked:
            try:
                process.send(message)
            except OSError:
                process.gone = True
        answers: list[Any] = [None] * len(self._processes)
        deadline = _now() + timeout_s
        while any(process.owed and not process.gone for process in asked):
            answered = False
            left = max(min(TICK_S, deadline - _now()), 0.0)
            for key, _ in self._selector.select(left):
                process = key.data
                if key.fileobj is process.words:
                    self._hear(process)
                elif self._take(process, answers):
                    answered = True
                else:
                    process.gone = True
                    self._forget(process.pipe)
            if not answered and _now() >= deadline:
                break
        return [
            f"worker {process.number}: {said}"
            for process in asked
            for said in _failures(answers[process.number])
        ] + [
            f"worker {process.number} had to be ended"
            for process in asked
            if process.owed and not process.gone
        ]


def _failures(answer: Any) -> Collection[str]:
    if isinstance(answer, Failure):
        return [f"{answer.kind}: {answer.text}"]
    return answer if isinstance(answer, list) else []


def _packed_request(doing: str, request: tuple[str, tuple[Any, ...]]) -> bytes:
    try:
        return pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise VectorEnvError(
            f"{doing}: what is asked can't be pickled for a worker "
            f"({one_line(error)}); give functions of a module and plain values"
        ) from error


def _unpacked(answer: bytes) -> Any:
    if answer == NOTHING:
        return None
    try:
        value = pickle.loads(memoryview(answer)[1:])
    except Exception as error:  # noqa: BLE001  whatever an object's own code raises
        return Failure.of(error, "reading what came of it")
    if answer[:1] == FAILURE and not isinstance(value, Failure):
        return Failure.of(TypeError(f"a failure that is a {type(value).__name__}"))
    return value


def _now() -> float:
    return time.monotonic()
