"""The adapters' parts: leaves of spaces, where code comes from, what is loaded."""

from __future__ import annotations

import enum
import functools
import hashlib
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium import spaces

from isoscope.core.errors import UsageError
from isoscope.core.tap.adapters import adapter_for, provenance
from isoscope.core.tap.adapters.generators import Watched
from isoscope.core.tap.adapters.leaves import LARGEST, described, leaves
from isoscope.core.tap.adapters.rows import columns
from isoscope.core.tap.adapters.superdex import configuration

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_is_imported_that_nobody_uses() -> None:
    code = (
        "import sys\n"
        "from isoscope.core import tap\n"
        "from isoscope.core.tap import adapters, factories\n"
        "try:\n"
        "    adapters.adapter_for(3)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
        "print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, loaded = done.stdout.splitlines()
    assert said == "UsageError"
    heavy = {"gymnasium", "torch", "superdex", "h5py", "psygnal", "PySide6"}
    assert not heavy & set(loaded.split())


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(UsageError, match="neither a Gymnasium Env nor a VectorEnv"):
        adapter_for(SimpleNamespace(step=print, reset=print))


def test_leaves_of_spaces() -> None:
    space = spaces.Dict(
        {
            "b": spaces.Tuple([spaces.Discrete(3), spaces.MultiDiscrete([2, 5])]),
            "a": spaces.Box(
                np.float32([-1.0, -np.inf]), np.float32([1.0, 2.0]), dtype=np.float32
            ),
            "c": spaces.Text(3),
        }
    )
    found = leaves(space)
    assert [leaf.name for leaf in found] == ["a", "b/0", "b/1"]
    assert found[0].low == (-1.0, -LARGEST)  # JSON knows no infinity
    assert found[1].high == (2.0,)
    assert found[2].high == (1.0, 4.0)
    told = described(space, "observation", -1, found)
    assert told.names == ["a[0]", "a[1]", "b/0", "b/1[0]", "b/1[1]"]
    assert told.shape == [5]
    free = leaves(spaces.Box(-np.inf, np.inf, (2,)), ["x", "v"], ["m", "m/s"])
    assert (free[0].low, free[0].names) == ((), ("x", "v"))
    assert free[0].field("observation_after").unit == "m or m/s"


def test_infos_are_read_by_their_masks() -> None:
    infos: dict[str, Any] = {
        "height": np.array([1.0, 9.0, 3.0]),
        "_height": np.array([True, False, True]),
        "reward_terms": {
            "lean": np.array([1, 2, 3]),
            "_lean": np.array([True, True, False]),
        },
        "_reward_terms": np.ones(3, bool),
        "text": np.array(["a", "b", "c"], object),
        "_text": np.ones(3, bool),
        "unmasked": np.zeros(3),
    }
    found = columns(infos, 3)
    assert set(found) == {("info", "height"), ("reward_term", "lean")}
    assert found["info", "height"][1].tolist() == [True, False, True]
    assert found["reward_term", "lean"][1].tolist() == [True, True, False]


@pytest.mark.parametrize(
    "bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]
)
def test_a_generator_is_known_by_its_state(bits: Any) -> None:
    owner = SimpleNamespace()
    watched = Watched()
    assert watched.digest(owner) == b""  # and none was made
    assert vars(owner) == {}
    owner._np_random = np.random.Generator(bits(1))
    first = watched.digest(owner)
    assert len(first) == 16
    assert watched.digest(owner) == first
    assert Watched().digest(owner) == first
    owner._np_random.random()
    assert watched.digest(owner) != first
    owner._np_random = np.random.Generator(bits(1))
    assert watched.digest(owner) == first


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_commit_is_read_from_the_repository(tmp_path: Path) -> None:
    source = tmp_path / "deep" / "mine.py"
    source.parent.mkdir()
    source.write_text("def make():\n    return 1\n")
    assert provenance.commit_of(source) == ""
    git(tmp_path, "init", "--quiet")
    assert provenance.commit_of(source) == ""  # no commit yet
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert provenance.commit_of(source) == commit
    git(tmp_path, "pack-refs", "--all")
    assert provenance.commit_of(source) == commit
    tree = tmp_path / "tree"
    git(tmp_path, "worktree", "add", "--quiet", str(tree))
    assert provenance.commit_of(tree / "deep" / "mine.py") == commit
    git(tmp_path, "checkout", "--quiet", "--detach")
    assert provenance.commit_of(source) == commit
    told = provenance.identity(f"{source}:make")
    assert told.factory == f"{source}:make"
    assert told.source_hash == hashlib.sha256(source.read_bytes()).hexdigest()
    assert told.commit == commit


def make(*arguments: Any, **named: Any) -> None:
    """A factory."""


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        (make, "nothing"),
        (functools.partial(make), "nothing"),
        (
            functools.partial(functools.partial(make, 1, size=(2, 3)), None, size=4),
            {"positional": [1, None], "named": {"size": 4}},
        ),
        (functools.partial(make, (1, "a")), {"positional": [[1, "a"]], "named": {}}),
        (functools.partial(make, object()), None),
        (functools.partial(make, np.float64(1.0)), None),
        (functools.partial(make, float("nan")), None),
        (functools.partial(make, "x" * 5000), None),
        (functools.partial(make, {1: 2}), None),
    ],
)
def test_what_a_partial_factory_was_given(factory: Any, told: Any) -> None:
    found = provenance.identity(factory)
    assert found.factory.endswith(":make")
    assert found.extra.get("arguments", "nothing") == told


class Colour(enum.Enum):
    RED = 1


class Span:
    """As the engine's: a list of things that are no numbers."""

    def __init__(self, *things: Any) -> None:
        self._things = things

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, k: int) -> Any:
        return self._things[k]

    def tolist(self) -> list[Any]:
        return list(self._things)


def test_configuration_is_values_and_no_objects() -> None:
    def friction(viscous: float) -> Any:
        return SimpleNamespace(viscous=viscous, kind=Colour.RED, method=print)

    found: dict[str, Any] = {}
    configuration._spread(Span(friction(0.5), friction(1.0)), "joint", found, 0)
    assert found == {
        "joint/0/viscous": 0.5,
        "joint/0/kind": "RED",
        "joint/1/viscous": 1.0,
        "joint/1/kind": "RED",
    }
    configuration._spread(Span(1.0, 2.0), "inertia", found, 0)
    assert found["inertia"] == [1.0, 2.0]
    same = configuration.digest(found)
    assert same == configuration.digest(dict(reversed(list(found.items()))))
    assert same != configuration.digest({**found, "joint/0/viscous": 0.6})
