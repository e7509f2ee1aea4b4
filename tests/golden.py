"""Results recorded from RLinf, and comparing with them.

``tests/data/rlinf/README.md`` says how the files are read. Decoding is strict: what the
files don't say is an error here. A case decodes its values anew at every access, so a
call that works in place can't spoil another case.

    for case in golden.cases("sources"):
        golden.run(case, lambda case: call(**case.args))
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FOLDER = Path(__file__).parent / "data" / "rlinf"
CASES = 734

# Where the data classes named in the files are found.
MODULE = "isoscope.core.trajectory"
# Fields of ours that RLinf's classes don't have; they are not compared.
OURS: dict[str, frozenset[str]] = {}
# Compared within 1e-6 instead of exactly.
CLOSE = frozenset({"advantages", "returns"})
TOLERANCE = 1e-6


class Group:
    """One group: its cases as JSON, and its tensors."""

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self.name = name
        self.data = json.loads((folder / f"{name}.json").read_text("utf-8"))
        assert self.data["format"] == "trajectory-golden"
        assert self.data["format_version"] == 1
        self.tensors = load_file(folder / self.data["tensors"])
        assert len(self.data["cases"]) == self.data["case_count"]

    def decode(self, value: Any) -> Any:
        """Turn the JSON of a value into the value, with tensors of its own."""
        if isinstance(value, list):
            return [self.decode(each) for each in value]
        if not isinstance(value, dict):
            return value
        special = next((key for key in value if key.startswith("$")), None)
        if special is None:
            return {key: self.decode(each) for key, each in value.items()}
        inner = value[special]
        if special == "$t":
            return self.tensors[inner].clone()
        if special == "$a":
            return self.tensors[inner].numpy().copy()
        if special == "$tuple":
            return tuple(self.decode(each) for each in inner)
        if special == "$float":
            return float(inner)
        if special == "$key":
            return data_class("TrajectoryKey")(*inner)
        if special == "$source":
            return data_class("TrajectorySource")(**self.decode(inner))
        if special == "$type":
            kind = data_class(inner)
            # A field that is None was left out, also where it has no default.
            given = {
                field.name: None
                for field in dataclasses.fields(kind)
                if field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            }
            given |= {k: self.decode(v) for k, v in value.items() if k != "$type"}
            return kind(**given)
        raise AssertionError(f"{special} in {self.name} is not described")


@dataclasses.dataclass(frozen=True)
class Case:
    """One case; `group` decodes its values."""

    group: Group
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def call(self) -> str:
        return str(self.data["call"])

    @property
    def args(self) -> dict[str, Any]:
        return dict(self.group.decode(self.data["args"]))

    @property
    def setup(self) -> dict[str, Any]:
        return dict(self.group.decode(self.data["setup"]))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events; only ``in`` and the like decoded, ``expect`` as in the file."""
        return [
            {k: v if k == "expect" else self.group.decode(v) for k, v in event.items()}
            for event in self.data["events"]
        ]

    @property
    def expect(self) -> Any:
        """The expected result as in the file; compare with `check`."""
        return self.data["expect"]

    @property
    def raises(self) -> str | None:
        return self.data.get("raises")

    def check(self, actual: Any, expect: Any = ..., close: Iterable[str] = ()) -> None:
        """Assert that `actual` is what was recorded (or another part of the file).

        `close` names more keys whose values need only be within the tolerance.
        """
        wanted = self.data["expect"] if expect is ... else expect
        same(self.group, actual, wanted, self.name, CLOSE | frozenset(close))

    def __repr__(self) -> str:
        return f"{self.group.name}:{self.name}"


@functools.cache
def group(name: str, folder: Path = FOLDER) -> Group:
    """Load one group, once."""
    return Group(name, folder)


def cases(name: str, *calls: str) -> list[Case]:
    """Give the cases of a group, of these calls only if any are named."""
    loaded = group(name)
    found = [Case(loaded, data) for data in loaded.data["cases"]]
    return [case for case in found if not calls or case.call in calls]


def parametrize(name: str, *calls: str) -> pytest.MarkDecorator:
    """Run a test once for each case: its argument is called `case`."""
    found = cases(name, *calls)
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


def run(
    case: Case,
    call: Callable[[Case], Any],
    errors: type[Exception] | tuple[type[Exception], ...] = (),
    close: Iterable[str] = (),
) -> None:
    """Call, and compare: the result, or the error's class or one of `errors`."""
    if case.raises is None:
        case.check(call(case), close=close)
        return
    extra = errors if isinstance(errors, tuple) else (errors,)
    with pytest.raises((named_error(case.raises), *extra)):
        call(case)


def named_error(name: str) -> type[Exception]:
    """Give the built-in exception of this name."""
    import builtins

    error = getattr(builtins, name)
    assert issubclass(error, Exception)
    return error


@functools.cache
def data_class(name: str) -> type[Any]:
    """Give our class of this name."""
    return getattr(importlib.import_module(MODULE), name)


def same(
    group: Group, actual: Any, wanted: Any, where: str, close: frozenset[str]
) -> None:
    """Assert that a value is the one that JSON tells, to the dtype."""
    if isinstance(wanted, list):
        assert isinstance(actual, list), f"{where}: {type(actual).__name__}, not list"
        each(group, actual, wanted, where, close)
        return
    if not isinstance(wanted, dict):
        assert actual is not None or wanted is None, f"{where}: None, not {wanted!r}"
        assert type(actual) is type(wanted), f"{where}: {actual!r}, not {wanted!r}"
        assert actual == wanted, f"{where}: {actual!r}, not {wanted!r}"
        return
    special = next((key for key in wanted if key.startswith("$")), None)
    if special is None:
        assert isinstance(actual, dict), f"{where}: {type(actual).__name__}, not dict"
        assert set(actual) == set(wanted), f"{where}: other keys"
        for key, value in wanted.items():
            same(group, actual[key], value, f"{where}.{key}", close)
    elif special in ("$t", "$a"):
        array(actual, group.decode(wanted), where, close)
    elif special == "$tuple":
        assert isinstance(actual, tuple), f"{where}: {type(actual).__name__}, not tuple"
        each(group, actual, wanted["$tuple"], where, close)
    elif special == "$type":
        record(group, actual, wanted, where, close)
    else:
        value = group.decode(wanted)
        both_nan = value != value and actual != actual
        assert both_nan or actual == value, f"{where}: {actual!r}, not {value!r}"


def each(
    group: Group, actual: Any, wanted: list[Any], where: str, close: frozenset[str]
) -> None:
    assert len(actual) == len(wanted), f"{where}: {len(actual)}, not {len(wanted)}"
    for at, (one, other) in enumerate(zip(actual, wanted, strict=True)):
        same(group, one, other, f"{where}[{at}]", close)


def record(
    group: Group, actual: Any, wanted: dict[str, Any], where: str, close: frozenset[str]
) -> None:
    kind = wanted["$type"]
    assert isinstance(actual, data_class(kind)), f"{where}: {type(actual).__name__}"
    for field in dataclasses.fields(actual):
        if field.name not in OURS.get(kind, frozenset()):
            value = getattr(actual, field.name)
            name = f"{where}.{field.name}"
            same(group, value, wanted.get(field.name), name, close)
    unknown = set(wanted) - {"$type"} - {f.name for f in dataclasses.fields(actual)}
    assert not unknown, f"{where}: no field {unknown}"


def array(actual: Any, wanted: Any, where: str, close: frozenset[str]) -> None:
    assert type(actual) is type(wanted), f"{where}: {type(actual).__name__}"
    assert actual.shape == wanted.shape, f"{where}: {actual.shape}, not {wanted.shape}"
    assert actual.dtype == wanted.dtype, f"{where}: {actual.dtype}, not {wanted.dtype}"
    one = actual.detach().numpy() if isinstance(actual, torch.Tensor) else actual
    other = wanted.numpy() if isinstance(wanted, torch.Tensor) else wanted
    last = where.rsplit(".", 1)[-1].split("[")[0].split("::")[-1]
    if last in close:
        equal = np.allclose(one, other, TOLERANCE, TOLERANCE, equal_nan=True)
    else:
        floating = np.issubdtype(other.dtype, np.floating)
        equal = np.array_equal(one, other, equal_nan=bool(floating))
    assert equal, f"{where}:\n{actual}\nnot\n{wanted}"
