"""The written form of an export, ``isoscope.export/1``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class ExportReport(msgspec.Struct, frozen=True, kw_only=True):
    """An export that was made.

    Attributes
    ----------
    dropped
        Rows of the source that are not in the dataset, by reason.
    left_out
        A line for everything else of the source that the dataset does not have.
    read_back
        ``"equal"``: all was read back and compared, value by value.
    compared
        How many values that were.
    manifest
        The file that the manifest is in: one of a folder's, or the dataset itself.
    sha256
        Of the dataset: of a file with its manifest's bytes as zeros, of a folder that
        of the list of its files.
    fields
        Names in the dataset by names in the source.
    """

    schema: Literal["isoscope.export/1"] = "isoscope.export/1"
    source: str
    target: str
    format: str
    episodes: int
    transitions: int
    bytes: int
    dropped: list[dict[str, Any]] = []
    left_out: list[str] = []
    read_back: Literal["equal", "not_run"] = "not_run"
    compared: int = 0
    manifest: str
    sha256: str
    fields: dict[str, str] = {}
    splits: dict[str, list[int]] = {}
    waived: list[str] = []
