"""Results that stay on the device until somebody looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.scene import Array, Scene


class OnDevice:
    """An array of the scene's kind that crosses over when it is looked at, once.

    NumPy's functions take it as an array (`numpy.asarray` crosses over). Each crossing
    is told to the scene's ledger with its cause.

    Attributes
    ----------
    array
        The device's own, for whoever computes there.
    """

    __slots__ = ("_cause", "_host", "_scene", "array")

    def __init__(self, array: Array, scene: Scene, cause: str) -> None:
        self.array = array
        self._scene = scene
        self._cause = cause
        self._host: np.ndarray[Any, Any] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Known without crossing over."""
        return tuple(self.array.shape)

    @property
    def looked_at(self) -> bool:
        """Whether it has crossed over."""
        return self._host is not None

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values on the host; the same array each time."""
        if self._host is None:
            self._host = self._scene.to_host(self.array, self._cause)
        return self._host

    def __array__(
        self, dtype: Any = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        host = self.numpy()
        if dtype is not None and host.dtype != np.dtype(dtype):
            return host.astype(dtype)
        return host.copy() if copy else host

    def __getitem__(self, index: Any) -> Any:
        return self.numpy()[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def __repr__(self) -> str:
        return f"OnDevice(shape={self.shape}, looked_at={self.looked_at})"
