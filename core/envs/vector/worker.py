"""A worker's process: makes its environments and serves requests until it is closed.

A request is one byte for a step, or a pickled name and arguments; an answer is one
byte, or a pickled result or failure. Observations and actions are in the shared memory.

Its standard error goes to the process that started it, which keeps the end of it: the
worker's last words. It ends when that process ends.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.profiling import waiting
from isoscope.core.envs.vector.lanes import LaneError, LaneGroup
from isoscope.core.envs.vector.memory import Block, Memory, MemorySpec
from isoscope.core.errors import one_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gymnasium.vector import AutoresetMode

    from isoscope.core.envs.vector.factories import EnvIndex

STEP = b"S"
NOTHING = b"N"
RESULT = b"R"
FAILURE = b"F"
DUMP_SIGNAL = getattr(signal, "SIGUSR1", None)  # asks for the stack of a hung worker
PARENT_LOOK_S = 2.0
THREADS_VARIABLE = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker has to know; sent when it runs."""

    worker: int
    indices: tuple[EnvIndex, ...]
    mode: AutoresetMode
    block: str
    spec: MemorySpec
    factories: bytes
    spaces: tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker says when its environments are made."""

    pid: int
    threads: int | None
    metadata: dict[str, Any] | None
    render_mode: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, as it travels.

    `lane` is -1 if it was no environment in particular, and `doing` empty if whoever
    asked knows better.
    """

    lane: int
    doing: str
    kind: str
    text: str
    remote_traceback: str

    @classmethod
    def of(cls, error: BaseException, doing: str = "") -> Failure:
        """Describe an exception."""
        lane = -1
        if isinstance(error, LaneError):
            lane, doing, error = error.lane, error.doing, error.error
        return cls(
            lane,
            doing,
            type(error).__name__,
            one_line(error),
            "".join(traceback.format_exception(error)),
        )


class MismatchError(Exception):
    """An environment's spaces are not those of the others."""


def perform(group: LaneGroup, name: str, args: tuple[Any, ...]) -> Any:
    """Do what was asked of a group; the only door, in a worker and without."""
    match name:
        case "step":
            return group.step()
        case "reset":
            return group.reset(*args)
        case "call":
            return group.call(*args)
        case "set_attr":
            return group.set_attr(*args)
        case "run":
            return group.run(*args)
        case "close":
            return group.close()
    raise ValueError(f"no such request: {name}")


def check_spaces(group: LaneGroup, observation: Any, action: Any) -> None:
    """Compare every environment's spaces with those of the batch.

    Raises
    ------
    LaneError
        If they differ.
    """
    for lane, env in enumerate(group.envs):
        for what, batch, own in (
            ("observation", observation, env.observation_space),
            ("action", action, env.action_space),
        ):
            if batch != own:
                text = f"its {what} space is {own}, and the batch's is {batch}"
                raise LaneError(lane, "making", MismatchError(text))


def run_worker(pipe: Connection, words: Connection) -> None:
    """Serve until closed, or until the other end of the pipe is gone."""
    os.dup2(words.fileno(), 2)
    words.close()
    faulthandler.enable(2, all_threads=False)
    if DUMP_SIGNAL is not None:
        faulthandler.register(DUMP_SIGNAL, 2, all_threads=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent closes us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        _serve(pipe)
    pipe.close()
    with suppress(Exception):
        sys.stderr.flush()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    # by its id too: what it forked may keep the pipe open that join waits on
    while parent.is_alive() and os.getppid() == parent.pid:
        parent.join(PARENT_LOOK_S)
    os._exit(1)


def _serve(pipe: Connection) -> None:
    setup: Setup = pickle.loads(pipe.recv_bytes())
    block = Block(setup.block)
    rows = slice(setup.indices[0].global_index, setup.indices[-1].global_index + 1)
    memory = Memory.over(setup.spec, block.bytes).lanes(setup.worker, rows)
    memory.at[0, 1] = 1
    group: LaneGroup | None = None
    try:
        try:
            factories = pickle.loads(setup.factories)
            group = LaneGroup(factories, setup.indices, setup.mode, memory)
            check_spaces(group, *setup.spaces)
        except Exception as error:  # noqa: BLE001  told to the other side
            _answer_failure(pipe, Failure.of(error, "unpickling the factories"))
            pipe.recv_bytes()  # to end before we are told to would look like dying
            _answer(pipe, None)
            return
        _answer(pipe, _hello(group))
        _answer_requests(pipe, group, [i.global_index for i in setup.indices])
    finally:
        if group is not None:
            group.close()
        del memory, group
        block.close()


def _hello(group: LaneGroup) -> Hello:
    env = group.envs[0]
    metadata: dict[str, Any] | None = dict(env.metadata or {})
    try:
        pickle.dumps(metadata)
    except Exception:  # noqa: BLE001  only a courtesy
        metadata = None
    threads = os.environ.get(THREADS_VARIABLE, "")
    return Hello(
        os.getpid(),
        int(threads) if threads.isdecimal() else None,
        metadata,
        env.render_mode,
    )


def _answer_requests(pipe: Connection, group: LaneGroup, envs: list[int]) -> None:
    while True:
        with waiting(envs):
            message = pipe.recv_bytes()
        name: str = "step"
        args: tuple[Any, ...] = ()
        try:
            if message != STEP:
                name, args = pickle.loads(message)
            result = perform(group, name, args)
        except (Exception, SystemExit) as error:  # noqa: BLE001  told to the other side
            _answer_failure(pipe, Failure.of(error))
            continue
        _answer(pipe, result)
        if name == "close":
            return


def _answer(pipe: Connection, result: Any) -> None:
    if result is None:
        pipe.send_bytes(NOTHING)
        return
    try:
        packed = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  whatever an object's pickling raises
        _answer_failure(pipe, Failure.of(error, "sending what came of it"))
        return
    pipe.send_bytes(RESULT + packed)


def _answer_failure(pipe: Connection, failure: Failure) -> None:
    pipe.send_bytes(FAILURE + pickle.dumps(failure))
