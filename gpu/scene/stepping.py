"""One native step of the worlds that take part, in blocks that fit the cache.

Worlds that don't take part, because they were left out or are invalid, keep every bit.
On a CPU they aren't computed at all: the others are gathered. On CUDA that would ask
the device which ones they are, and so wait for it: all are computed, and theirs
discarded. No world's bits depend on the others (`gpu.device` says why), so neither do
results on the way chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.integrators.base import CONVERGED, StepOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.scene.machine import Machine
    from isoscope.gpu.scene.state import StateBlock

# The status of a world that was not stepped; the others are the integrators'.
LEFT_OUT = -1


@dataclass(frozen=True, slots=True)
class Stepped:
    """How a step went, [W]: status int8, iterations int32, residual."""

    status: torch.Tensor
    iterations: torch.Tensor
    residual: torch.Tensor


class Stepper:
    """Advances a block of state by one step.

    Parameters
    ----------
    block_worlds
        How many worlds are computed at a time; None: as the machine says.

    Attributes
    ----------
    gathers
        Whether only worlds that take part are computed; otherwise all are.
    pushed, wrenched
        Whether forces on degrees of freedom, or wrenches on links, were ever set. Until
        then they are left out of the computation.
    """

    def __init__(self, device: torch.device, block_worlds: int | None = None) -> None:
        self.gathers = device.type == "cpu"
        self._block_worlds = block_worlds
        self._parts: tuple[Parameters, int, list[Parameters]] | None = None
        self.pushed = False
        self.wrenched = False

    def advance(
        self,
        machine: Machine,
        state: StateBlock,
        draft: StateBlock,
        h_s: float,
        parameters: Parameters,
        taking_part: torch.Tensor | None,
    ) -> Stepped:
        """Compute a step from `state`, which stays as it is, into `draft`.

        Parameters
        ----------
        draft
            Its part that steps change is written, of all worlds.
        taking_part
            bool [W]; None: all.
        """
        # Asking whether there are any doubtful ones is free on a CPU only.
        known = self.gathers and not bool(state.doubtful.any())
        whole = taking_part is None and known
        chosen = None if whole else _chosen(state, taking_part)
        if chosen is None:
            stepped = self._all(machine, state, draft, h_s, parameters)
        elif self.gathers:
            stepped = self._some(machine, state, draft, h_s, parameters, chosen)
        else:
            everyone = self._all(machine, state, draft, h_s, parameters)
            stepped = _without_others(state, draft, everyone, chosen)
        _finish(state, draft, stepped, h_s, chosen)
        return stepped

    def _inputs(self, state: StateBlock) -> tuple[torch.Tensor | None, ...]:
        return (
            state.q,
            state.v,
            state.targets,
            state.dof_forces if self.pushed else None,
            state.wrenches if self.wrenched else None,
        )

    def _size(self, machine: Machine, state: StateBlock) -> int:
        given = self._block_worlds
        if given is None and self.gathers:
            given = machine.block_worlds
        return state.layout.worlds if given is None else given

    def _all(
        self,
        machine: Machine,
        state: StateBlock,
        draft: StateBlock,
        h_s: float,
        parameters: Parameters,
    ) -> Stepped:
        worlds, size = state.layout.worlds, self._size(machine, state)
        if worlds <= size:
            outcome = _step(machine, self._inputs(state), h_s, parameters)
            draft.q.copy_(outcome.q)
            draft.v.copy_(outcome.v)
            return Stepped(outcome.status, outcome.iterations, outcome.residual)
        stepped = _blank(state)
        for number, part in enumerate(self._parameter_blocks(parameters, size)):
            here = slice(number * size, min((number + 1) * size, worlds))
            inputs = [
                None if array is None else array[..., here].contiguous()
                for array in self._inputs(state)
            ]
            outcome = _step(machine, inputs, h_s, part)
            draft.q[:, here] = outcome.q
            draft.v[:, here] = outcome.v
            stepped.status[here] = outcome.status
            stepped.iterations[here] = outcome.iterations
            stepped.residual[here] = outcome.residual
        return stepped

    def _some(
        self,
        machine: Machine,
        state: StateBlock,
        draft: StateBlock,
        h_s: float,
        parameters: Parameters,
        chosen: torch.Tensor,
    ) -> Stepped:
        draft.q.copy_(state.q)
        draft.v.copy_(state.v)
        stepped = _blank(state)
        for index in torch.split(chosen.nonzero()[:, 0], self._size(machine, state)):
            if not len(index):
                break
            inputs = [
                None if array is None else array.index_select(array.dim() - 1, index)
                for array in self._inputs(state)
            ]
            outcome = _step(machine, inputs, h_s, worlds_of(parameters, index))
            draft.q.index_copy_(1, index, outcome.q)
            draft.v.index_copy_(1, index, outcome.v)
            stepped.status.index_copy_(0, index, outcome.status.to(torch.int8))
            stepped.iterations.index_copy_(0, index, outcome.iterations.to(torch.int32))
            stepped.residual.index_copy_(
                0, index, outcome.residual.to(stepped.residual.dtype)
            )
        return stepped

    def _parameter_blocks(self, parameters: Parameters, size: int) -> list[Parameters]:
        # Parameters are never written to, so the same object has the same blocks.
        if (
            self._parts is None
            or self._parts[0] is not parameters
            or self._parts[1] != size
        ):
            starts = range(0, parameters.worlds, size)
            uniform = all(tensor.shape[1] == 1 for _, tensor in parameters.items())
            blocks = [
                parameters
                if uniform
                else parameters.block(start, min(start + size, parameters.worlds))
                for start in starts
            ]
            self._parts = (parameters, size, blocks)
        return self._parts[2]


def worlds_of(parameters: Parameters, index: torch.Tensor) -> Parameters:
    """The parameters of the worlds with these numbers."""
    if all(tensor.shape[1] == 1 for _, tensor in parameters.items()):
        return parameters
    parts: dict[str, Any] = {
        declared.name: tensor.index_select(1, index)
        for declared, tensor in parameters.items()
        if tensor.shape[1] != 1
    }
    return replace(parameters, worlds=len(index), **parts)


def _step(
    machine: Machine,
    inputs: Sequence[torch.Tensor | None],
    h_s: float,
    parameters: Parameters,
) -> StepOutcome:
    q, v, *given = inputs
    assert q is not None  # only what is controlled may be left out
    assert v is not None
    if h_s == 0.0:
        return _still(q, v)
    outcome = machine.step(q, v, h_s, Control(*given), parameters)
    # Forces that are zero, instead of none, may turn a -0 into 0; so all become 0.
    return replace(outcome, q=outcome.q + 0.0, v=outcome.v + 0.0)


def _still(q: torch.Tensor, v: torch.Tensor) -> StepOutcome:
    """A step of no length, which integrators could only divide by."""
    worlds = q.shape[-1]
    return StepOutcome(
        q,
        v,
        torch.zeros(worlds, dtype=torch.int8, device=q.device),
        torch.zeros(worlds, dtype=torch.int32, device=q.device),
        torch.zeros(worlds, dtype=q.dtype, device=q.device),
    )


def _blank(state: StateBlock) -> Stepped:
    """What is told of worlds that were left out."""
    worlds, device = state.layout.worlds, state.storage.device
    return Stepped(
        torch.full((worlds,), LEFT_OUT, dtype=torch.int8, device=device),
        torch.zeros(worlds, dtype=torch.int32, device=device),
        torch.full((worlds,), torch.nan, dtype=state.q.dtype, device=device),
    )


def _chosen(state: StateBlock, taking_part: torch.Tensor | None) -> torch.Tensor:
    usable = state.usable()
    return usable if taking_part is None else usable & taking_part


def _without_others(
    state: StateBlock, draft: StateBlock, stepped: Stepped, chosen: torch.Tensor
) -> Stepped:
    """Discard what was computed of worlds that don't take part."""
    draft.q.copy_(torch.where(chosen, draft.q, state.q))
    draft.v.copy_(torch.where(chosen, draft.v, state.v))
    return Stepped(
        torch.where(chosen, stepped.status, LEFT_OUT),
        torch.where(chosen, stepped.iterations, 0),
        torch.where(chosen, stepped.residual, torch.nan),
    )


def _finish(
    state: StateBlock,
    draft: StateBlock,
    stepped: Stepped,
    h_s: float,
    chosen: torch.Tensor | None,
) -> None:
    """Write what follows from q and v: clocks, history, and which worlds are usable.

    What is not finite has the status DIVERGED; integrators promise that.
    """
    torch.logical_or(state.doubtful, stepped.status > CONVERGED, out=draft.doubtful)
    draft.q_end.copy_(draft.q)
    if chosen is None:
        torch.add(state.time, h_s, out=draft.time)
        draft.h_last.fill_(h_s)
        draft.q_start.copy_(state.q)
        draft.targets_previous.copy_(state.targets)
        return
    torch.where(chosen, state.time + h_s, state.time, out=draft.time)
    draft.h_last.copy_(torch.where(chosen, h_s, state.h_last))
    torch.where(chosen, state.q, state.q_start, out=draft.q_start)
    torch.where(chosen, draft.q, state.q_end, out=draft.q_end)
    torch.where(
        chosen, state.targets, state.targets_previous, out=draft.targets_previous
    )
