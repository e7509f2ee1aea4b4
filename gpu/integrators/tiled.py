"""Steps many worlds in blocks, so that what a block computes with stays in the cache.

Worlds do not touch each other, and a world's bits do not depend on its batch: the same
comes out for every size of block.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.integrators.base import StepOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import Integrator
    from isoscope.gpu.model.parameters import Parameters

# Bytes of one row of a block. Of rows half as long, starting an operation takes most of
# the time; of longer ones, the caches are left behind.
ROW_BYTES = 64 * 1024


def blocks(
    worlds: int,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    *,
    size: int | None = None,
) -> list[tuple[int, int]]:
    """Cut worlds into blocks: first world, and one past the last.

    Parameters
    ----------
    size
        Worlds in a block; None: what suits the caches. On other devices than CPUs all
        worlds are one block then.
    """
    if size is None:
        on_cpu = torch.device(device).type == "cpu"
        size = ROW_BYTES // dtype.itemsize if on_cpu else worlds
    size = max(1, size)
    return [(at, min(at + size, worlds)) for at in range(0, worlds, size)]


class Tiled:
    """Another integrator, block by block.

    Parameters
    ----------
    inner
        Steps each block.
    size
        Worlds in a block; None: see `blocks`.
    """

    def __init__(self, inner: Integrator, size: int | None = None) -> None:
        self.inner = inner
        self.size = size
        self._cut: tuple[Parameters, list[tuple[int, int]], list[Parameters]] | None
        self._cut = None

    def step(
        self,
        q: Tensor,
        v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> StepOutcome:
        """Step by h seconds; see `Integrator.step`."""
        spans = blocks(q.shape[-1], q.dtype, q.device, size=self.size)
        if len(spans) <= 1:
            return self.inner.step(q, v, h, control, parameters)
        parts = self._parts(parameters, spans)
        outcomes = [
            self.inner.step(
                q[:, start:stop], v[:, start:stop], h, control.block(start, stop), part
            )
            for (start, stop), part in zip(spans, parts, strict=True)
        ]

        def joined(name: str) -> Tensor:
            return torch.cat([getattr(outcome, name) for outcome in outcomes], dim=-1)

        return StepOutcome(
            joined("q"),
            joined("v"),
            joined("status"),
            joined("iterations"),
            joined("residual"),
            joined_reports([outcome.contacts for outcome in outcomes]),
            _summed([outcome.timing for outcome in outcomes]),
        )

    def _parts(
        self, parameters: Parameters, spans: list[tuple[int, int]]
    ) -> list[Parameters]:
        """Return each block's parameters, the same objects from step to step."""
        if self._cut is None or self._cut[0] is not parameters or self._cut[1] != spans:
            uniform = all(tensor.shape[1] == 1 for _, tensor in parameters.items())
            parts = [
                parameters if uniform else parameters.block(start, stop)
                for start, stop in spans
            ]
            self._cut = (parameters, spans, parts)
        return self._cut[2]


def joined_reports(reports: Sequence[Any]) -> Any:
    """Join reports of blocks of worlds: dataclasses of tensors with the worlds last.

    Tensors with one axis say what all worlds have in common and are taken as they are.
    """
    first = reports[0]
    if first is None or not is_dataclass(first) or isinstance(first, type):
        return first
    changes: dict[str, Any] = {}
    for entry in fields(first):
        values = [getattr(report, entry.name) for report in reports]
        if isinstance(values[0], torch.Tensor) and values[0].dim() > 1:
            changes[entry.name] = torch.cat(values, dim=-1)
    return replace(first, **changes)


def _summed(timings: Sequence[dict[str, float] | None]) -> dict[str, float] | None:
    given = [timing for timing in timings if timing is not None]
    if not given:
        return None
    return {
        name: sum(timing.get(name, 0.0) for timing in given)
        for name in {name: None for timing in given for name in timing}
    }
