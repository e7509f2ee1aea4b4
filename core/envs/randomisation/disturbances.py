"""What lies between policy and physics: delays, noise and bias.

Noise x with correlation time τ is the Ornstein-Uhlenbeck process sampled every Δ:
x ← a·x + s·√(1 - a²)·n, a = exp(-Δ/τ), n standard normal, s the standard
deviation, begun at s·n; τ = 0 is white.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import msgspec

from isoscope.core.envs.randomisation.distributions import (  # noqa: TC001 - msgspec reads it
    AnyDistribution,
)
from isoscope.core.errors import UsageError

Every: TypeAlias = Literal["substep", "control", "frame"]


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """Noise and bias on one quantity.

    Attributes
    ----------
    quantity
        Its name in the action or the observation.
    unit
        Of `noise_std` and `bias_std`; must be the quantity's own.
    every
        When noise is drawn: each substep (actions only), each control step, or each
        frame of `frame_steps` control steps, between which it is held.
    noise_std
        Standard deviation of the noise.
    bias_std
        Standard deviation of the bias, drawn once an episode.
    correlation_s
        τ.
    """

    quantity: str
    unit: str
    noise_std: float = 0.0
    bias_std: float = 0.0
    correlation_s: float = 0.0
    every: Every = "control"
    frame_steps: int = 1

    def __post_init__(self) -> None:
        numbers = (self.noise_std, self.bias_std, self.correlation_s)
        if not all(math.isfinite(n) and n >= 0.0 for n in numbers):
            raise UsageError(
                f"disturbing {self.quantity}: {numbers} must be finite, not negative"
            )
        if self.frame_steps < 1:
            raise UsageError(
                f"disturbing {self.quantity}: a frame of {self.frame_steps} steps"
            )

    def memory(self, h_s: float, control_s: float) -> float:
        """a: what is left of the noise at the next draw."""
        if self.correlation_s == 0.0:
            return 0.0
        period = {
            "substep": h_s,
            "control": control_s,
            "frame": control_s * self.frame_steps,
        }[self.every]
        return math.exp(-period / self.correlation_s)


class DisturbancePlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that disturbs an environment; nothing by default.

    Attributes
    ----------
    action_delay, observation_delay
        In control steps, drawn once an episode and rounded; None for no delay. Until an
        action has come through the queue, zero is applied; until an observation has,
        the reset's is seen.
    """

    actions: tuple[Disturbance, ...] = ()
    observations: tuple[Disturbance, ...] = ()
    action_delay: AnyDistribution | None = None
    observation_delay: AnyDistribution | None = None

    def __post_init__(self) -> None:
        for what, delay in (
            ("action", self.action_delay),
            ("observation", self.observation_delay),
        ):
            if delay is None:
                continue
            low, high = delay.bounds()
            if delay.unit != "control steps" or not (0 <= low <= high <= 1000):
                raise UsageError(
                    f"delaying the {what}: from {low} to {high} {delay.unit}; give 0 "
                    "to 1000, with the unit 'control steps'"
                )
        for disturbance in self.observations:
            if disturbance.every == "substep":
                raise UsageError(
                    f"disturbing {disturbance.quantity}: observations are made once a "
                    "control step; draw their noise each control step or frame"
                )

    @property
    def empty(self) -> bool:
        """Whether nothing is disturbed."""
        return (
            not self.actions
            and not self.observations
            and self.action_delay is None
            and self.observation_delay is None
        )
