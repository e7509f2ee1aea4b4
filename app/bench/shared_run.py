"""Generate a shared run: many environments that step one scene in turn.

A cart on a rail with a pole on a hinge, pushed at random, with noise in every start.
The numbers are rounded as the engine rounds them: poses in float32, and velocities as
the displacement over the step divided by h, rounded again. Nothing in the recording
says whose step it was; the truth is returned beside it.

What happens to an environment does not depend on who steps in between, so that all of
them are computed at once and then laid out in the order of their turns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.core.recording.model import Actor, Labels, Recording, StepKind
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array

TurnOrder = Literal["fixed", "rounds", "random"]

H_S = 0.02
RESET_H_S = 1e-5
GRAVITY = -9.8
HALF_POLE_M = 0.5
CARTS_MASS_KG = 17.25
PUSH_N = 30.0
SHORTEST, LONGEST = 15, 40  # control steps of an episode
ARTICULATION = ("CartPole", "Articulated", (1 << 32) + 1)
LINKS = (("CartPole/Pole", (1 << 32) + 2), ("CartPole/Cart", (1 << 32) + 3))


@dataclass(slots=True)
class SharedRun:
    """A generated run.

    Attributes
    ----------
    h_s, time_s
        float64 [T].
    gravity
        float32 [T, 3].
    actors
        For each actor (name, type, handle), its fields [T, ...].
    truth
        Whose every native step was.
    substeps
        M.
    """

    h_s: Array
    time_s: Array
    gravity: Array
    truth: Labels
    substeps: int
    actors: dict[tuple[str, str, int], dict[str, Array]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Native steps."""
        return len(self.h_s)

    def recording(self) -> Recording:
        """The run as a columnar recording, as indexing its file would give it."""
        out = Recording(None, "generated", complete=True)
        rows = len(self)
        numbers = np.arange(rows, dtype=np.int64) + len(self.actors)
        out.steps.append(numbers, self.time_s, self.h_s, self.gravity.astype(float))
        for (name, kind, handle), fields in self.actors.items():
            actor = Actor(len(out.actors), handle, name, kind, False, 0)
            for key, values in fields.items():
                actor.fields.tracks[key] = Track.of(values)
            out.actors.append(actor)
        out.event_counts = {"CreateActor": len(self.actors), "Step": rows}
        out.real = np.dtype(np.float32)
        return out


def generate(
    envs: int,
    steps: int,
    *,
    order: TurnOrder = "random",
    substeps: int = 2,
    seed: int = 0,
    noise: float = 0.05,
) -> SharedRun:
    """Generate at least `steps` native steps of `envs` environments.

    Parameters
    ----------
    order
        Of the turns: always the same, everybody once a round in a new order each time,
        or anybody at any time.
    substeps
        M.
    noise
        Scale of the noise in every episode's start; 0 makes all starts equal.
    """
    rng = np.random.default_rng(seed)
    turns = _turns(envs, max(steps // substeps, 1), order, rng)
    most = int(np.bincount(turns, minlength=envs).max())
    ends = _episode_ends(envs, most, rng)
    layout = _lay_out(turns, ends, envs, substeps)
    angle, place = _motions(envs, most, ends, substeps, noise, rng)
    return _assemble(layout, angle, place, substeps)


@dataclass(slots=True)
class _Layout:
    """For each row: the environment, its own row number, and the labels."""

    env: Int64Array
    own: Int64Array
    episode: Int64Array
    control: Int64Array
    substep: Int64Array
    reset: Array


def _turns(
    envs: int, count: int, order: TurnOrder, rng: np.random.Generator
) -> Int64Array:
    if order == "random":
        return rng.integers(0, envs, count)
    rounds = -(-count // envs)
    if order == "fixed":
        return np.tile(np.arange(envs), rounds)[:count]
    return rng.permuted(np.tile(np.arange(envs), (rounds, 1)), axis=1).ravel()[:count]


def _episode_ends(envs: int, most: int, rng: np.random.Generator) -> Array:
    """Whether an episode ends with each control step [envs, most]."""
    lengths = rng.integers(SHORTEST, LONGEST + 1, (envs, most // SHORTEST + 2))
    last = np.cumsum(lengths, axis=1) - 1
    ends = np.zeros((envs, most), np.bool_)
    env, which = np.nonzero(last < most)
    ends[env, last[env, which]] = True
    return ends


def _lay_out(turns: Int64Array, ends: Array, envs: int, substeps: int) -> _Layout:
    """Rows in the order of the turns: resets of all, then M steps a turn.

    A reset follows the turn that ended an episode at once.
    """
    count = len(turns)
    order = np.argsort(turns, kind="stable")
    first = np.searchsorted(turns[order], np.arange(envs))
    nth = np.empty(count, np.int64)  # control steps of that environment before
    nth[order] = np.arange(count) - first[turns[order]]
    done = ends[turns, nth]
    before = np.cumsum(ends, axis=1) - ends  # episodes ended before a control step
    episode = before[turns, nth]
    begin = np.where(ends, np.arange(1, ends.shape[1] + 1), 0)
    begin = np.maximum.accumulate(begin, axis=1)
    begin = np.concatenate([np.zeros((envs, 1), np.int64), begin[:, :-1]], axis=1)
    control = nth - begin[turns, nth] + 1
    rows = substeps + done
    owner = np.concatenate([np.arange(envs), np.repeat(turns, rows)])
    at = np.cumsum(rows) - rows
    within = np.arange(int(rows.sum())) - np.repeat(at, rows)
    reset = within == substeps
    zeros = np.zeros(envs, np.int64)

    def spread(of_turn: Array, of_first: Array) -> Int64Array:
        return np.concatenate([of_first, np.repeat(of_turn, rows)]).astype(np.int64)

    return _Layout(
        owner,
        # an own row for each reset before, and M for each control step
        np.concatenate([zeros, np.repeat(nth * substeps + episode + 1, rows) + within]),
        spread(episode, zeros) + 1 + np.concatenate([zeros, reset]),
        np.concatenate([zeros, np.where(reset, 0, np.repeat(control, rows))]),
        np.concatenate([zeros, np.where(reset, 0, within)]),
        np.concatenate([np.ones(envs, np.bool_), reset]),
    )


def _motions(
    envs: int,
    most: int,
    ends: Array,
    substeps: int,
    noise: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Pole angle and cart position [envs, own rows + 1, 2]: before and after a row."""
    longest = most * substeps + int(ends.sum(axis=1).max()) + 2
    angle = np.zeros((envs, longest, 2))
    place = np.zeros((envs, longest, 2))
    fresh = np.zeros((envs, longest), np.bool_)  # rows that are resets
    fresh[:, 0] = True
    env, nth = np.nonzero(ends)
    earlier = (np.cumsum(ends, axis=1) - ends)[env, nth]
    fresh[env, (nth + 1) * substeps + earlier + 1] = True
    state = np.zeros((4, envs))  # angle, its rate, position, its rate
    push = np.zeros(envs)
    for k in range(longest):
        now = fresh[:, k]
        start = noise * rng.standard_normal((4, envs))
        state = np.where(now, start, state)
        if k % substeps == 0:
            push = rng.uniform(-PUSH_N, PUSH_N, envs)
        h = np.where(now, RESET_H_S, H_S)
        angle[:, k, 0], place[:, k, 0] = state[0], state[2]
        swing = 0.75 * (
            -GRAVITY * np.sin(state[0]) + push / CARTS_MASS_KG * np.cos(state[0])
        )
        state[1] += h * swing / HALF_POLE_M
        state[3] += h * push / CARTS_MASS_KG
        state[0] += h * state[1]
        state[2] += h * state[3]
        angle[:, k, 1], place[:, k, 1] = state[0], state[2]
    return angle, place


def _assemble(layout: _Layout, angle: Array, place: Array, substeps: int) -> SharedRun:
    rows = len(layout.env)
    at = (layout.env, layout.own)
    h_s = np.where(layout.reset, RESET_H_S, H_S)
    kind = np.where(layout.reset, int(StepKind.RESET), int(StepKind.SUBSTEP))
    truth = Labels(
        layout.env.astype(np.int32),
        layout.episode.astype(np.int32),
        layout.control.astype(np.int32),
        layout.substep.astype(np.int32),
        kind.astype(np.int8),
    )
    gravity = np.tile(np.array([0, GRAVITY, 0], np.float32), (rows, 1))
    run = SharedRun(h_s, np.cumsum(h_s), gravity, truth, substeps)
    pole, cart = _links(angle[at], place[at], h_s)
    dofs = np.stack([place[at][:, 1], angle[at][:, 1]], 1).astype(np.float32)
    run.actors[ARTICULATION] = {
        **_identity(ARTICULATION, rows),
        "rotation": _still(rows),
        "translation": np.zeros((rows, 3), np.float32),
        "pose": dofs,
        "vcom": np.stack([cart["vcom"], pole["vcom"]], 1),
        "omega": np.stack([cart["omega"], pole["omega"]], 1),
        "vsym": np.stack([cart["vsym"], pole["vsym"]], 1),
    }
    for (name, handle), fields in zip(LINKS, (pole, cart), strict=True):
        key = (name, "Rigid", handle)
        run.actors[key] = {**_identity(key, rows), **fields}
    return run


def _identity(key: tuple[str, str, int], rows: int) -> dict[str, Array]:
    name, kind, handle = key
    return {
        "handle": np.full(rows, handle, np.uint64),
        "name": np.full(rows, name.encode()),
        "type": np.full(rows, kind.encode()),
        "solverGroup": np.full(rows, (1 << 32) + 9, np.uint64),
        "solverDofOffset": np.zeros(rows, np.int32),
        "solverPoseOffset": np.zeros(rows, np.int32),
    }


def _still(rows: int) -> Array:
    return np.tile(np.array([0, 0, 0, 1], np.float32), (rows, 1))


def _links(
    angle: Array, place: Array, h_s: Array
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Fields of the pole and of the cart from the joints [T, 2], before and after."""
    zero = np.zeros_like(place)
    hinge = np.stack([place, zero, zero], 2)
    centre = hinge + HALF_POLE_M * np.stack([-np.sin(angle), np.cos(angle), zero], 2)
    half = angle / 2
    turned = np.stack([zero, zero, np.sin(half), np.cos(half)], 2)
    still = np.zeros_like(turned)
    still[..., 3] = 1
    return (
        _body(hinge, centre, turned, angle, h_s),
        _body(hinge, hinge, still, zero, h_s),
    )


def _body(
    origin: Array, centre: Array, turned: Array, angle: Array, h_s: Array
) -> dict[str, Array]:
    """A body's fields from its places [T, 2, 3], rounded as the engine does."""
    real: Any = np.float32
    centre = centre.astype(real)
    moved = (centre[:, 1] - centre[:, 0]).astype(np.float64)
    turn = angle[:, 1] - angle[:, 0]
    rows = len(h_s)
    omega = np.zeros((rows, 3), real)
    omega[:, 2] = np.sin(turn) / h_s
    vsym = np.zeros((rows, 9), real)
    vsym[:, 0] = vsym[:, 4] = (1 - np.cos(turn)) / h_s
    return {
        "omega": omega,
        "rotation": turned[:, 1].astype(real),
        "rotationCom": turned[:, 1].astype(real),
        "translation": origin[:, 1].astype(real),
        "translationCom": centre[:, 1],
        "vcom": (moved / h_s[:, None]).astype(real),
        "vsym": vsym,
    }
