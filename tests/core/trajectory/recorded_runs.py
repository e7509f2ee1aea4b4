"""Recorded runs of the whole collector, event by event, through ours."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.errors import TrajectoryError
from tests.golden import Case, assert_same, decode


def collector(case: Case, cfg: dict[str, Any] | None = None) -> TrajectoryCollector:
    """A collector set up as the case says; `cfg` instead of its configuration."""
    made = TrajectoryCollector()
    world = case.setup["world"]
    made.setup(
        ChannelContext(
            "trajectory",
            cfg=cfg or decode(case.setup["config"], case.tensors),
            options={
                "env_world_size": world["env"],
                "actor_world_size": world["actor"],
            },
        )
    )
    return made


def emitted(made: TrajectoryCollector, part: Any) -> list[list[Any]]:
    return [list(pair) for pair in made.collect(part, None)]


def replay(case: Case, cfg: dict[str, Any] | None = None) -> None:
    """Every event gives what was recorded, or raises the type that was."""
    made = collector(case, cfg)
    for number, event in enumerate(case.events):
        part = decode(event["in"], case.tensors)
        where = f"event {number}"
        if "raises" in event:
            with pytest.raises(getattr(builtins, event["raises"])) as caught:
                emitted(made, part)
            assert isinstance(caught.value, TrajectoryError), where
        else:
            assert_same(event["expect"], emitted(made, part), case.tensors, where)


def refused_no_later(case: Case, cfg: dict[str, Any] | None = None) -> Exception:
    """Ours refuses at the event that was recorded to raise, or before it; by name.

    What comes before that is as recorded.
    """
    recorded = next(at for at, event in enumerate(case.events) if "raises" in event)
    try:
        made = collector(case, cfg)
    except TrajectoryError as error:
        return error
    for number, event in enumerate(case.events[: recorded + 1]):
        part = decode(event["in"], case.tensors)
        try:
            found = emitted(made, part)
        except TrajectoryError as error:
            return error
        assert number < recorded, "it was not refused"
        assert_same(event["expect"], found, case.tensors, f"event {number}")
    raise AssertionError("unreachable")


def raises(case: Case) -> str | None:
    """The first error that was recorded."""
    return next((e["raises"] for e in case.events if "raises" in e), None)
