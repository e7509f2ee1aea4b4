"""What a soak sends, and what has to come of it, worked out without the collector.

Every source has one producer, so the order of its parts is known. A plan is made anew
from its numbers in the producer's process and in the test.
"""

from __future__ import annotations

import os
import random
import signal
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import torch

from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart

BATCH, CHUNKS = 2, 4  # environments of a source; chunks of a training step
AHEAD = 64  # by how many places a part may be early or late
DOUBLED, NEVER, CUT = 0.01, 0.01, 0.05
CFG: dict[str, Any] = {
    "env": {
        "train": {
            "total_num_envs": 4 * BATCH,
            "max_episode_steps": CHUNKS,
            "max_steps_per_rollout_epoch": CHUNKS,
            "rollout_epoch": 1,
            "auto_reset": True,
            "ignore_terminations": False,
        }
    },
    "rollout": {"pipeline_stage_num": 1},
    "actor": {"model": {"num_action_chunks": 1, "action_dim": 1}},
}


@dataclass(frozen=True, slots=True)
class Send:
    """One part to be put: which half of which chunk, and which of its rows."""

    number: int  # of the chunk, in its source
    half: str
    first: int = 0
    rows: int = BATCH

    def key(self, rank: int) -> TrajectoryKey:
        return TrajectoryKey(self.number // CHUNKS, 0, rank, 0, self.number % CHUNKS)


def plan(seed: int, rank: int, chunks: int) -> list[Send]:
    """Give the parts of one producer in the order in which it puts them."""
    chance = random.Random(f"{seed} {rank}")
    placed: list[tuple[float, int, Send]] = []

    def place(number: int, send: Send, later: float = 0.0) -> None:
        at = number + later + chance.random() * AHEAD
        placed.append((at, len(placed), send))

    for number in range(chunks):
        left_out = chance.choice(("policy", "env")) if chance.random() < NEVER else ""
        for half in ("policy", "env"):
            whole = Send(number, half)
            pieces = [whole]
            if chance.random() < CUT:
                pieces = [Send(number, half, row, 1) for row in range(BATCH)]
            if half == left_out:
                pieces = pieces[1:]
            for piece in pieces:
                place(number, piece)
        if chance.random() < DOUBLED and not left_out:
            for half in chance.choice((("policy",), ("env",), ("policy", "env"))):
                place(number, Send(number, half), chance.choice((0, AHEAD, 2 * AHEAD)))
    return [send for _, _, send in sorted(placed)]


def part_of(send: Send, rank: int) -> PolicyPart | EnvPart:
    """Make the part; all its numbers say whose it is."""
    source = [TrajectorySource(send.key(rank), send.rows, send.first)]
    mark = torch.full((send.rows, 1), float(send.number))
    row = torch.arange(send.first, send.first + send.rows)[:, None].float()
    if send.half == "policy":
        return PolicyPart(
            sources=source,
            obs={"states": mark},
            output=PolicyOutput(
                forward_inputs={"action": mark, "rank": torch.full_like(mark, rank)},
                prev_logprobs=row,
                prev_values=row,
            ),
        )
    flags = torch.zeros(send.rows, 1, dtype=torch.bool)
    names = ("dones", "terminations", "truncations")
    first = send.number % CHUNKS == 0
    return EnvPart(
        sources=source,
        transition=EnvTransition(rewards=mark, **dict.fromkeys(names, flags)),
        initial_transition=EnvTransition(**dict.fromkeys(names, flags))
        if first
        else None,
    )


def produce(sender: Any, seed: int, rank: int, chunks: int, die_at: int) -> None:
    """Put a plan's parts; die after so many, or never if that is below 0."""
    for count, send in enumerate(plan(seed, rank, chunks)):
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            sender.put(part_of(send, rank))
        except TrajectoryValueError as error:
            if "duplicate" not in str(error):
                raise


@dataclass
class Expected:
    """What has to come of the parts that were put.

    Attributes
    ----------
    whole
        Training steps that have to come out.
    half, stored, fragments
        Chunks that stay: with one half, with both in a step that is not whole, with
        some rows of a half.
    repeated, refused
        Parts that came again, and those of them that made both halves of a stored chunk
        come again whole.
    """

    whole: set[int] = field(default_factory=set)
    half: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    fragments: set[int] = field(default_factory=set)
    repeated: int = 0
    refused: int = 0


def expected(sends: list[Send]) -> Expected:
    """Work out what one source's parts come to."""
    found = Expected()
    whole: set[tuple[int, str]] = set()
    rows: dict[tuple[int, str], int] = defaultdict(int)  # of fragments
    again: dict[int, dict[str, int]] = defaultdict(lambda: {"policy": 0, "env": 0})
    complete: set[int] = set()
    seen: set[int] = set()
    for send in sends:
        at = send.number, send.half
        seen.add(send.number)
        if send.number in complete:
            found.repeated += 1
            again[send.number][send.half] += send.rows
            if min(again[send.number].values()) >= BATCH:
                found.refused += 1
            continue
        if at in whole:
            found.repeated += 1
        rows[at] += send.rows if send.rows < BATCH else 0
        if send.rows == BATCH or rows[at] == BATCH:
            whole.add(at)
            rows[at] %= BATCH
        if all((send.number, half) in whole for half in ("policy", "env")):
            complete.add(send.number)
    for number in seen:
        step = number // CHUNKS
        chunks = range(step * CHUNKS, (step + 1) * CHUNKS)
        if all(chunk in complete for chunk in chunks):
            found.whole.add(step)
        elif number in complete:
            found.stored.add(number)
        else:
            if any((number, half) in whole for half in ("policy", "env")):
                found.half.add(number)
            if any(rows[number, half] for half in ("policy", "env")):
                found.fragments.add(number)
    return found
