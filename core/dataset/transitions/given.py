"""Transitions that the user gives beside a bare recording: a file, read and checked.

JSON as a list of transitions, or an ``.npz`` with an array [n, …] of each name::

    {"transitions": [{"env": 0, "episode": 1, "control_step": 1, "obs": [...],
                      "action": [...], "next_obs": [...], "reward": 1.0,
                      "terminated": false, "truncated": false}],
     "observation_order": ["angular_vel", ...], "action_order": ["force"],
     "control_frequency_hz": 25}

``raw_action`` may be given, too, where `action` is the clipped one. Numbers are kept as
they are in an ``.npz``; from JSON they are float64, unless ``"dtype": "float32"`` is
said.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array

DOING = "reading transitions from"
MAX_BYTES = 1 << 31
PLACES = ("env", "episode", "control_step")
VECTORS = ("obs", "action", "next_obs")
OPTIONAL = ("raw_action",)
FLAGS = ("terminated", "truncated")
FACTS = ("observation_order", "action_order", "control_frequency_hz", "dtype")


@dataclass(frozen=True, slots=True)
class GivenTransitions:
    """Columns [n, …] of transitions, and what was said of them.

    Attributes
    ----------
    columns
        `PLACES` int64, `VECTORS` [n, k], reward float64, `FLAGS` bool.
    observation_names, action_names
        Of the components, where they were given; else empty.
    """

    path: Path
    columns: Mapping[str, Array]
    observation_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    control_hz: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def read_transitions(path: str | Path) -> GivenTransitions:
    """Read and check such a file.

    Raises
    ------
    ReadError
        If it can't be read, or does not hold what it should.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _wrong(path, "the file is larger than 2 GiB")
        with path.open("rb") as file:
            packed = file.read(4) == b"PK\x03\x04"
        found = _from_npz(path) if packed else _from_json(path)
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from None
    columns, facts = found
    count = len(columns["env"])
    for name, values in columns.items():
        if len(values) != count:
            raise _wrong(path, f"{len(values)} values for {count} transitions", name)
    hz = facts.get("control_frequency_hz")
    if hz is not None and not (isinstance(hz, int | float) and 0 < hz < 1e9):
        raise _wrong(path, "not a frequency above 0", "control_frequency_hz")
    return GivenTransitions(
        path=path,
        columns=columns,
        observation_names=_names(path, facts, "observation_order", columns["obs"]),
        action_names=_names(path, facts, "action_order", columns["action"]),
        control_hz=None if hz is None else float(hz),
        facts=facts,
    )


def _from_json(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        remedy = "give JSON or .npz"
        raise ReadError(DOING, path, f"not JSON: {error}", remedy=remedy) from None
    facts: dict[str, Any] = {}
    if isinstance(found, dict):
        facts = {name: found[name] for name in FACTS if name in found}
        found = found.get("transitions")
    if not isinstance(found, list) or not found:
        raise _wrong(path, "no list of transitions in it", "transitions")
    names = [*PLACES, *VECTORS, "reward", *FLAGS]
    names += [name for name in OPTIONAL if _has(found[0], name)]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for at, transition in enumerate(found):
        for name in names:
            if not _has(transition, name):
                raise _wrong(path, f"a transition without {name}", f"transitions[{at}]")
            columns[name].append(transition[name])
    dtype = facts.get("dtype", "float64")
    if dtype not in ("float32", "float64"):
        raise _wrong(path, "neither float32 nor float64", "dtype")
    made = {name: _array(path, name, values) for name, values in columns.items()}
    vectors = {*VECTORS, *OPTIONAL}
    return {
        name: values.astype(dtype) if name in vectors else values
        for name, values in _checked(path, made).items()
    }, facts


def _has(transition: Any, name: str) -> bool:
    return isinstance(transition, dict) and transition.get(name) is not None


def _from_npz(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    made: dict[str, Array] = {}
    facts: dict[str, Any] = {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            for name in [*PLACES, *VECTORS, *OPTIONAL, "reward", *FLAGS]:
                if name in found.files:
                    made[name] = found[name]
                elif name not in OPTIONAL:
                    raise _wrong(path, f"no array {name} in it")
            facts = {
                name: found[name].tolist() for name in FACTS if name in found.files
            }
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise _wrong(path, str(error)) from None
    return _checked(path, made), facts


def _array(path: Path, name: str, values: list[Any]) -> Array:
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        raise _wrong(path, "not all of one length", name) from None
    if array.dtype.kind not in "biuf":
        raise _wrong(path, "not all of them numbers", name)
    return array


def _checked(path: Path, made: dict[str, Array]) -> dict[str, Array]:
    out: dict[str, Array] = {}
    for name, values in made.items():
        if values.dtype.kind not in "biuf" or values.ndim == 0:
            raise _wrong(path, "not an array of numbers", name)
        if name in PLACES:
            if values.ndim != 1 or values.dtype.kind not in "iu":
                raise _wrong(path, "not all of them whole numbers", name)
            low = 0 if name == "env" else 1
            if len(values) and (values.min() < low or values.max() >= 2**31):
                raise _wrong(path, f"a number below {low} or too large", name)
            out[name] = values.astype(np.int64)
        elif name in FLAGS or name == "reward":
            if values.ndim != 1:
                raise _wrong(path, "not one value a transition", name)
            if name in FLAGS and not np.isin(values, (0, 1)).all():
                raise _wrong(path, "neither true nor false", name)
            out[name] = values.astype(np.bool_ if name in FLAGS else np.float64)
        else:
            out[name] = values.reshape(len(values), -1) if values.ndim < 2 else values
    if out["obs"].shape != out["next_obs"].shape:
        raise _wrong(path, "obs and next_obs differ in shape", "next_obs")
    return out


def _names(
    path: Path, facts: Mapping[str, Any], key: str, values: Array
) -> tuple[str, ...]:
    names = facts.get(key)
    if names is None:
        return ()
    size = int(np.prod(values.shape[1:], dtype=np.int64))
    if not isinstance(names, list) or len(names) != size:
        raise _wrong(path, f"not a list of {size} names", key)
    return tuple(str(name) for name in names)


def _wrong(path: Path, problem: str, where: str = "") -> ReadError:
    return ReadError(DOING, path, problem, where=where)
