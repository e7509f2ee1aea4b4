"""The real SuperDex engine, in a worker of its own interpreter, as an engine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

import isoscope.core.replay.worker
from isoscope.app.doctor.programs import SUPERDEX_PYTHON, VARIABLE
from isoscope.app.replay_engines.factories import choose
from isoscope.core.interpreters import find_python
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.worker.engine import WorkerEngine
from isoscope.core.replay.worker.messages import Made, Make
from isoscope.core.replay.worker.process import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.labelled.records import Identity
    from isoscope.core.replay.engine import Blueprint

ENGINE = "superdex"
START_S = 180.0  # to import the engine and make the scene
SIDE = Path(isoscope.core.replay.worker.__file__).with_name("side.py")
PRECISIONS = {"float32": "fp32", "float64": "fp64"}
# As the tap names what of a snapshot's build has to be the same, in this order.
BUILD = ("version", "precision", "build")
ACTOR = re.compile(r"(.+)#(\d+)/")
WINDOW = 1 << 16  # rows


class SuperDexMaker:
    """Makes scenes of SuperDex; an `isoscope.core.replay.engine.EngineMaker`.

    Parameters
    ----------
    identity
        What ran.
    module
        ``FILE:FACTORY``; None for the recorded one.

    Raises
    ------
    IsoscopeError
        If there is no such factory, or no interpreter.
    """

    def __init__(self, identity: Identity, module: str | None = None) -> None:
        if identity.engine != ENGINE:
            what = identity.engine or "an engine that it doesn't name"
            raise ReplayError(
                f"stepping the recording again on SuperDex: it was recorded from "
                f"{what}, whose states SuperDex can't take up"
            )
        self._chosen = choose(identity, module)
        self._python = interpreter()

    def __call__(self, blueprint: Blueprint) -> WorkerEngine:
        """Make the recorded scene in a worker.

        Raises
        ------
        ReplayError
            If it can't be made there, or is of another build, precision or topology.
        """
        doing = f"stepping {blueprint.file} again"
        if blueprint.precision not in PRECISIONS:
            raise ReplayError(f"{doing}: its snapshots don't tell their precision")
        chosen = self._chosen
        request = Make(
            file=str(chosen.file.resolve()),
            factory=chosen.factory,
            arguments=chosen.arguments,
            named=chosen.named,
            actors=_numbers(blueprint.configuration),
            driven=_driven(blueprint),
        )
        command = [str(self._python), str(SIDE), str(os.getpid())]
        name = f"SuperDex's process of {self._python}"
        worker = Worker(command, _environ(blueprint.precision), name)
        try:
            answer = worker.ask(msgspec.msgpack.encode(request), START_S)
            made = msgspec.msgpack.decode(answer, type=Made)
            self._check(blueprint, made)
        except ReplayError as error:
            worker.close(at_once=True)
            raise ReplayError(f"{doing}: {error}{self._remedy(str(error))}") from None
        except BaseException:
            worker.close(at_once=True)
            raise
        return WorkerEngine(worker, made, _name(made.engine), chosen.doubts)

    def _check(self, blueprint: Blueprint, made: Made) -> None:
        if made.problem:
            raise ReplayError(made.problem)
        recorded, here = blueprint.build, made.engine
        other = [k for k in BUILD if recorded.get(k, "") != here.get(k, "")]
        if other:
            same = _name(recorded) == _name(here)
            more = f" ({recorded.get('build')} and {here.get('build')})" if same else ""
            raise ReplayError(
                f"its snapshots are of {_name(recorded)}, and {self._python} "
                f"has {'another build of it' if same else _name(here)}{more}; set "
                f"{VARIABLE} to an interpreter that has that one"
            )
        if blueprint.topology and blueprint.topology != made.topology:
            raise ReplayError(
                f"the scene that {self._chosen.factory} makes is not the "
                f"recorded one: {_difference(blueprint.actors, made.actors)}; give "
                "the factory that made it by --module"
            )

    def _remedy(self, problem: str) -> str:
        needs = {"superdex": "superdex-lab", "msgspec": "msgspec", "numpy": "numpy"}
        for module, package in needs.items():
            if f"No module named '{module}" in problem:
                return (
                    f"; install {package} in it, or set {VARIABLE} to a Python "
                    f"{SUPERDEX_PYTHON} that has it"
                )
        return ""


def interpreter() -> Path:
    """The Python that is set for the engine, else any of its version.

    Raises
    ------
    ReplayError
        If there is none that starts.
    """
    chosen = os.environ.get(VARIABLE)
    python = find_python(SUPERDEX_PYTHON, chosen)
    if chosen and python != Path(chosen):
        raise ReplayError(
            f"starting SuperDex: {VARIABLE}={chosen} does not start as a Python "
            f"{SUPERDEX_PYTHON}; set it to one that has superdex-lab"
        )
    if python is None:
        raise ReplayError(
            f"starting SuperDex: no Python {SUPERDEX_PYTHON} is found, the only one "
            f"that it is built for; set {VARIABLE} to one that has superdex-lab"
        )
    return python


def _environ(precision: str) -> dict[str, str]:
    """Of this process, with the engine's precision and no Python home of ours."""
    left = {"PYTHONHOME", "PYTHONSTARTUP", "MOCHI_PRECISION"}
    environ = {k: v for k, v in os.environ.items() if k not in left}
    return {**environ, "SUPERDEX_PRECISION": PRECISIONS[precision]}


def _name(build: Mapping[str, Any]) -> str:
    version, precision = build.get("version", ""), build.get("precision", "")
    return f"superdex {version or '(unknown)'} ({precision})"


def _numbers(configuration: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Actors as the names of recorded values have them: in the scene's order."""
    found = {m.group(1, 2) for key in configuration if (m := ACTOR.match(key))}
    return sorted(((name, int(n)) for name, n in found), key=lambda one: one[1])


def _driven(blueprint: Blueprint) -> dict[str, list[int]]:
    """Components of control inputs that are ever other than zero, by what they are."""
    found: dict[str, list[int]] = {}
    for control in blueprint.controls:
        track = control.track
        ever: Any = False
        for start in range(0, len(track), WINDOW):
            window = track.read(start, min(start + WINDOW, len(track)))
            there = window.values[window.valid]
            ever = ever | (there != 0).any(axis=0)
        where = np.flatnonzero(ever).tolist()
        found[f"{control.actor}/{control.name}"] = where
    return found


def _difference(recorded: Any, here: Any) -> str:
    one = [name for name, _ in recorded]
    two = [name for name, _ in here]
    lost = [name for name in one if name not in two]
    new = [name for name in two if name not in one]
    if lost or new:
        said = [f"without {', '.join(lost)}"] if lost else []
        said += [f"with {', '.join(new)}"] if new else []
        return " and ".join(said)
    return f"its actors are {', '.join(two)}, in this order"
