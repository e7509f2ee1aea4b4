"""Which engine steps a recording again, and what makes its scenes: found or refused."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app.doctor.programs import VARIABLE
from isoscope.app.replay_engines import EngineOptions, engine_maker
from isoscope.app.replay_engines.factories import choose
from isoscope.app.replay_engines.superdex import SuperDexMaker, interpreter
from isoscope.app.replaying import make_builtin
from isoscope.core.errors import IsoscopeError, UsageError
from isoscope.core.recording.labelled.records import Identity
from isoscope.core.replay.engine import Blueprint, ReplayError
from isoscope.core.tap.adapters.superdex.configuration import digest

if TYPE_CHECKING:
    from isoscope.core.replay.worker.engine import WorkerEngine

FAKE = Path(__file__).parents[2] / "core" / "replay" / "worker" / "fake_engine.py"
BUILD = {"engine": "superdex", "version": "", "build": "", "precision": "float64"}


def hashed(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def identity(file: Path = FAKE, name: str = "make", **extra: Any) -> Identity:
    told = {"source": str(file), **extra}
    return Identity(
        engine="superdex",
        factory=f"__main__:{name}",
        source_hash=hashed(file),
        extra=told,
    )


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake engine runs in this interpreter."""
    monkeypatch.setattr(
        "isoscope.app.replay_engines.superdex.interpreter", lambda: sys.executable
    )


# -- the engine ------------------------------------------------------------------------


@pytest.mark.usefixtures("ours")
def test_by_what_recorded_it() -> None:
    assert engine_maker(Identity(engine="isoscope"), EngineOptions()) is make_builtin
    made = engine_maker(identity(), EngineOptions())
    assert isinstance(made, SuperDexMaker)
    assert engine_maker(identity(), EngineOptions("builtin")) is make_builtin


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (EngineOptions("mujoco"), "there are builtin, superdex"),
        (EngineOptions("superdex"), "it was recorded from isoscope"),
        (EngineOptions(module="a.py:make"), "only SuperDex's scenes"),
    ],
)
def test_what_does_not_fit(options: EngineOptions, said: str) -> None:
    with pytest.raises(IsoscopeError, match=said):
        engine_maker(Identity(engine="isoscope"), options)


def test_the_interpreter_that_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "python"))
    with pytest.raises(ReplayError, match=f"{VARIABLE}=.* does not start as a Python"):
        interpreter()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(
        "isoscope.app.replay_engines.superdex.find_python", lambda version, first: None
    )
    with pytest.raises(ReplayError, match=r"no Python 3\.12 is found"):
        interpreter()


# -- what makes the scenes -------------------------------------------------------------


def test_the_recorded_one_with_its_arguments() -> None:
    told = {"positional": [None, 17], "named": {"size": 2}}
    chosen = choose(identity(arguments=told), None)
    assert (chosen.file, chosen.factory) == (FAKE, "make")
    assert (chosen.arguments, chosen.named) == ([None, 17], {"size": 2})
    assert chosen.doubts == ()
    assert choose(identity(), f"{FAKE}:make").doubts == ()


def test_what_can_not_be_told(tmp_path: Path) -> None:
    changed = tmp_path / "train.py"
    changed.write_text("make = None")
    [doubt] = choose(identity(), f"{changed}:make").doubts
    assert "train.py is not the source that was recorded" in doubt
    [doubt] = choose(identity(), f"{FAKE}:other").doubts
    assert "other is not what was recorded, make" in doubt
    [doubt] = choose(identity(arguments=None), f"{FAKE}:make").doubts
    assert "arguments that the recording can't hold" in doubt
    [doubt] = choose(Identity(engine="superdex"), f"{FAKE}:make").doubts
    assert "doesn't hold what made its scenes" in doubt


@pytest.mark.parametrize("module", ["make", ":make", "train.py:", "no/such.py:make"])
def test_modules_that_are_not_there(module: str) -> None:
    with pytest.raises(UsageError, match="--module"):
        choose(identity(), module)


def test_recorded_ones_that_are_not_run(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("def make(): ...")
    told = identity(file)
    file.write_text("def make(): return 1")
    with pytest.raises(ReplayError, match=r"was changed since; give .*--module"):
        choose(told, None)
    file.unlink()
    with pytest.raises(ReplayError, match="is not there"):
        choose(told, None)
    with pytest.raises(ReplayError, match="inside of a function"):
        choose(identity(name="main.<locals>.make"), None)
    with pytest.raises(ReplayError, match="doesn't hold what made"):
        choose(Identity(engine="superdex"), None)
    package = tmp_path / "lib" / "python3.12" / "site-packages" / "somebody.py"
    package.parent.mkdir(parents=True)
    package.write_text("def make(): ...")
    with pytest.raises(ReplayError, match="part of an installed package"):
        choose(identity(package), None)
    own = package.parent / "superdex" / "lab" / "envs.py"
    own.parent.mkdir(parents=True)
    own.write_text("def make(): ...")
    assert choose(identity(own), None).file == own


# -- the scene -------------------------------------------------------------------------


def blueprint(**changes: Any) -> Blueprint:
    told: dict[str, Any] = {
        "file": "run.isoscope.h5",
        "identity": identity(),
        "worlds": 1,
        "engine": "superdex",
        "precision": "float64",
        "configuration": {"gravity": [0.0, 0.0, 0.0], "Sled#12/jointInertia": [2, 1]},
        "build": BUILD,
        "topology": digest({"actors": [("Sled", "ARTICULATED")]}).hex(),
        "actors": [("Sled", "Articulated")],
    }
    return Blueprint(**{**told, **changes})


@pytest.mark.usefixtures("ours")
def test_it_is_made() -> None:
    made: WorkerEngine = SuperDexMaker(identity())(blueprint())
    try:
        assert made.name == "superdex (unknown) (float64)"
        assert made.has("Sled", "pose")
        assert "Sled#12/jointInertia" in made.configuration()
        assert made.doubts == ()
    finally:
        made.close()


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"build": {**BUILD, "version": "1.0.0"}}, r"are of superdex 1\.0\.0 .*, and"),
        ({"build": {**BUILD, "precision": "float32"}}, r"\(float32\), and .*\(float64"),
        ({"build": {**BUILD, "build": "x"}}, "another build of it"),
        ({"precision": ""}, "don't tell their precision"),
        (
            {"topology": "00", "actors": [("Sled", "A"), ("Crate", "R")]},
            "is not the recorded one: without Crate",
        ),
        ({"topology": "00"}, "its actors are Sled, in this order"),
    ],
)
def test_another_one_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ReplayError, match=said) as error:
        SuperDexMaker(identity())(blueprint(**changes))
    assert str(error.value).startswith("stepping run.isoscope.h5 again: ")


@pytest.mark.usefixtures("ours")
def test_a_factory_that_fails() -> None:
    maker = SuperDexMaker(identity(name="failing"))
    with pytest.raises(ReplayError, match="ValueError: no such robot"):
        maker(blueprint())


def test_what_its_python_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(
        "isoscope.app.replay_engines.superdex.interpreter", lambda: bare
    )
    with pytest.raises(ReplayError, match=rf"install \w+ in it, or set {VARIABLE}"):
        SuperDexMaker(identity())(blueprint())
