"""The document's own code reads a column: what it says of the file is so."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.core.recording import registry
from isoscope.core.recording.labelled.tables import FIXED
from tests.core.recording.labelled.samples import LABELLED

DOCUMENT = Path(__file__).parents[4] / "docs" / "labelled-recording.md"
SAMPLE = LABELLED / "shared_cartpole_2env.isoscope.h5"


def test_reading_a_column_by_hand() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    code = text[text.index("    import h5py, json") : text.index('    column("native"')]
    code = textwrap.dedent(code).replace('"run.isoscope.h5"', "SAMPLE, locking=False")
    place: dict[str, Any] = {"SAMPLE": SAMPLE}
    exec(code, place)
    recording = registry.load(SAMPLE)
    labels = recording.labels
    assert labels is not None
    np.testing.assert_array_equal(place["column"]("native", "env"), labels.env)
    gravity = place["column"]("native", "gravity")
    np.testing.assert_array_equal(gravity, recording.steps.gravity)
    place["file"].close()


def test_every_column_is_named() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for schema in FIXED:
        assert f"| `{schema.name}` |" in text
        for column in schema.columns:
            assert f"`{column.name}`" in text, (schema.name, column.name)
