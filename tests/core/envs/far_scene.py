"""The NumPy scene as if it were on another device: every look that is not told fails.

Arrays claim to live elsewhere. They can be computed with, but not looked at: no truth
value, no number, no list, until `to_host` brings them over and counts them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from isoscope.core.scene import StepReport
from tests.core.envs.rail_scene import RailScene


class FarArray(np.ndarray[Any, Any]):
    """An array of another device."""

    device: Any = SimpleNamespace(type="far")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = super().__array_function__(func, types, args, kwargs)
        return _far(found) if isinstance(found, (np.ndarray, np.generic)) else found

    def __array_wrap__(self, array: Any, *rest: Any) -> Any:
        return _far(array)

    def __getitem__(self, index: Any) -> Any:
        return _far(super().__getitem__(index))

    def any(self, *args: Any, **kwargs: Any) -> Any:
        return _far(np.ndarray.any(near(self), *args, **kwargs))

    def all(self, *args: Any, **kwargs: Any) -> Any:
        return _far(np.ndarray.all(near(self), *args, **kwargs))

    def _refuse(self, *args: Any) -> NoReturn:
        raise AssertionError("looked at without to_host")

    __bool__ = __int__ = __float__ = __index__ = tolist = item = _refuse


def _far(array: Any) -> FarArray:
    return np.asarray(array).view(FarArray)


def near(array: Any) -> Any:
    """Look all the same."""
    return np.asarray(array).view(np.ndarray) if isinstance(array, FarArray) else array


class FarScene(RailScene):
    """See the module."""

    def positions(self, actor: int) -> Any:
        return _far(super().positions(actor))

    def velocities(self, actor: int) -> Any:
        return _far(super().velocities(actor))

    def _put(self, array: Any, value: Any, worlds: Any) -> None:
        super()._put(array, near(value), near(worlds))

    def step(self, h_s: float, worlds: Any = None) -> StepReport:
        report = super().step(h_s, near(worlds))
        parts = (report.status, report.iterations, report.residual, report.valid)
        return StepReport(h_s, *(_far(part.copy()) for part in parts))

    def restore(
        self, handle: int, release_immediately: bool = False, worlds: Any = None
    ) -> None:
        super().restore(handle, release_immediately, near(worlds))

    def configure(self, name: str, value: Any, worlds: Any = None) -> None:
        super().configure(name, near(value), near(worlds))

    def to_host(self, array: Any, cause: str) -> np.ndarray[Any, Any]:
        self.crossings.append((cause, array.nbytes))
        return np.array(near(array))

    def to_device(self, array: np.ndarray[Any, Any], cause: str) -> Any:
        assert not isinstance(array, FarArray)
        self.crossings.append((f"up: {cause}", np.asarray(array).nbytes))
        return _far(np.array(array))


def make_far_scene(
    model_name: str, worlds: int, device: str, precision: Any, integrator: str
) -> FarScene:
    return FarScene(model_name, worlds, precision)
