"""Many fields of many states at once: kept as they are, computed and read together.

Reading a field copies it to the host, and reading the next one does so again. Whoever
wants to know all of them after each native step takes a sample there, which stays on
the device and waits for nothing, and reads several samples in one go: one evaluation
for all their worlds, and two copies. No world's bits depend on the others
(`isoscope.gpu.device` says why), so the values are those that single reads had given.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.scene import Sampled
from isoscope.gpu.scene import snapshot_bytes
from isoscope.gpu.scene.principal import PrincipalFrames, turned
from isoscope.gpu.scene.state import Layout, StateBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.columns import Columns
    from isoscope.gpu.scene.machine import Machine
    from isoscope.gpu.scene.snapshot_bytes import Header
    from isoscope.gpu.transfer import Ledger

    Array = np.ndarray[Any, np.dtype[Any]]
    Now = Callable[[], tuple[Machine, StateBlock, Parameters]]

# What is needed of a state of which only some worlds are seen.
NEEDED = ("time", "h_last", "q", "v", "q_start", "q_end", "targets")
POSITIONS = ("q", "q_start", "q_end")


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A state of the worlds that are seen, and what it is to be computed with.

    Attributes
    ----------
    storage
        uint8, laid out as the sampler's block.
    stream
        On which it is made, on CUDA; None elsewhere.
    table
        Where worlds have parameters of their own, what was computed at once; see
        `Columns`.
    """

    storage: torch.Tensor
    stream: Any
    machine: Machine
    parameters: Parameters
    table: torch.Tensor | None

    @property
    def size_bytes(self) -> int:
        """How much memory it holds on to."""
        return self.storage.numel() + (0 if self.table is None else self.table.nbytes)


class SceneSampler:
    """Samples one scene; see `isoscope.core.scene.Sampler`.

    Parameters
    ----------
    worlds
        Numbers of those that are seen; None for all: then samples are whole states.
    header
        Of the scene's states as bytes.
    now
        Gives the machine, the state and the parameters as they are.
    cause
        Of all its copies, in the ledger.
    """

    def __init__(
        self,
        tree: Tree,
        columns: Columns,
        worlds: Sequence[int] | None,
        header: Header,
        now: Now,
        ledger: Ledger,
        cause: str,
    ) -> None:
        _, state, _ = now()
        self._device = device = state.storage.device
        self._columns = columns
        self._header = header
        self._now = now
        self._ledger = ledger
        self._cause = cause
        self._real = state.q.dtype
        self._host_real = np.dtype(str(self._real).removeprefix("torch."))
        self._rows = torch.tensor(columns.numbers, dtype=torch.int64, device=device)
        self._turned = np.array([list(p) for p in columns.turned[0]], np.int64)
        self._numbers = None if worlds is None else list(worlds)
        self._index: torch.Tensor | None = None
        self._layout = state.layout
        if self._numbers is not None:
            self._index = torch.tensor(self._numbers, dtype=torch.int64, device=device)
            self._layout = Layout.of(tree, len(self._numbers), self._real)
        self._sections = {section.name: section for section in self._layout.sections}
        self._crossing = self._layout.total_bytes
        if worlds is not None:
            self._crossing = self._sections["targets"].end
        self._frames = PrincipalFrames(ledger, cause)
        self._uniform: tuple[Parameters | None, bool] = None, True

    # -- taking ------------------------------------------------------------------------

    def take(self) -> Sample:
        """Keep the state as it is now: a copy within the device."""
        machine, state, parameters = self._now()
        alike = not self._columns.numbers or self._is_uniform(parameters)
        if self._index is not None or not alike:
            return self._taken(machine, state, parameters, alike=alike)
        storage = state.storage  # of bytes, of which nobody wants gradients
        with self._ledger.copying("d2d", storage.numel(), self._cause):
            kept = storage.clone()
        return Sample(kept, self._stream(), machine, parameters, None)

    @torch.no_grad()
    def _taken(
        self,
        machine: Machine,
        state: StateBlock,
        parameters: Parameters,
        *,
        alike: bool,
    ) -> Sample:
        """Keep some worlds' state, or one whose worlds differ in their parameters."""
        index, table = self._index, None
        if not alike:
            positions = [getattr(state, name) for name in POSITIONS]
            given = machine, parameters, positions, state.v, state.h_last
            table = self._columns.table_of_each(*given)
            if index is not None:
                table = table.index_select(1, index)
        if index is None:
            kept = torch.empty_like(state.storage)
            self._ledger.copy(kept, state.storage, self._cause)
            return Sample(kept, self._stream(), machine, parameters, table)
        size, device = self._layout.total_bytes, self._device
        with self._ledger.copying("d2d", self._crossing, self._cause):
            kept = torch.zeros(size, dtype=torch.uint8, device=device)
            block = StateBlock(self._layout, kept)
            for name in NEEDED:
                seen, array = getattr(block, name), getattr(state, name)
                torch.index_select(array, array.dim() - 1, index, out=seen)
        return Sample(kept, self._stream(), machine, parameters, table)

    def _stream(self) -> Any:
        on_cuda = self._device.type == "cuda"
        return torch.cuda.current_stream(self._device) if on_cuda else None

    def _is_uniform(self, parameters: Parameters) -> bool:
        """Whether all worlds have the same parameters, which are never written to."""
        known, uniform = self._uniform
        if known is not parameters:
            uniform = all(tensor.shape[1] == 1 for _, tensor in parameters.items())
            self._uniform = parameters, uniform
        return uniform

    # -- reading -----------------------------------------------------------------------

    @torch.no_grad()
    def read(self, samples: Sequence[Sample]) -> Sampled:
        """The samples' values, clocks and, where all worlds are seen, states."""
        columns, count = self._columns, len(samples)
        for stream in {sample.stream for sample in samples}:
            if stream is not None:  # another thread's, maybe: what it does comes first
                torch.cuda.current_stream(self._device).wait_stream(stream)
        stored = torch.stack([sample.storage for sample in samples])
        host = self._ledger.to_host(stored[:, : self._crossing], self._cause)
        shape = count, self._layout.worlds, columns.width
        values = np.full(shape, np.nan, self._host_real)
        for places, name, rows in columns.stored:
            values[:, :, places] = self._of_host(host, name)[:, :, rows]
        values[:, :, columns.fixed[0]] = columns.fixed[1]
        if columns.numbers:
            self._fill(samples, stored, values)
        states = None
        if self._index is None:
            states = [snapshot_bytes.encode(self._header, s.tobytes()) for s in host]
        return Sampled(values, self._of_host(host, "time")[:, :, 0], states)

    def _of_host(self, host: Array, name: str) -> Array:
        """An array of stored states on the host, [n, W, rows]."""
        section = self._sections[name]
        dtype = np.float64 if section.dtype is torch.float64 else self._host_real
        part: Array = np.ascontiguousarray(host[:, section.start : section.end])
        shape = len(host), section.rows, self._layout.worlds
        return part.view(dtype).reshape(shape).transpose(0, 2, 1)

    def _on_device(self, stored: torch.Tensor, name: str) -> torch.Tensor:
        """The same on the device, [rows, n, W]."""
        section = self._sections[name]
        every = stored.view(section.dtype)
        size, worlds = section.dtype.itemsize, self._layout.worlds
        shape = section.rows, len(stored), worlds
        steps = worlds, every.shape[1], 1
        begin = every.storage_offset() + section.start // size
        return every.as_strided(shape, steps, begin)

    def _fill(
        self, samples: Sequence[Sample], stored: torch.Tensor, values: Array
    ) -> None:
        """Fill in what follows from where the links are."""
        columns, begin = self._columns, 0
        for _, alike in groupby(samples, _computed_with):
            group = list(alike)
            here = slice(begin, begin + len(group))
            machine, parameters = group[0].machine, group[0].parameters
            tables = [sample.table for sample in group if sample.table is not None]
            if tables:
                table = torch.cat(tables, 1)
            else:
                given = self._flat(stored[here])
                table = columns.table_at_once(machine, parameters, *given)
            found = self._ledger.to_host(
                table.index_select(0, self._rows).T, self._cause
            )
            shape = len(group), self._layout.worlds, len(columns.places)
            values[here][:, :, columns.places] = found.reshape(shape)
            if len(self._turned):
                self._turn(values[here], parameters)
            begin += len(group)

    def _flat(
        self, stored: torch.Tensor
    ) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        """Positions, velocities and lengths of the steps, worlds side by side."""
        q = [self._on_device(stored, name).flatten(1) for name in POSITIONS]
        v = self._on_device(stored, "v").flatten(1)
        return q, v, self._on_device(stored, "h_last").flatten()

    def _turn(self, values: Array, parameters: Parameters) -> None:
        """Turn rotations of links into their principal frames, where they are."""
        frames = self._frames.of(parameters)[:, self._columns.turned[1]]
        if self._numbers is not None and len(frames) > 1:
            frames = frames[self._numbers]
        rotations = values[:, :, self._turned]
        wide = np.broadcast_to(frames, rotations.shape).reshape(-1, 4)
        found = turned(np.ascontiguousarray(rotations).reshape(-1, 4), wide)
        values[:, :, self._turned] = found.reshape(rotations.shape)


def _computed_with(sample: Sample) -> tuple[int, int, bool]:
    return id(sample.machine), id(sample.parameters), sample.table is None
