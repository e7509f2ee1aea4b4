"""What the user asks an export for, also as the command that does the same. No Qt."""

from __future__ import annotations

import getpass
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.core.dataset.exporters.plan import BY_ROLE, ExportOptions, FieldMap

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.exporters.splits import Splits
    from isoscope.core.dataset.validate.report import Waiver


@dataclass(frozen=True, slots=True)
class Request:
    """An export as it is asked for.

    Attributes
    ----------
    target
        The file or folder to make.
    fields
        What features are called, in which units and types; an empty name leaves one
        out. The rest goes by its role.
    waivers
        Rules that may fail.
    """

    format: str
    target: Path
    splits: Splits | None = None
    options: ExportOptions = field(default_factory=ExportOptions)
    fields: tuple[FieldMap, ...] = ()
    overwrite: bool = False
    waivers: tuple[Waiver, ...] = ()


def command(
    request: Request,
    source: Path,
    workspace: Path | None = None,
    transitions: Path | None = None,
) -> str:
    """The command line that makes the same dataset.

    Parameters
    ----------
    workspace
        Where the edits are kept; None if there are none.
    transitions
        Where the actions of a bare recording are.
    """
    words = ["isoscope", "export", str(source), "--format", request.format]
    words += ["--out", str(request.target)]
    if transitions is not None:
        words += ["--transitions", str(transitions)]
    if workspace is not None:
        words += ["--workspace", str(workspace)]
    splits, options = request.splits, request.options
    if splits is not None and splits.fractions:
        shares = ",".join(f"{n}={share:.15g}" for n, share in splits.fractions.items())
        words += ["--split", shares]
        if splits.by != "episode":
            words += ["--split-by", splits.by]
        if splits.seed:
            words += ["--seed", str(splits.seed)]
    for one in request.fields:
        words += _words_of(one)
    for option, text in (
        ("--task", options.task),
        ("--robot-type", options.robot_type),
        ("--env-name", options.env_name),
    ):
        words += [option, text] if text else []
    if options.fps is not None:
        words += ["--fps", f"{options.fps:.15g}"]
    if options.next_observation:
        words.append("--next-observation")
    for waiver in request.waivers:
        words += ["--waive", f"{waiver.rule}={waiver.why}"]
    if request.overwrite:
        words.append("--overwrite")
    return shlex.join(words)


def _words_of(one: FieldMap) -> list[str]:
    words: list[str] = []
    if one.target != BY_ROLE:
        words += ["--map", f"{one.source}={one.target}"]
    if one.units:
        told = ",".join("" if unit is None else unit for unit in one.units)
        words += ["--units", f"{one.source}={told}"]
    if one.dtype is not None:
        words += ["--dtype", f"{one.source}={one.dtype}"]
    return words


def whoever() -> str:
    """Who waives: the user, as the system knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # nobody known to the system
        return "unknown"
