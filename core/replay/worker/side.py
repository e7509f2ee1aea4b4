"""Run in the engine's own interpreter: makes the scene, and does what it is told.

    ENGINE_PYTHON side.py

Talks over standard input and output; what the user's program and the engine print goes
to standard error.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any, BinaryIO

CORE = Path(__file__).resolve().parents[2]
LOOK_EVERY_S = 1.0


def _core_alone() -> None:
    """Make `isoscope.core` importable by where it lies: only that is used here."""
    package = types.ModuleType("isoscope")
    package.__path__ = []
    sys.modules["isoscope"] = package
    _package("isoscope.core", CORE, run=True)
    if importlib.util.find_spec("zmq") is None:  # only a live link needs it
        _package("isoscope.core.tap", CORE / "tap", run=False)


def _package(name: str, folder: Path, *, run: bool) -> None:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if run:
        spec.loader.exec_module(module)


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes for us alone; whoever prints does it elsewhere."""
    taken, given = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stderr
    return os.fdopen(taken, "rb"), os.fdopen(given, "wb")


def _end_with(parent: int) -> None:
    """End when the other side is gone, whatever is being done."""

    def look() -> None:
        wait = threading.Event()
        while os.getppid() == parent:
            wait.wait(LOOK_EVERY_S)
        os._exit(1)

    if hasattr(os, "getppid") and os.name == "posix":
        threading.Thread(target=look, daemon=True).start()


def _make(request: Any) -> tuple[Any, Any]:
    """What is answered, and the scene; None where there is none."""
    from isoscope.core.errors import one_line
    from isoscope.core.replay.worker import factory
    from isoscope.core.replay.worker.messages import Made
    from isoscope.core.replay.worker.native import NativeScene
    from isoscope.core.tap.adapters.superdex.build import build_of
    from isoscope.core.tap.adapters.superdex.configuration import digest

    try:
        made = factory.call(
            request.file, request.factory, request.arguments, request.named
        )
        scene, physics = factory.scene_of(made)
        native = NativeScene(scene, physics, request.actors, request.driven)
        actors = native.topology()
        answer = Made(
            engine=build_of(physics),
            topology=digest({"actors": actors}).hex(),
            actors=actors,
            dtype=native.dtype,
            fields=native.fields(),
        )
    except Exception as error:  # noqa: BLE001 of the user's program and the engine
        return Made(problem=one_line(error) or type(error).__name__), None
    # Kept with it: who lets go of an environment may lose its scene.
    return answer, (native, made)


def _block(native: Any, operations: Any) -> Any:
    """Do a block of operations, up to the first that fails."""
    from isoscope.core.errors import one_line
    from isoscope.core.replay.worker.messages import Done

    done = Done()
    try:
        for one in operations:
            done.result = native.do(one)
            done.done += 1
    except Exception as error:  # noqa: BLE001 the other side says it
        done.problem = one_line(error) or type(error).__name__
    done.reads = native.reads()
    done.states = bytes(native.states)
    native.states.clear()
    return done


def main() -> None:
    """Answer until the other side has no more."""
    sys.dont_write_bytecode = True  # nothing is left beside the user's files
    # Whose child it is, was told: it may be gone by now.
    _end_with(int(sys.argv[1]) if len(sys.argv) > 1 else os.getppid())
    taken, given = _streams()
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]  # our modules are not to be taken for the user's
    _core_alone()
    import msgspec

    from isoscope.core.replay.worker.framing import receive, send
    from isoscope.core.replay.worker.messages import Make, Operations

    encode = msgspec.msgpack.Encoder().encode
    first = receive(taken)
    if first is None:
        return
    answer, kept = _make(msgspec.msgpack.decode(first, type=Make))
    send(given, encode(answer))
    if kept is None:
        return
    decode = msgspec.msgpack.Decoder(list[Operations]).decode
    while (data := receive(taken)) is not None:
        send(given, encode(_block(kept[0], decode(data))))


if __name__ == "__main__":
    main()
