"""Arrays that are given to a scene: taken where they fit, written into its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.gpu.scene.errors import SceneError

if TYPE_CHECKING:
    from isoscope.core.scene import Worlds
    from isoscope.gpu.transfer import Ledger


class Intake:
    """Checks arrays and brings NumPy's to the device; the ledger knows of it."""

    def __init__(
        self, scene: str, worlds: int, device: torch.device, ledger: Ledger
    ) -> None:
        self._scene = scene
        self._worlds = worlds
        self._device = device
        self._ledger = ledger

    def mask(self, worlds: Worlds, doing: str) -> torch.Tensor | None:
        """Bool [W] on the device; None stays None.

        Raises
        ------
        SceneError
            For another shape or dtype, or a tensor of another device.
        """
        if worlds is None:
            return None
        mask = self._on_device(worlds, f"{doing}: worlds", "worlds")
        if mask.dtype is not torch.bool or tuple(mask.shape) != (self._worlds,):
            raise self._refusal(
                f"{doing}: worlds are {_told(mask)}; give bool [{self._worlds}]"
            )
        return mask

    def values(
        self, array: Any, shape: tuple[int, ...], doing: str, cause: str
    ) -> torch.Tensor:
        """Numbers [W, *shape] on the device.

        Raises
        ------
        SceneError
            For another shape, for what are no numbers, or a tensor of another device.
        """
        values = self._on_device(array, doing, cause)
        if tuple(values.shape) != (self._worlds, *shape):
            raise self._refusal(
                f"{doing}: {_told(values)} was given; "
                f"give {list((self._worlds, *shape))}"
            )
        if values.dtype is torch.bool or values.dtype.is_complex:
            raise self._refusal(f"{doing}: {_told(values)} was given; give numbers")
        return values

    def _on_device(self, array: Any, doing: str, cause: str) -> torch.Tensor:
        if isinstance(array, torch.Tensor):
            if array.device != self._device:
                raise self._refusal(
                    f"{doing} is on {array.device}, the scene on {self._device}; bring "
                    "it over with to_device"
                )
            return array.detach()
        if isinstance(array, np.ndarray):
            return self._ledger.to_device(array, self._device, None, cause)
        raise self._refusal(f"{doing}: {type(array).__name__} was given; give an array")

    def _refusal(self, problem: str) -> SceneError:
        return SceneError(f"scene {self._scene}, {problem}; nothing was changed")


def merge(
    target: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None
) -> None:
    """Write values [W, …] into an array with worlds last, where the mask is set.

    It is one copy, so nothing can cut it in half.
    """
    new = values.movedim(0, -1).to(target.dtype)
    target.copy_(new if mask is None else torch.where(mask, new, target))


def _told(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
