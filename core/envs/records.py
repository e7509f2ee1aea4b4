"""What a control step leaves: on the device for all, as owned copies for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.arrays import copied
from isoscope.core.scene import StepReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import Array, Worlds

TIME_LIMIT = "time limit"
INVALID = "invalid state"
NON_FINITE_ACTION = "non-finite action"


@dataclass(frozen=True, slots=True)
class ControlStep:
    """A control step of W lanes; arrays of the scene's kind, which nobody changes.

    Attributes
    ----------
    worlds
        The lanes that took part; None for all. Rows of others mean nothing.
    raw, clipped, applied
        [W, A] float32: as given; clipped to the Box; what came through the delay queue.
        Noise that is drawn for each substep is not in it.
    before, after
        [W, O] float32: the observation before and after.
    true_after
        As `after`, undisturbed.
    reward
        [W]: the sum of `terms`.
    terminations, truncations
        Reasons, bool [W] each.
    valid
        bool [W]: whether the transition may be used.
    episode, control_step
        int64 [W], from 1.
    reports
        The native steps' own, M of them.
    """

    worlds: Worlds
    raw: Array
    clipped: Array
    applied: Array
    before: Array
    after: Array
    true_after: Array
    reward: Array
    terms: Mapping[str, Array]
    terminated: Array
    truncated: Array
    terminations: Mapping[str, Array]
    truncations: Mapping[str, Array]
    valid: Array
    episode: Array
    control_step: Array
    reports: tuple[StepReport, ...]


@dataclass(frozen=True, slots=True)
class LastStep:
    """An environment's own last control step: owned copies on the host.

    Whatever other environments do in the same scene, and whatever is done to these
    arrays, does not matter to anybody else. Absent before the first step of an episode.

    Attributes
    ----------
    status, iterations, residual
        The solver's, of each native step; residual is NaN where there is none.
    """

    env: int
    episode: int
    control_step: int
    raw_action: np.ndarray[Any, np.dtype[np.float32]]
    clipped_action: np.ndarray[Any, np.dtype[np.float32]]
    applied_action: np.ndarray[Any, np.dtype[np.float32]]
    observation_before: np.ndarray[Any, np.dtype[np.float32]]
    observation_after: np.ndarray[Any, np.dtype[np.float32]]
    true_observation_after: np.ndarray[Any, np.dtype[np.float32]]
    reward: float
    reward_terms: dict[str, float]
    terminated: bool
    truncated: bool
    terminated_reasons: tuple[str, ...]
    truncated_reasons: tuple[str, ...]
    valid: bool
    status: tuple[int, ...]
    iterations: tuple[int, ...]
    residual: tuple[float, ...]


def owned(report: StepReport) -> StepReport:
    """A native step's report that the next step does not change."""
    return StepReport(
        report.h_s,
        copied(report.status),
        copied(report.iterations),
        copied(report.residual),
        copied(report.valid),
    )


def last_step(lanes: LaneGroup, step: ControlStep, lane: int) -> LastStep:
    """Cross one lane of a control step over."""
    to_host = lanes.scene.to_host

    def own(array: Array) -> np.ndarray[Any, Any]:
        one: np.ndarray[Any, Any] = to_host(array[lane : lane + 1], "last step")
        # a copy even where the scene gave its own memory away
        row: np.ndarray[Any, Any] = one[0].copy()
        return row

    def reasons(masks: Mapping[str, Array]) -> tuple[str, ...]:
        return tuple(name for name, mask in masks.items() if bool(own(mask)))

    return LastStep(
        env=lanes.envs[lane],
        episode=int(own(step.episode)),
        control_step=int(own(step.control_step)),
        raw_action=own(step.raw),
        clipped_action=own(step.clipped),
        applied_action=own(step.applied),
        observation_before=own(step.before),
        observation_after=own(step.after),
        true_observation_after=own(step.true_after),
        reward=float(own(step.reward)),
        reward_terms={name: float(own(term)) for name, term in step.terms.items()},
        terminated=bool(own(step.terminated)),
        truncated=bool(own(step.truncated)),
        terminated_reasons=reasons(step.terminations),
        truncated_reasons=reasons(step.truncations),
        valid=bool(own(step.valid)),
        status=tuple(int(own(r.status)) for r in step.reports),
        iterations=tuple(int(own(r.iterations)) for r in step.reports),
        residual=tuple(float(own(r.residual)) for r in step.reports),
    )
