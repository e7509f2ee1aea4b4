"""What the user knows about whose steps they were: a file of labels, read and checked.

Two forms, both partial if need be. As arrays, one value a native step, -1 or null where
unknown (JSON, or ``.npz`` with the same names)::

    {"env": [0, 1, null], "episode": [...], "control_step": [...], "substep": [...],
     "substeps": 2}

As a list of steps, which is also what ``isoscope attribute --json`` prints::

    {"steps": [{"native": 12, "env": 0, "episode": 1, "control_step": 3, "substep": 0}]}

A bare list is taken as such a list of steps. In an ``.npz``, an array ``native`` says
which native steps the others are about. Every key but ``native`` may be left out.
``substeps`` is M. Environments and substeps count from 0, episodes and control steps
from 1; a reset's own step is control step 0.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import ReadError
from isoscope.core.recording.model import Labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array

DOING = "reading labels from"
NAMES = ("env", "episode", "control_step", "substep")
MAX_BYTES = 1 << 30
MAX_SUBSTEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class GivenLabels:
    """Labels that somebody gives.

    Attributes
    ----------
    labels
        [T]; -1 where nothing is said. `kind` says nothing.
    substeps
        M, or None where it isn't given.
    source
        What to call it in messages.
    certain
        Whether who gives them saw the steps happen: such labels are taken as they are.
    """

    labels: Labels
    substeps: int | None = None
    source: str = "the labels"
    certain: bool = False


def read_labels(path: str | Path, steps: int) -> GivenLabels:
    """Read a file of labels for a recording of `steps` native steps.

    Raises
    ------
    ReadError
        If it can't be read, or does not fit the recording.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ReadError(DOING, path, "the file is larger than labels can be")
        content = path.read_bytes()
    except OSError as error:
        raise ReadError(DOING, path, error.strerror or str(error)) from None
    if content.startswith(b"PK\x03\x04"):
        given = _from_npz(path)
    else:
        given = _from_json(path, content)
    return _Reader(path, steps).take(given)


def _from_json(path: Path, content: bytes) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise ReadError(
            DOING, path, f"not JSON: {error}", remedy="give JSON or .npz"
        ) from None
    if isinstance(found, list):
        found = {"steps": found}
    if not isinstance(found, dict):
        raise ReadError(DOING, path, "neither an object nor a list of steps")
    return found


def _from_npz(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            known = [n for n in (*NAMES, "native", "substeps") if n in found.files]
            return {name: found[name] for name in known}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ReadError(DOING, path, str(error)) from None


class _Reader:
    """Checks what a file of labels holds."""

    def __init__(self, path: Path, steps: int) -> None:
        self.path, self.steps = path, steps

    def fail(self, problem: str, where: str = "", remedy: str = "") -> ReadError:
        return ReadError(DOING, self.path, problem, where=where, remedy=remedy)

    def take(self, given: Mapping[str, Any]) -> GivenLabels:
        """Turn either form into columns."""
        if "steps" in given:
            given = {**given, **self._columns(given["steps"])}
        present = [name for name in NAMES if name in given]
        if not present and "substeps" not in given:
            raise self.fail(
                "no labels in it",
                remedy="it needs steps, or env, episode, control_step or substep",
            )
        out = Labels.unknown(self.steps)
        rows: Array | slice = slice(None)
        expected = self.steps
        if "native" in given:
            native = self._numbers(given["native"], "native")
            if len(native) and (native.min() < 0 or native.max() >= self.steps):
                raise self.fail(
                    f"a native step outside of 0 .. {self.steps - 1}", "native"
                )
            if len(np.unique(native)) != len(native):
                raise self.fail("a native step named twice", "native")
            rows, expected = native, len(native)
        for name in present:
            values = self._numbers(given[name], name)
            if len(values) != expected:
                raise self.fail(
                    f"{len(values)} values for {expected} native steps", name
                )
            getattr(out, name)[rows] = values
        for name in ("episode",):
            known = getattr(out, name)
            if (known == 0).any():
                raise self.fail("episodes count from 1, and one is 0", name)
        return GivenLabels(out, self._substeps(given), self.path.name)

    def _columns(self, steps: Any) -> dict[str, Any]:
        if not isinstance(steps, list):
            raise self.fail("not a list", "steps")
        columns: dict[str, list[Any]] = {name: [] for name in ("native", *NAMES)}
        for k, step in enumerate(steps):
            if not isinstance(step, dict) or step.get("native") is None:
                raise self.fail("a step without its native number", f"steps[{k}]")
            for name, column in columns.items():
                column.append(step.get(name))
        return columns

    def _numbers(self, values: Any, name: str) -> Array:
        """Whole numbers int64 [n]; null is -1."""
        if isinstance(values, list):
            values = [-1 if value is None else value for value in values]
            if not all(type(value) is int for value in values):
                raise self.fail("not all of them whole numbers or null", name)
            try:
                values = np.array(values, np.int64)
            except OverflowError:
                raise self.fail("a number too large", name) from None
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise self.fail("not a list of numbers", name)
        if values.dtype.kind not in "iu":
            raise self.fail("not all of them whole numbers", name)
        if len(values) and (values.min() < -1 or values.max() >= 2**31):
            raise self.fail("a number below 0 or too large", name)
        return values.astype(np.int64)

    def _substeps(self, given: Mapping[str, Any]) -> int | None:
        value = given.get("substeps")
        if value is None:
            return None
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0].item()
        if type(value) is not int or not 1 <= value <= MAX_SUBSTEPS:
            raise self.fail("not a number of substeps", "substeps")
        return value
