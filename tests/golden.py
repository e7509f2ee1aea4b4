"""Reading the golden data of the trajectory contract, and comparing with it.

`tests/data/rlinf/README.md` says how a group is written. Inputs become objects of ours;
expectations stay as they were written and are compared with our results field by field,
so that nothing of ours can smooth over a difference. Other recorded data is read from
the folder that ISOSCOPE_GOLDEN names; a group that it lacks has no cases.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

OURS = Path(__file__).parent / "data" / "rlinf"
DATA = Path(os.environ.get("ISOSCOPE_GOLDEN", OURS))

HOME = "isoscope.core.trajectory"
TYPES = {
    "EnvTransition": f"{HOME}.env",
    "EnvPart": f"{HOME}.env",
    "PolicyInput": f"{HOME}.policy_input",
    "PolicyOutput": f"{HOME}.policy",
    "PolicyPart": f"{HOME}.policy",
    "JoinedChunk": f"{HOME}.joiner",
    "TrajectoryStep": f"{HOME}.steps",
    "Trajectory": f"{HOME}.trajectory",
    "LeRobotStep": f"{HOME}.lerobot",
    "LeRobotChunk": f"{HOME}.lerobot",
    "LeRobotFrame": f"{HOME}.lerobot",
}
CLOSE = ("advantages", "returns")
# What torch, NumPy or a missing entry raises in RLinf, which is no designed check:
# ours may say what is wrong before that, with another type.
RAW = ("RuntimeError", "AttributeError", "KeyError", "TypeError", "IndexError")
# In our folder all of these are designed checks, but for those of preprocessing.
ACCIDENTS = () if DATA == OURS else RAW
NOTHING = object()


@dataclass
class Case:
    """One case; `tensors` are those of its group, by key."""

    id: str
    name: str
    call: str
    tensors: dict[str, torch.Tensor] = field(repr=False)
    args: dict[str, Any] = field(repr=False, default_factory=dict)
    expect: Any = field(repr=False, default=NOTHING)
    raises: str | None = None
    setup: dict[str, Any] = field(repr=False, default_factory=dict)
    events: list[dict[str, Any]] = field(repr=False, default_factory=list)
    after: list[str] = field(repr=False, default_factory=list)
    spec: Any = None
    note: str | None = None

    def decoded(self) -> dict[str, Any]:
        """The arguments as objects of ours."""
        return {name: decode(value, self.tensors) for name, value in self.args.items()}


@cache
def tensors_of(group: str) -> dict[str, torch.Tensor]:
    return load_file(DATA / f"{group}.safetensors")


@cache
def cases_of(group: str) -> list[Case]:
    """All cases of a group."""
    if not (DATA / f"{group}.json").exists() and DATA != OURS:
        return []
    written = json.loads((DATA / f"{group}.json").read_text("utf-8"))
    assert (written["format"], written["format_version"]) == ("trajectory-golden", 1)
    cases = [Case(tensors=tensors_of(group), **case) for case in written["cases"]]
    assert len(cases) == written["case_count"]
    return cases


def class_of(name: str) -> Any:
    """Our class of this name."""
    return getattr(import_module(TYPES[name]), name)


def decode(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Turn a written value into ours; tensors and arrays are copies."""
    if isinstance(value, list):
        return [decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "$t" in value:
        return tensors[value["$t"]].clone()
    if "$a" in value:
        return tensors[value["$a"]].numpy().copy()
    if "$key" in value:
        return key(value["$key"])
    if "$source" in value:
        rows = value["$source"]
        return source(decode(rows["key"], tensors), rows["size"], rows["offset"])
    if "$tuple" in value:
        return tuple(decode(value["$tuple"], tensors))
    if "$float" in value:
        return float(value["$float"])
    if "$type" in value:
        given = {k: decode(v, tensors) for k, v in value.items() if k != "$type"}
        return build(class_of(value["$type"]), given)
    assert not any(name.startswith("$") for name in value), sorted(value)
    return {name: decode(item, tensors) for name, item in value.items()}


def build(kind: Any, given: dict[str, Any]) -> Any:
    """Make an object; what was left out is None, also where there is no default."""
    missing = dataclasses.MISSING
    for item in dataclasses.fields(kind):
        needed = item.default is missing and item.default_factory is missing
        if item.init and needed and item.name not in given:
            given[item.name] = None
    return kind(**given)


def key(parts: list[int]) -> Any:
    from isoscope.core.trajectory.keys import TrajectoryKey

    return TrajectoryKey(*parts)


def source(of: Any, size: int, offset: int) -> Any:
    from isoscope.core.trajectory.keys import TrajectorySource

    return TrajectorySource(of, size, offset)


def assert_same(
    expected: Any, actual: Any, tensors: dict[str, torch.Tensor], where: str = "result"
) -> None:
    """Compare a result of ours with what was written down."""
    if isinstance(expected, list):
        assert isinstance(actual, list), f"{where}: {type(actual).__name__}, not a list"
        _assert_items(expected, actual, tensors, where)
    elif not isinstance(expected, dict):
        assert type(actual) is type(expected), f"{where}: {actual!r} for {expected!r}"
        assert actual == expected, f"{where}: {actual!r}, expected {expected!r}"
    elif "$t" in expected:
        assert isinstance(actual, torch.Tensor), f"{where}: {type(actual).__name__}"
        _assert_tensor(tensors[expected["$t"]], actual, where)
    elif "$a" in expected:
        assert isinstance(actual, np.ndarray), f"{where}: {type(actual).__name__}"
        wanted = tensors[expected["$a"]].numpy()
        assert actual.dtype == wanted.dtype, f"{where}: {actual.dtype}"
        _assert_tensor(torch.from_numpy(wanted), torch.from_numpy(actual), where)
    elif "$tuple" in expected:
        assert isinstance(actual, tuple), f"{where}: {type(actual).__name__}"
        _assert_items(expected["$tuple"], list(actual), tensors, where)
    elif "$type" in expected:
        _assert_object(expected, actual, tensors, where)
    elif any(name in expected for name in ("$key", "$source", "$float")):
        wanted = decode(expected, tensors)
        same = actual == wanted or (wanted != wanted and actual != actual)
        assert same, f"{where}: {actual!r}, expected {wanted!r}"
    else:
        assert isinstance(actual, dict), f"{where}: {type(actual).__name__}, not a dict"
        assert set(actual) == set(expected), f"{where}: {set(actual) ^ set(expected)}"
        for name, value in expected.items():
            assert_same(value, actual[name], tensors, f"{where}.{name}")


def _assert_items(
    expected: list[Any], actual: list[Any], tensors: dict[str, Any], where: str
) -> None:
    assert len(actual) == len(expected), f"{where}: {len(actual)}, not {len(expected)}"
    for number, (left, right) in enumerate(zip(expected, actual, strict=True)):
        assert_same(left, right, tensors, f"{where}[{number}]")


def _assert_object(
    expected: dict[str, Any], actual: Any, tensors: dict[str, Any], where: str
) -> None:
    name = expected["$type"]
    assert type(actual).__name__ == name, (
        f"{where}: {type(actual).__name__}, not {name}"
    )
    for item, value in expected.items():
        if item != "$type":
            assert_same(value, getattr(actual, item), tensors, f"{where}.{item}")
    for item in dataclasses.fields(actual):
        if item.name not in expected:
            left_out = getattr(actual, item.name)
            assert left_out is None, f"{where}.{item.name}: {left_out!r}, not None"


def _assert_tensor(expected: torch.Tensor, actual: torch.Tensor, where: str) -> None:
    assert actual.shape == expected.shape, f"{where}: {actual.shape}, {expected.shape}"
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype}, {expected.dtype}"
    close = where.rsplit(".", 1)[-1].split("[")[0] in CLOSE
    tolerance = 1e-6 if close else 0.0
    torch.testing.assert_close(
        actual,
        expected,
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
        msg=lambda text: f"{where}: {text}",
    )
