"""Open what a command validates or exports: a recording's transitions, or a dataset.

A recording is attributed and audited on the way, so that what its findings touch is
known; a dataset on disk is taken as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isoscope.app import console
from isoscope.core.dataset.curate.columns import (
    Touches,
    columns,
    of_what_is_kept,
)
from isoscope.core.dataset.curate.curated import CuratedEpisodes, curated
from isoscope.core.dataset.curate.picking import keep_listed, keep_matching
from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.core.dataset.model import Episodes
from isoscope.core.dataset.readers.registry import open_episodes, recognised
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.dataset.validate.report import Report, Waiver
from isoscope.core.dataset.validate.run import validate
from isoscope.core.errors import ReadError, UsageError
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.isolation.findings import Audit
from isoscope.core.isolation.tainting import tainted
from isoscope.core.recording.model import Recording

OF_FINDINGS = ("findings", "errors", "warnings", "notes", "tainted")


@dataclass(frozen=True, slots=True)
class Opened:
    """Episodes, and where they come from a recording, what the audit says of it."""

    path: Path
    episodes: Episodes
    recording: Recording | None = None
    audit: Audit | None = None
    touches: Touches | None = None
    beside: Sequence[Path] = ()
    substeps: int | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice of episodes, and the audit without what touches only the rest."""

    opened: Opened
    episodes: CuratedEpisodes
    workspace: Workspace
    audit: Audit | None


def open_dataset(
    path: Path,
    transitions: Path | None = None,
    substeps: int | None = None,
    labels: Path | None = None,
) -> Opened:
    """Open a labelled recording, a bare one with its transitions, or a dataset.

    Raises
    ------
    ReadError
        If it can't be read.
    UsageError
        If it holds no transitions.
    """
    if not path.exists():
        raise ReadError("opening", path, "no such file or folder")
    if recognised(path) is not None:
        if transitions is not None:
            raise UsageError(
                f"{path} is a dataset, which has its actions; leave out --transitions"
            )
        found = open_episodes(path)
        for problem in getattr(found, "problems", ()):
            console.warn(f"{path.name}: {problem}")
        return Opened(path, found)
    if path.is_dir():
        return Opened(path, open_episodes(path))  # refuses, and says what there is
    from isoscope.app.examining import examine

    subject = examine(path, substeps, labels)
    episodes = episodes_of(subject.recording, subject.attribution, transitions)
    told = subject.recording.labelled is not None and transitions is None
    found_by, touches = _audited(subject, episodes, by_transition=told)
    return Opened(
        path,
        episodes,
        subject.recording,
        found_by,
        touches,
        [given for given in (transitions, labels) if given is not None],
        subject.attribution.substeps,
    )


def _audited(
    subject: Examined, episodes: Episodes, *, by_transition: bool
) -> tuple[Audit, Touches]:
    with console.progress("checking the recording") as report:
        found = audit(Context(subject), report)
    spread = tainted(subject, found.findings)
    return found, Touches(episodes, spread, by_transition)


def choose(
    opened: Opened,
    workspace: Path | None = None,
    listed: str | None = None,
    where: str | None = None,
) -> Chosen:
    """Take the edits of a workspace, then keep what is listed and what a query keeps.

    The workspace's file is only read.

    Raises
    ------
    UsageError
        If an episode isn't there, the query can't be understood, or nothing is left.
    ReadError
        If the workspace can't be read.
    """
    made = Workspace(opened.episodes)
    if workspace is not None:
        if not workspace.is_file():
            raise ReadError("reading the workspace", workspace, "no such file")
        for edit in Workspace(opened.episodes, workspace).edits:
            made.make(edit)
    if listed is not None:
        picked = keep_listed(made.choice, listed)
        if picked is not None:
            made.make(picked)
    if where is not None:
        if opened.touches is None and any(name in where for name in OF_FINDINGS):
            console.warn(
                f"{opened.path.name} has no native steps to audit, so its findings "
                "are unknown"
            )
        asked = columns(opened.episodes, made.choice, opened.touches, where)
        picked = keep_matching(made.choice, where, asked)
        if picked is not None:
            made.make(picked)
    kept = curated(opened.episodes, made.choice, opened.touches)
    if not kept.episodes:
        raise UsageError(
            f"choosing episodes of {opened.path}: none of {len(made.choice.items)} "
            "is left"
        )
    left = opened.audit
    if opened.audit is not None and opened.touches is not None:
        left = of_what_is_kept(opened.audit, opened.touches, made.choice)
    return Chosen(opened, kept, made, left)


def validated(chosen: Chosen, waivers: Sequence[Waiver]) -> Report:
    """Validate a choice, with progress."""
    with console.progress(f"validating {chosen.opened.path.name}") as report:
        return validate(chosen.episodes, chosen.audit, waivers, report)


def waivers_of(given: Sequence[str]) -> list[Waiver]:
    """Read ``RULE=WHY`` texts; who waives is the user.

    Raises
    ------
    UsageError
        If one doesn't say why, or a rule is waived twice.
    """
    import getpass

    try:
        by = getpass.getuser()
    except (OSError, KeyError, ImportError):  # nobody known to the system
        by = "unknown"
    out: dict[str, Waiver] = {}
    for text in given:
        rule, _, why = (part.strip() for part in text.partition("="))
        if not rule or not why:
            raise UsageError(
                f"--waive {text}: say which rule and why, as in "
                '--waive "finite=the spike is real"'
            )
        if rule in out:
            raise UsageError(f"--waive {text}: {rule} is waived twice")
        out[rule] = Waiver(rule=rule, by=by, why=why)
    return list(out.values())
