"""Processes that take part in a channel of this one.

A process is spawned, never forked, and talks to its channel through a pipe that only it
and this process have. What goes through the pipe are the bytes of `wire`, not pickles;
the function to run and its arguments travel as multiprocessing sends them to a child.

One thread here serves each process: it puts and gets in the process's name, and what
that raises is raised there. The pipe of a process that dies is closed by the system,
whatever it died of.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.base import deadline, remaining_s
from isoscope.core.channel.errors import (
    ChannelClosedError,
    ChannelEmptyError,
    ChannelTimeoutError,
    WireError,
)
from isoscope.core.channel.hooks import DEFAULT_QUEUE, ConsumerId, QueueKey
from isoscope.core.channel.told import raised, told
from isoscope.core.channel.wire import decode, encode
from isoscope.core.errors import IsoscopeError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    import numpy as np

    from isoscope.core.channel.local import LocalChannel

MARGIN_S = 30.0  # how much longer than its timeout an answer may take
LOOK_S = 0.25  # how often to look whether a process that waits is still there
END_WAIT_S = 5.0


class PipeSender:
    """What the code of a spawned producer is given; it can get as well.

    Not for several threads at once.
    """

    def __init__(self, pipe: Connection, name: str, timeout_s: float) -> None:
        self.name = name
        self._pipe = pipe
        self._timeout_s = timeout_s

    def put(
        self,
        item: Any,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        timeout_s: float | None = None,
    ) -> None:
        """Put an item; returns when the channel has taken it."""
        self._ask(("put", key, item), timeout_s)

    def get(
        self,
        *,
        key: QueueKey = DEFAULT_QUEUE,
        consumer: ConsumerId | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Take an item, waiting for one."""
        return self._ask(("get", key, consumer), timeout_s)

    def _ask(self, request: tuple[Any, ...], timeout_s: float | None) -> Any:
        allowed = self._timeout_s if timeout_s is None else timeout_s
        doing = f"{request[0]} as {self.name}"
        try:
            self._pipe.send_bytes(encode((*request, float(allowed))).data)
            if not self._pipe.poll(remaining_s(deadline(allowed + MARGIN_S, 0))):
                raise ChannelTimeoutError(
                    f"{doing}: the channel's process gave no answer in time; whether "
                    "it took the item is not known"
                )
            good, answer = decode(self._pipe.recv_bytes())
        except (OSError, EOFError) as error:
            raise ChannelClosedError(
                f"{doing}: the channel is gone ({one_line(error) or 'its pipe closed'})"
            ) from None
        if not good:
            raise raised(answer)
        return answer


def start_process(
    channel: LocalChannel, name: str, work: Callable[..., object], *args: Any
) -> BaseProcess:
    """Spawn a process that takes part in a channel as a producer.

    Parameters
    ----------
    channel
        Where it puts.
    name
        The producer's name.
    work
        What it runs: ``work(sender, *args)``, a function of a module. When it returns,
        the producer has ended; when it raises or the process dies, it was lost.
    *args
        For `work`.

    Returns
    -------
    multiprocessing process
        Already running; to be joined by whoever started it. It ends with this process.
    """
    context = multiprocessing.get_context("spawn")
    channel._begin(name)
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_run_producer,
        args=(theirs, name, channel.timeout_s, work, args),
        name=name,
        daemon=True,
    )
    try:
        process.start()
    except BaseException:
        ours.close()
        channel._end(name, "its process could not be started")
        raise
    finally:
        theirs.close()  # or its end would not be seen here
    threading.Thread(
        target=_serve, args=(channel, name, ours, process), name=name, daemon=True
    ).start()
    return process


def _run_producer(
    pipe: Connection,
    name: str,
    timeout_s: float,
    work: Callable[..., object],
    args: tuple[Any, ...],
) -> None:
    goodbye: tuple[str, str] | None = None
    try:
        work(PipeSender(pipe, name, timeout_s), *args)
        goodbye = ("end", "")
    except IsoscopeError as error:
        goodbye = ("lost", str(error))
        sys.exit(error.exit_status)  # told in one line, not as a traceback
    except Exception as error:
        goodbye = ("lost", one_line(f"{type(error).__name__}: {error}"))
        raise
    finally:
        if goodbye is not None:
            with suppress(OSError):  # nobody listens any more
                pipe.send_bytes(encode(goodbye).data)
        pipe.close()


def _serve(
    channel: LocalChannel, name: str, pipe: Connection, process: BaseProcess
) -> None:
    problem = ""
    try:
        while True:
            request = decode(pipe.recv_bytes())
            if request[0] in ("end", "lost"):
                problem = request[1]
                return
            _answer(channel, name, pipe, request)
    except (OSError, EOFError):
        process.join(END_WAIT_S)
        problem = f"its process died ({_ending(process.exitcode)})"
    except WireError as error:
        problem = f"it sent what can't be read ({error})"
    finally:
        channel._end(name, problem)
        pipe.close()


def _answer(
    channel: LocalChannel, name: str, pipe: Connection, request: tuple[Any, ...]
) -> None:
    """Carry out a request and answer it; an item that can't be delivered stays."""
    match request:
        case ("put", key, item, float(timeout_s)):
            put = partial(channel.put_as, name, item, key, timeout_s)
            pipe.send_bytes(_outcome(put).data)
        case ("get", key, consumer, float(timeout_s)):
            got: list[Any] = []

            def get() -> Any:
                got.append(_get(channel, pipe, key, consumer, timeout_s))
                return got[0]

            try:
                pipe.send_bytes(_outcome(get).data)
            except (OSError, EOFError):
                if got:
                    channel.give_back(got[0], key, consumer)
                raise
        case _:
            raise WireError("reading a request: it is not known")


def _get(
    channel: LocalChannel,
    pipe: Connection,
    key: QueueKey,
    consumer: ConsumerId | None,
    timeout_s: float,
) -> Any:
    """Take an item for a process, and notice meanwhile if it dies."""
    end = deadline(timeout_s, 0)
    while True:
        left = remaining_s(end)
        try:
            return channel.get(key=key, consumer=consumer, timeout_s=min(left, LOOK_S))
        except ChannelEmptyError:
            if pipe.poll():  # it waits for an answer, so this is its end
                raise EOFError from None
            if left <= LOOK_S:
                raise


def _outcome(call: Callable[[], Any]) -> np.ndarray[Any, Any]:
    try:
        return encode((True, call()))
    except EOFError:
        raise
    except Exception as error:  # noqa: BLE001 whatever it is, who asked is told
        return encode((False, told(error)))


def _ending(exitcode: int | None) -> str:
    """Say how a process ended."""
    if exitcode is None:
        return "it still runs"
    if exitcode < 0:
        return f"killed by signal {-exitcode}"
    return f"exit status {exitcode}"
