"""The written form of ``isoscope demo``: what was run, how fast, and which faults."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class DemoReturns(msgspec.Struct):
    """Returns of the episodes that ended; None where none did."""

    mean: float | None
    min: float | None
    max: float | None
    count: int


class DemoSolver(msgspec.Struct):
    """Native steps of all environments by how they went."""

    converged: int
    stopped: int
    diverged: int


class DemoFault(msgspec.Struct):
    """A fault that was ordered.

    Attributes
    ----------
    place
        Where it was wanted, ``ENV:EPISODE/K``.
    happened
        Where it happened, in the same form; empty if that was never reached.
    finds
        Ids of the audit that must find it.
    """

    name: str
    place: str
    happened: list[str]
    finds: list[str]


class Demo(msgspec.Struct, kw_only=True):
    """What a demo says.

    Attributes
    ----------
    control_steps
        Of every environment.
    episodes
        That ended.
    ledger
        Copies between host and device: ``h2d_bytes``, ``d2h_bytes``, ``d2d_bytes``,
        ``syncs``, ``by_cause``; None where the scenes are out of reach.
    ended
        ``finished``, ``stopped``, or what ended the run before its time.
    """

    schema: Literal["isoscope.demo/1"] = "isoscope.demo/1"
    task: str
    envs: int
    scene: Literal["shared", "independent", "resident"]
    device: str
    precision: Literal["float32", "float64"]
    policy: str
    seed: int
    autoreset: str
    workers: int
    control_hz: int
    simulation_hz: int
    control_steps: int
    seconds: float
    control_steps_per_s: float | None
    native_steps_per_s: float | None
    episodes: int
    returns: DemoReturns
    solver: DemoSolver | None
    ledger: dict[str, Any] | None
    faults: list[DemoFault]
    problems: list[str]
    ended: str
