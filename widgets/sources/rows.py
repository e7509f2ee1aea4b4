"""What stands below a document, as plain rows; no Qt.

Each section is a function from a document to a row, or None if there is nothing to say.
A new one (scenes with their environments, say) is one more function in `SECTIONS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.following.own_steps import FollowedAnalysis
from isoscope.core.isolation.findings import SEVERITIES
from isoscope.core.recording.problems import STILL_WRITTEN
from isoscope.core.recording.scenes import (
    Scenes,
    actor_scenes,
    came_later,
    scene_count,
    scenes_of,
)
from isoscope.core.summary import counted
from isoscope.widgets.document import Phase
from isoscope.widgets.sources.texts import actor_tooltip, lifetime_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.analysis import Analysis
    from isoscope.core.recording.model import Actor, Problem
    from isoscope.widgets.session import Document


class Kind(Enum):
    """What a row is."""

    DOCUMENT = "document"
    SECTION = "section"
    SCENE = "scene"
    ENVIRONMENT = "environment"
    ACTOR = "actor"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Row:
    """One row below a document.

    Attributes
    ----------
    kind
        What it is.
    text
        At the left.
    right
        At the right end, dim.
    tip
        Everything about it.
    icon
        Key into the panel's icons.
    actor
        Index of the actor, of an ACTOR.
    event
        Number of the event that a PROBLEM is at.
    env
        Number of the environment, of an ENVIRONMENT.
    badge
        Worst severity and number of its findings, before what stands at the right end.
    checkable
        Whether it has a check box: shown or not.
    opened
        Whether it is unfolded at first.
    children
        Rows below.
    """

    kind: Kind
    text: str
    right: str = ""
    tip: str = ""
    icon: str = ""
    actor: int | None = None
    event: int | None = None
    env: int | None = None
    badge: tuple[str, int] = ("", 0)
    checkable: bool = False
    opened: bool = True
    children: tuple[Row, ...] = ()


FOLLOWS = "Click to look at whichever took a step last."
SCENES = {
    Scenes.ALONE: ("Scene", "Click to look at the scene itself."),
    Scenes.SHARED: (
        "Scene · shared",
        "Click to look at the scene itself, as its environments step it in turn.",
    ),
    Scenes.OWN: (
        "Scenes · one each",
        f"Each environment steps a scene of its own. {FOLLOWS}",
    ),
    Scenes.SIDE_BY_SIDE: (
        "Scene · a world each",
        "The environments are side by side in one scene, and none reaches another. "
        + FOLLOWS,
    ),
    Scenes.UNTOLD: (
        "Environments",
        f"They tell of no scene, only of their control steps. {FOLLOWS}",
    ),
}
MOST_UNFOLDED = 64
MOST_TOLD = 6
MOST_LISTED = 2000
_EVENT = re.compile(r"/events/(\d{1,18})(?:/|$)")


def scene_section(document: Document) -> Row | None:
    """The scene and the environments that step it, once that is known."""
    analysis = document.analysis
    if analysis is None or not analysis.environments:
        return None
    envs = analysis.environments
    row_is = document.recording.row_is
    rows = tuple(_environment(analysis, env, row_is) for env in envs[:MOST_LISTED])
    if len(envs) > MOST_LISTED:
        more = f"and {len(envs) - MOST_LISTED:,} more"
        tip = "Find them by the command palette, or in the timeline."
        rows += (Row(Kind.SECTION, more, tip=tip),)
    lost = 0
    if not isinstance(analysis, FollowedAnalysis):
        lost = int(np.count_nonzero(analysis.labels.env < 0))
    if lost:
        tip = f"{row_is.capitalize()}s that could not be given to an environment."
        unknown = f"{counted(lost, 'step')} unknown"
        rows += (Row(Kind.PROBLEM, unknown, tip=tip, icon="note"),)
    scenes = scenes_of(document.recording, len(envs))
    title, tip = SCENES[scenes]
    if scenes is Scenes.SHARED and (count := scene_count(document.recording)) > 1:
        title = f"{count:,} scenes · shared"
    few = len(envs) <= MOST_UNFOLDED
    return Row(Kind.SCENE, title, f"{len(envs):,} env", tip, opened=few, children=rows)


def _environment(analysis: Analysis, env: int, row_is: str) -> Row:
    own = analysis.rows_of(env)
    live = isinstance(analysis, FollowedAnalysis)  # by labels, which are certain
    linked = live or bool(analysis.attribution.linked[own].all())
    findings = analysis.findings_of(env)
    badge = ("", 0)
    if findings:
        worst = min((f.severity for f in findings), key=SEVERITIES.index)
        badge = (worst, len(findings))
    count = "" if live else f"{len(own):,} {row_is}s, "
    tip = [f"env {env}: {count}the first {int(own[0]):,}"]
    if not linked:
        tip.append("Some episodes are not proven to be of this environment.")
    tip += [f"{f.severity}: {f.headline}" for f in findings[:MOST_TOLD]]
    tip.append("Click to look at this environment; check: show it.")
    return Row(
        Kind.ENVIRONMENT,
        f"env {env}" if linked else f"env {env} ?",
        tip="\n".join(tip),
        env=env,
        badge=badge,
        checkable=analysis.shared,
    )


def actors_section(document: Document) -> Row | None:
    """The actors, each articulation with its links below it."""
    actors = list(document.recording.actors)
    if not actors:
        return None
    scenes, later = actor_scenes(document.recording), came_later(document.recording)
    owners = {
        (scenes[a.index], a.name): a.index for a in actors if a.parent_name is None
    }
    links: dict[int, list[Actor]] = {}
    tops: list[Actor] = []
    for actor in actors:
        owner = owners.get((scenes[actor.index], actor.parent_name or ""))
        if owner is None:
            tops.append(actor)
        else:
            links.setdefault(owner, []).append(actor)
    several = len(set(scenes)) > 1
    rows = tuple(
        _actor(
            a,
            a.name,
            a.index in later,
            f"scene {scenes[a.index]}" if several else "",
            tuple(
                _actor(link, link.name.rpartition("/")[2], link.index in later)
                for link in links.get(a.index, ())
            ),
        )
        for a in tops
    )
    few = len(actors) <= MOST_UNFOLDED
    return Row(Kind.SECTION, "Actors", str(len(actors)), opened=few, children=rows)


def problems_section(document: Document) -> Row | None:
    """What could not be read or should be known, with its place."""
    problems = list(document.recording.problems)
    if document.phase is Phase.LIVE:  # that it is being written is no problem of it
        problems = [p for p in problems if not p.message.endswith(STILL_WRITTEN)]
    if not problems:
        return None
    worst = "error" if any(p.severity == "error" for p in problems) else "warning"
    return Row(
        Kind.SECTION,
        "Problems",
        str(sum(p.count for p in problems)),
        icon=worst,
        opened=worst == "error",
        children=tuple(map(_problem, problems)),
    )


SECTIONS: tuple[Callable[[Document], Row | None], ...] = (
    scene_section,
    actors_section,
    problems_section,
)


def sections(document: Document) -> tuple[Row, ...]:
    """All that stands below a document."""
    made = (section(document) for section in SECTIONS)
    return tuple(row for row in made if row is not None)


def _actor(
    actor: Actor,
    name: str,
    later: bool,
    scene: str = "",
    children: tuple[Row, ...] = (),
) -> Row:
    icon = {"Articulated": "articulated", "Soft": "soft"}.get(actor.type, "rigid")
    right = lifetime_text(actor, later) or ("static" if actor.static else scene)
    return Row(
        Kind.ACTOR,
        name,
        right,
        actor_tooltip(actor, later),
        "static" if actor.static else icon,
        actor.index,
        checkable=True,
        children=children,
    )


def _problem(problem: Problem) -> Row:
    times = f"×{problem.count}" if problem.count > 1 else ""
    place = f"\n{problem.where}" if problem.where else ""
    more = "\nThe first place of several is named." if problem.count > 1 else ""
    tip = f"{problem.message}{place}{more}"
    found = _EVENT.match(problem.where)
    event = int(found[1]) if found else None
    where = Row(Kind.PROBLEM, problem.where, tip=tip, event=event)
    return Row(
        Kind.PROBLEM,
        problem.message,
        times,
        tip,
        problem.severity,
        event=event,
        children=(where,) if problem.where else (),
        opened=False,
    )
