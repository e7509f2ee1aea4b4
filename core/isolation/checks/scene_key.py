"""Environments that share a scene although they want it configured differently."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import env_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "scene-key"
SEVERITY: Severity = "error"
ABOUT = "a key under which environments share a scene that they want different"
NEEDS = (
    "what each environment wants of its scene: events `create` or `acquire` whose "
    "detail has `wanted`, values by name"
)
MISSING = object()


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment that got a scene that it did not want."""
    window = context.tells(NEEDS)
    wants = _wants(window)
    if not wants and window.in_turn:
        raise CannotRunError("it isn't told what environments want", NEEDS)
    first: dict[int, tuple[int, dict[str, Any]]] = {}
    for env, scene, wanted in wants:
        owner, made = first.setdefault(scene, (env, wanted))
        differ = sorted(
            key
            for key in {*made, *wanted}
            if not _same(made.get(key, MISSING), wanted.get(key, MISSING))
        )
        if differ and owner != env:
            yield _finding(window, env, owner, scene, differ, wanted, made)


def _wants(window: LabelledContext) -> list[tuple[int, int, dict[str, Any]]]:
    """Environment, scene and wanted values, in the order in which they came."""
    events = window.events
    found: list[tuple[int, int, dict[str, Any]]] = []
    for i in np.flatnonzero(events.are("create", "acquire")).tolist():
        wanted = events.detail(i).get("wanted")
        env = int(events.env[i])
        if isinstance(wanted, dict) and env >= 0:
            found.append((env, int(events.scene[i]), wanted))
    return found


def _as_made(window: LabelledContext, scene: int, key: str) -> Any:
    """What a scene's configuration began with, as far as it is told."""
    changes = window.changes
    mine = np.flatnonzero((changes.scene == scene) & changes.is_text("key", (key,)))
    return changes.json("new", int(mine[0])) if len(mine) else None


def _same(a: Any, b: Any) -> bool:
    if a is MISSING or b is MISSING:
        return False
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _finding(
    window: LabelledContext,
    env: int,
    owner: int,
    scene: int,
    keys: list[str],
    wanted: dict[str, Any],
    made: dict[str, Any],
) -> Finding:
    info = window.scenes.get(scene)
    key = info.key if info is not None else ""
    own = window.steps.of(env)
    first = int(own[0]) if len(own) else None
    where = window.at(first) if first is not None else None
    headline = f"{env_named(env)} shares a scene that it wants different"
    expected = wanted.get(keys[0])
    value = made[keys[0]] if keys[0] in made else _as_made(window, scene, keys[0])
    shown = f"{json.dumps(value)}, and it wants {json.dumps(expected)}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=owner,
        episode=None if where is None else where.episode,
        control_step=None if where is None else where.control_step,
        native=(first, first) if first is not None else None,
        field=keys[0],
        value=value,
        expected=expected,
        headline=headline,
        message=(
            f"{headline}: {keys[0]} of scene {scene} is {shown}; {env_named(owner)} "
            f"had the scene made, and its key{f' {key!r}' if key else ''} says nothing "
            "of it"
        ),
        remedy=(
            "Put every value that a task configures into the key of its scene, or a "
            "fingerprint of all of them; until then give it a scene of its own."
        ),
        evidence={"scene": scene, "key": key, "differ": keys},
        taints=(
            (Taint(env=env, native=(first, None), until="end"),)
            if first is not None
            else ()
        ),
    )
