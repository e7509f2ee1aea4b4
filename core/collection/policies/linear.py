"""Linear feedback: acts against the state, and foresees it inside a chunk.

A chunk's actions are all chosen before the first of them is carried out. With a linear
model of the environment, x' = A x + B u, each is chosen for the state that the ones
before it will have led to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.policies.base import Policy, states_of
from isoscope.core.trajectory.policy import PolicyOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.collection.spaces import ActionSpec
    from isoscope.core.trajectory.keys import TrajectorySource

Array = np.ndarray[Any, Any]
ITERATIONS = 10_000
CONVERGED = 1e-10


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x' = A x + B u for one control step.

    Attributes
    ----------
    state
        A, [S, S].
    control
        B, [S, A].
    levels
        The u that each discrete action means; empty where u is the action itself.
    """

    state: Array
    control: Array
    levels: tuple[float, ...] = ()

    def gain(self, state_cost: Array, control_cost: Array) -> Array:
        """The K, [A, S], with which u = -K x costs least in the long run.

        Discrete-time linear quadratic regulator: the Riccati equation's fixed point, by
        iteration (Bertsekas, Dynamic Programming and Optimal Control, vol. 1, 4.1).

        Parameters
        ----------
        state_cost, control_cost
            Of x and u, [S, S] and [A, A].

        Raises
        ------
        CollectionError
            If it doesn't converge: the model can't be steered.
        """
        a, b = self.state, self.control
        cost = state_cost
        for _ in range(ITERATIONS):
            k = np.linalg.solve(control_cost + b.T @ cost @ b, b.T @ cost @ a)
            following = state_cost + a.T @ cost @ (a - b @ k)
            if np.allclose(following, cost, rtol=CONVERGED, atol=CONVERGED):
                return np.asarray(k)
            cost = following
        raise CollectionError("finding a feedback gain: it does not converge")


def cartpole_model() -> LinearModel:
    """Gymnasium's CartPole-v1 about its upright position.

    States are x, its rate, the angle, its rate; u is a force in N. Equations of Barto,
    Sutton and Anderson (1983) as corrected by Florian (2007), linearised, with an
    explicit Euler step of 0.02 s.
    """
    gravity, cart_kg, pole_kg, half_m, force_n, step_s = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    total_kg = cart_kg + pole_kg
    inertia = half_m * (4.0 / 3.0 - pole_kg / total_kg)
    tilt = gravity / inertia  # angular acceleration per angle
    push = -1.0 / (total_kg * inertia)  # angular acceleration per force
    lever = pole_kg * half_m / total_kg
    rates = np.array(
        [
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, -lever * tilt, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, tilt, 0.0],
        ]
    )
    forces = np.array([[0.0], [1.0 / total_kg - lever * push], [0.0], [push]])
    return LinearModel(
        np.eye(4) + step_s * rates, step_s * forces, levels=(-force_n, force_n)
    )


class LinearFeedback(Policy):
    """u = -K x in every slot, with the state foreseen by a model.

    Parameters
    ----------
    spec
        What one environment takes.
    chunk
        Actions in a chunk.
    gain
        K, [A, S].
    model
        For the states inside a chunk; without one, all slots act against the first.

    Raises
    ------
    CollectionError
        If the gain or the model don't fit the actions.
    """

    def __init__(
        self,
        spec: ActionSpec,
        chunk: int,
        gain: Array,
        model: LinearModel | None = None,
    ) -> None:
        levels = model.levels if model is not None else ()
        discrete = len(spec.choices) > 0
        if gain.shape[0] != spec.width or (discrete and spec.choices != (len(levels),)):
            raise CollectionError(
                f"making a linear feedback: a gain {list(gain.shape)} and "
                f"{len(levels)} levels of u don't fit actions of {spec.width} numbers "
                f"with {spec.choices or 'any'} values"
            )
        self.spec, self.chunk = spec, chunk
        self._gain = torch.from_numpy(gain.astype(np.float64))
        self._model = model
        self._levels = torch.tensor(levels, dtype=torch.float64)
        if model is not None:
            self._a = torch.from_numpy(model.state.astype(np.float64))
            self._b = torch.from_numpy(model.control.astype(np.float64))
        if not discrete:
            self._low = torch.tensor(spec.low, dtype=torch.float64)
            self._high = torch.tensor(spec.high, dtype=torch.float64)

    @classmethod
    def cartpole(cls, spec: ActionSpec, chunk: int) -> LinearFeedback:
        """Balance Gymnasium's CartPole-v1."""
        model = cartpole_model()
        gain = model.gain(np.diag([1.0, 0.1, 10.0, 0.1]), np.diag([0.01]))
        return cls(spec, chunk, gain, model)

    def act(
        self, obs: Mapping[str, Any], sources: Sequence[TrajectorySource]
    ) -> PolicyOutput:
        """Act against the state.

        Raises
        ------
        CollectionError
            If the observation has not as many numbers as the gain takes.
        """
        states = states_of(obs)
        if states.shape[1] != self._gain.shape[1]:
            raise CollectionError(
                f"acting by linear feedback: the observation has {states.shape[1]} "
                f"numbers and the gain takes {self._gain.shape[1]}"
            )
        x = states.to(torch.float64)
        actions = []
        for _ in range(self.chunk):
            wanted = -(self._gain[None] * x[:, None]).sum(-1)
            action, u = self._possible(wanted)
            actions.append(action)
            if self._model is not None:
                # by rows, so that a row's result does not depend on how many there are
                x = (self._a[None] * x[:, None]).sum(-1)
                x = x + (self._b[None] * u[:, None]).sum(-1)
        action = torch.cat(actions, dim=1).to(torch.float32)
        return PolicyOutput(forward_inputs={"action": action})

    def _possible(self, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The action that comes nearest to a wanted u, and its u."""
        if len(self._levels):
            number = (wanted[..., None] - self._levels).abs().argmin(dim=-1)
            return number, self._levels[number]
        action = torch.maximum(torch.minimum(wanted, self._high), self._low)
        return action, action
