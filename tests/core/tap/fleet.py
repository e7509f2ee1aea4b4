"""Environments in spawned processes, stepped in turn there, as vector ones do it."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

from tests.core.tap.fake import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection


def work(factories: Sequence[Callable[[], Any]], pipe: Connection) -> None:
    """Make the environments, and step them as told, until nobody tells any more."""
    envs = [make() for make in factories]
    while True:
        try:
            told = pipe.recv()
        except EOFError:
            return
        if told is None:
            break
        pipe.send([run(env, *told) for env in envs])
    for env in envs:
        env.close()
    pipe.send("closed")


class Fleet:
    """P processes of K environments each; one more is made here and closed again."""

    def __init__(
        self, factories: Sequence[Callable[[], Any]], each: int, context: str = "spawn"
    ) -> None:
        factories[0]().close()
        chosen: Any = multiprocessing.get_context(context)
        self.pipes: list[Any] = []
        self.processes: list[Any] = []
        for first in range(0, len(factories), each):
            ours, theirs = chosen.Pipe()
            process = chosen.Process(
                target=work, args=(factories[first : first + each], theirs), daemon=True
            )
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def run(self, *told: Any, but: int = -1) -> list[Any]:
        """Let all step; what each environment gave, in their order."""
        pipes = [p for k, p in enumerate(self.pipes) if k != but]
        for pipe in pipes:
            pipe.send(told)
        return [out for pipe in pipes for out in pipe.recv()]

    def close(self) -> None:
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            if process.is_alive():
                pipe.send(None)
                pipe.recv()
            process.join()
            pipe.close()
            process.close()
