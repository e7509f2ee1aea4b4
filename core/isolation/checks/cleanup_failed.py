"""A cleanup of a scene that failed: the scene stays alive with what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.incremental import whole
from isoscope.core.isolation.scene_failures import failed
from isoscope.core.isolation.words import env_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "cleanup-failed"
SEVERITY: Severity = "error"
ABOUT = "cleanups of a scene that raised"
NEEDS = "a recording by the tap, kept until the environments are closed"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a cleanup."""
    yield from whole(begin(), context.tells(NEEDS))


def begin() -> Running:
    """Begin to look at a recording."""
    return _Looking()


class _Looking:
    nbytes = 0

    def take(self, window: LabelledContext) -> Iterator[Finding]:
        scenes = window.scenes
        last = window.steps.stop - 1
        for one in failed(window):
            if one.doing != "cleanup":
                continue
            named = scenes.get(one.scene)
            key = f" {named.key}" if named is not None and named.key else ""
            scene = f"scene {one.scene}{key}" if one.scene >= 0 else "a scene"
            headline = f"a cleanup of {scene} failed"
            if one.env >= 0:
                headline += f" as {env_named(one.env)} was closed"
            row = min(one.row, last)
            yield Finding(
                id=ID,
                severity=SEVERITY,
                env=one.env if one.env >= 0 else None,
                native=(row, row) if row >= 0 else None,
                headline=headline,
                message=f"{headline}: {one.problem or 'it raised'}",
                remedy=(
                    "The scene stays alive, with its memory and visual handles, and "
                    "the next environment of the same key may get it as it is. Mend "
                    "the callback and release the scene again."
                ),
                evidence={"problem": one.problem, "scene": one.scene},
            )

    def finish(self) -> Iterator[Finding]:
        return iter(())
