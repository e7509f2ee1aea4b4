"""The written form of a manifest, ``isoscope.manifest/1``, and of a difference of two.

Whatever is not known is null or empty, and listed in `Manifest.missing`. Environments
and native steps count from 0, episodes and control steps from 1.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

# msgspec needs them when it runs
from isoscope.core.dataset.validate.report import Waiver  # noqa: TC001
from isoscope.core.replay.forms import Claims  # noqa: TC001

SCHEMA: Literal["isoscope.manifest/1"] = "isoscope.manifest/1"
DIFF: Literal["isoscope.manifest-diff/1"] = "isoscope.manifest-diff/1"


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file, by its path within the dataset or the source."""

    path: str
    bytes: int
    sha256: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the episodes were read from.

    Attributes
    ----------
    path
        Its name alone: the folder it was in says nothing to others.
    sha256
        Of the file; of a folder, of the list of its files, see `hashes`. None where it
        is no file.
    complete
        Whether all of it could be read; None where that isn't known.
    problems
        What could not be read.
    beside
        Files that were given beside it, such as the one with a bare recording's
        actions.
    manifest
        The source's own manifest, where it is an exported dataset: its sha256, and the
        waivers and edits that it came with.
    """

    path: str
    format: str
    sha256: str | None
    bytes: int | None
    complete: bool | None = None
    problems: list[str] = []
    beside: list[FileEntry] = []
    manifest: dict[str, Any] | None = None


class FieldEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A column, its components in the order of the flat vector, and all its values.

    Attributes
    ----------
    name, source
        In the dataset, and in what it was exported from.
    sha256
        Of all values, little-endian, row-major, episode by episode in the source's
        order.
    count
        Rows.
    finite, min, max, mean, std
        Of the finite numbers among them; None where there are none.
    """

    name: str
    source: str
    role: str
    dtype: str
    shape: list[int]
    per: str
    names: list[str] = []
    units: list[str | None] = []
    low: list[float] | None = None
    high: list[float] | None = None
    count: int = 0
    sha256: str = ""
    finite: int = 0
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    std: float | None = None


class EpisodeEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An episode of the dataset, and which it was in the source.

    Attributes
    ----------
    index
        In the dataset.
    source
        Its id in the source, where the choice split or cut it; else None.
    control_steps
        Which of the source's episode it has, half open from 0, where it was cut.
    tainted
        How many of its transitions findings say not to trust; None where unknown.
    """

    index: int
    id: str
    length: int
    env: int | None = None
    number: int | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    complete: bool = True
    final: bool = True
    seed: int | str | None = None
    native: tuple[int, int] | None = None
    source: str | None = None
    control_steps: tuple[int, int] | None = None
    tags: list[str] = []
    tainted: int | None = None


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """h, H, M and how they lie to each other.

    Attributes
    ----------
    h_s
        Time steps in use, s.
    control_period_s
        H, s.
    substeps
        M: native steps of a control step.
    relation
        ``"H = M h"`` where the three agree, else what they are; empty where unknown.
    """

    h_s: list[float] = []
    control_period_s: float | None = None
    control_hz: float | None = None
    substeps: int | None = None
    relation: str = ""


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """What the validation said; `sha256` is that of its report as JSON."""

    sha256: str
    blocking: bool
    passed: list[str] = []
    failed: list[str] = []
    waived: list[str] = []
    not_checkable: list[str] = []


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a manifest should have, and its source does not tell."""

    what: str
    needs: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """How a dataset was made.

    Attributes
    ----------
    made_with
        Version of this program, Python, packages and system.
    identity
        As the source tells: engine, build, precision, packages, schedule, seeds.
    configuration
        Scenes, models and their reference hashes, and persistent values as drawn.
    reasons
        Why episodes ended, how often.
    frames
        Capture and read times of camera frames and the like, by stream.
    failures
        What went wrong in the source, and is kept: by kind, how often and where first.
    solver
        Native steps by solver status.
    fields_map
        Names in the dataset by names in the source.
    audit, findings
        How much the audit of the whole recording found, and how often what; None and
        empty where there was none.
    """

    schema: Literal["isoscope.manifest/1"] = SCHEMA
    format: str
    created: str
    made_with: dict[str, str] = {}
    source: Source
    identity: dict[str, Any] = {}
    configuration: dict[str, Any] = {}
    clocks: Clocks
    environments: list[int] = []
    episodes: list[EpisodeEntry] = []
    transitions: int = 0
    fields: list[FieldEntry] = []
    fields_map: dict[str, str] = {}
    splits: dict[str, list[int]] = {}
    reasons: dict[str, int] = {}
    frames: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    solver: dict[str, int] = {}
    dropped: list[dict[str, Any]] = []
    left_out: list[str] = []
    edits: list[dict[str, Any]] = []
    waivers: list[Waiver] = []
    validation: Validation | None = None
    audit: dict[str, int] | None = None
    findings: dict[str, int] = {}
    files: list[FileEntry] = []
    sha256: str = ""
    missing: list[Missing] = []


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that two manifests tell differently; None where one doesn't tell."""

    key: str
    a: Any = None
    b: Any = None


class ManifestDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two datasets, and what can still be claimed of them."""

    schema: Literal["isoscope.manifest-diff/1"] = DIFF
    a: str
    b: str
    claims: Claims
    differences: list[Difference] = []
    not_known: list[str] = []
