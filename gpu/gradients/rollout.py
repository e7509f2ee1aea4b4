"""Gradients of what a rollout of simulated steps leads to.

>>> result = rollout_gradient(
...     scene, q0, v0, controls, lambda run: (run.q[-1] ** 2).sum(),
...     h_s=0.02, substeps=2, parameters=("mass", "damping"),
... )
>>> result.controls  # d loss / d controls, [T, W, n]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch

from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.gradients.errors import GradientError, Refusal
from isoscope.gpu.gradients.implicit import implicit_speeds
from isoscope.gpu.gradients.watching import Watch, WatchedEquations
from isoscope.gpu.integrators.backward_euler import BackwardEuler
from isoscope.gpu.integrators.base import StepOutcome
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree
    from isoscope.gpu.scene.machine import Machine

# How far a recorded state may be from what the step leads to, of 1 + its size.
RECORDED_TOLERANCE = 1e-7


class Simulated(Protocol):
    """What is needed of a scene; `isoscope.gpu.scene.make.make_scene` makes one."""

    @property
    def tree(self) -> Tree: ...  # noqa: D102
    @property
    def parameters(self) -> Parameters: ...  # noqa: D102
    @property
    def machine(self) -> Machine: ...  # noqa: D102


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """What a loss is computed from; autograd follows it.

    Attributes
    ----------
    q, v
        All states, the first included: [T M + 1, W, nq] and [T M + 1, W, nv].
    controls
        As they were given, [T, W, n].
    substeps
        M: native steps in a control step.
    """

    q: Tensor
    v: Tensor
    controls: Tensor
    substeps: int


@dataclass(frozen=True, slots=True, eq=False)
class RolloutGradient:
    """A loss and its derivatives, float64.

    Attributes
    ----------
    loss
        Its value.
    q0, v0
        [W, nq], by each number of q as it is (of a quaternion, four); [W, nv].
    controls
        [T, W, n].
    parameters
        By name, each [rows, 1] where the worlds share it, or [rows, W].
    rollout
        The states, cut from autograd.
    """

    loss: float
    q0: Tensor
    v0: Tensor
    controls: Tensor
    parameters: dict[str, Tensor]
    rollout: Rollout


def rollout_gradient(
    scene: Simulated,
    q0: Tensor,
    v0: Tensor,
    controls: Tensor,
    loss: Callable[[Rollout], Tensor],
    *,
    h_s: float,
    substeps: int = 1,
    acting: Literal["forces", "targets"] = "forces",
    action_limits: tuple[float, float] | None = None,
    parameters: Sequence[str] = (),
    states: tuple[Tensor, Tensor] | None = None,
) -> RolloutGradient:
    """Differentiate a loss by where a rollout starts, what acts, and parameters.

    The scene itself does not step: its model, parameters and integrator are used. Its
    precision has to be float64.

    Parameters
    ----------
    q0, v0
        [W, nq] and [W, nv], W as in the scene.
    controls
        [T, W, n], each held for `substeps` native steps.
    loss
        Gives one number.
    h_s
        Length of a native step [s].
    acting
        What controls are: generalised ``"forces"``, n = nv, or the drives'
        ``"targets"``, n = nu.
    action_limits
        Between which controls are clipped before they act.
    parameters
        Names of the persistent numbers to differentiate by, such as ``"mass"``.
    states
        q and v of a recorded rollout, [T M + 1, W, nq] and [T M + 1, W, nv]. The
        derivatives are taken there; each state must be what the step before leads to.

    Returns
    -------
    RolloutGradient

    Raises
    ------
    GradientError
        Where a derivative does not exist or would be wrong, with all reasons: contact
        or a joint limit that switches, clipped actions, steps that did not converge or
        are not finite, recorded states that are not all there.
    """
    _check(scene, q0, v0, controls, acting, substeps, states)
    leaves = [part.detach().clone().requires_grad_() for part in (q0, v0, controls)]
    learned = {
        name: scene.parameters[name].detach().clone().requires_grad_()
        for name in parameters
    }
    numbers = scene.parameters
    for name, tensor in learned.items():
        numbers = numbers.replaced(name, tensor)
    watch = Watch(scene.tree, action_limits)
    q, v, acts = leaves
    with torch.enable_grad():
        run = _roll(
            scene.machine.integrator,
            numbers,
            (q, v, acts),
            h_s,
            substeps,
            acting,
            watch,
            states,
        )
        if watch.refusals:
            raise GradientError(watch.refusals)
        value = loss(run)
        wanted = [*leaves, *learned.values()]
        found: tuple[Tensor | None, ...] = torch.autograd.grad(
            value, wanted, allow_unused=True
        )
    gradients = [
        torch.zeros_like(leaf) if gradient is None else gradient
        for leaf, gradient in zip(wanted, found, strict=True)
    ]
    return RolloutGradient(
        loss=float(value.detach()),
        q0=gradients[0],
        v0=gradients[1],
        controls=gradients[2],
        parameters=dict(zip(learned, gradients[3:], strict=True)),
        rollout=Rollout(run.q.detach(), run.v.detach(), acts.detach(), substeps),
    )


def differentiable_step(
    integrator: Any,
    q: Tensor,
    v: Tensor,
    h_s: float,
    control: Control,
    parameters: Parameters,
) -> tuple[StepOutcome, Tensor | None]:
    """Step by `h_s` seconds so that autograd follows q [nq, W] and v [nv, W].

    Returns
    -------
    outcome
        As the integrator's own step gives it, bit for bit. A step that would be halved
        has not converged here: it is solved as a whole or not at all.
    switched
        Bool [W]: where contact switched while the step was solved; None where nothing
        is solved.

    Raises
    ------
    GradientError
        For another integrator than semi-implicit and backward Euler.
    """
    if isinstance(integrator, SemiImplicitEuler):
        return integrator.step(q, v, h_s, control, parameters), None
    if not isinstance(integrator, BackwardEuler):
        raise GradientError(
            [Refusal("input", f"{type(integrator).__name__} can't be differentiated")]
        )
    given = (integrator.dynamics, integrator.contacts, q, v, h_s, control, parameters)
    watched = WatchedEquations(*given)
    outcome = integrator.solve(watched)
    speeds = implicit_speeds(
        integrator.equations(*given[2:]),
        outcome.v,
        integrator.preconditioner,
        integrator.ledger,
    )
    place = integrator.dynamics.integrate(q, speeds, h_s, parameters)
    differentiable = StepOutcome(
        place,
        speeds,
        outcome.status,
        outcome.iterations,
        outcome.residual,
        outcome.contacts,
    )
    return differentiable, watched.switched()


def _roll(
    integrator: Any,
    parameters: Parameters,
    start: tuple[Tensor, Tensor, Tensor],
    h_s: float,
    substeps: int,
    acting: str,
    watch: Watch,
    states: tuple[Tensor, Tensor] | None,
) -> Rollout:
    q0, v0, controls = start
    q, v = q0.t(), v0.t()
    places, speeds = [q], [v]
    number = 0
    for action in controls:
        watch.action(number, action.detach())
        control = Control(**{acting: action.t()})
        for _ in range(substeps):
            outcome, switched = differentiable_step(
                integrator, q, v, h_s, control, parameters
            )
            explicit = switched is None and isinstance(integrator, SemiImplicitEuler)
            where = (q, v) if explicit else (outcome.q, outcome.v)
            watch.step(number, outcome, control, parameters, where, switched)
            q, v = outcome.q, outcome.v
            number += 1
            if states is not None:
                q = _recorded(q, states[0][number].t(), number - 1, watch)
                v = _recorded(v, states[1][number].t(), number - 1, watch)
            places.append(q)
            speeds.append(v)
    return Rollout(
        torch.stack(places).transpose(1, 2),
        torch.stack(speeds).transpose(1, 2),
        controls,
        substeps,
    )


def _recorded(found: Tensor, recorded: Tensor, step: int, watch: Watch) -> Tensor:
    """Take the recorded numbers with the derivatives of those found."""
    apart = (found.detach() - recorded).abs() > RECORDED_TOLERANCE * (
        1 + recorded.abs()
    )
    watch.apart(step, apart.any(0))
    return recorded + (found - found.detach())


def _check(
    scene: Simulated,
    q0: Tensor,
    v0: Tensor,
    controls: Tensor,
    acting: str,
    substeps: int,
    states: tuple[Tensor, Tensor] | None,
) -> None:
    """Refuse what has another shape or precision, all of it at once."""
    tree, worlds = scene.tree, scene.parameters.worlds
    wide = {"forces": tree.nv, "targets": len(tree.drives)}
    if acting not in wide or substeps < 1:
        raise GradientError(
            [Refusal("input", "acting is forces or targets, and substeps 1 or more")]
        )
    steps = len(controls)
    parts = [
        ("q0", q0, (worlds, tree.nq)),
        ("v0", v0, (worlds, tree.nv)),
        ("controls", controls, (steps, worlds, wide[acting])),
    ]
    refusals = []
    if states is not None:
        every = steps * substeps + 1
        parts += [
            ("recorded q", states[0], (every, worlds, tree.nq)),
            ("recorded v", states[1], (every, worlds, tree.nv)),
        ]
        counts = {len(part) for part in states}
        if substeps > 1 and counts == {steps + 1}:
            refusals.append(
                Refusal(
                    "state-pairs",
                    f"a control step has {substeps} native steps, and only its ends "
                    "were given; give the states before and after each native step",
                )
            )
            parts = parts[:3]
    for name, tensor, shape in parts:
        if tuple(tensor.shape) != shape:
            refusals.append(
                Refusal(
                    "state-pairs" if name.startswith("recorded") else "input",
                    f"{name} has shape {list(tensor.shape)}, not {list(shape)}",
                )
            )
        if tensor.dtype != torch.float64:
            refusals.append(
                Refusal("precision", f"{name} is {tensor.dtype}; give float64")
            )
    if scene.parameters.mass.dtype != torch.float64:
        refusals.append(
            Refusal("precision", "the scene is not in float64; make one that is")
        )
    if refusals:
        raise GradientError(refusals)
