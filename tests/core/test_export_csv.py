"""The exported table reads back the same bits, and says what was absent."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.errors import UsageError
from isoscope.core.export_csv import export_csv
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.series import Measure


@dataclass(frozen=True)
class Ref:
    actor: int | None
    field: str
    component: int | None = None
    measure: Measure | None = None


def table(path: Path) -> dict[str, list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


@pytest.mark.parametrize("prefix", ["", "fp64_"])
def test_every_bit_of_a_range_comes_back(
    recordings: Path, tmp_path: Path, prefix: str
) -> None:
    recording = load(recordings / f"{prefix}shared_cartpole_2env.h5")
    pole = recording.find_actors("CartPole/Pole")[0]
    refs = [Ref(pole.index, "omega"), Ref(None, "timeStep"), Ref(pole.index, "handle")]
    out = tmp_path / "range.csv"
    written = export_csv(out, recording, refs, 10, 40)
    columns = table(out)
    assert (written.rows, written.columns, written.odd) == (30, len(columns), 0)
    assert columns["native"] == [str(row) for row in range(10, 40)]
    omega = pole.fields["omega"].read(10, 40).values
    for i, part in enumerate("xyz"):
        texts = columns[f"CartPole/Pole.omega.{part} [rad/s]"]
        assert np.array_equal(np.array(texts, omega.dtype), omega[:, i])
    steps = np.array(columns["step.timeStep [s]"], float)
    assert np.array_equal(steps, recording.steps.h_s[10:40])
    assert set(columns["CartPole/Pole.handle"]) == {str(pole.handle)}
    assert set(columns["CartPole/Pole.omega.valid"]) == {"1"}


def test_absent_rows_have_empty_cells_and_valid_zero(
    recordings: Path, tmp_path: Path
) -> None:
    recording = load(recordings / "create_destroy.h5")
    late = recording.find_actors("Late")[0]
    out = tmp_path / "late.csv"
    export_csv(out, recording, [Ref(late.index, "translation", 1)], 0, 30)
    columns = table(out)
    assert columns["Late.translation.valid"] == ["0"] * 10 + ["1"] * 20
    assert columns["Late.translation.y [m]"][:10] == [""] * 10
    assert "" not in columns["Late.translation.y [m]"][10:]


def test_measures_share_one_valid_column(recordings: Path, tmp_path: Path) -> None:
    recording = load(recordings / "rigid_contacts_all.h5")
    ball = recording.find_actors("BallA")[0].index
    refs = [Ref(ball, "contacts_force", None, m) for m in ("count", "max")]
    out = tmp_path / "contacts.csv"
    export_csv(out, recording, refs, 0, 80)
    columns = table(out)
    assert list(columns)[2:] == [
        "BallA.contacts_force.count",
        "BallA.contacts_force.valid",
        "BallA.contacts_force.max [N]",
    ]
    counts = columns["BallA.contacts_force.count"]
    assert "0" not in counts
    assert counts.count("") == columns["BallA.contacts_force.valid"].count("0") == 21


def test_what_cannot_be_written_is_told_and_leaves_nothing(
    recordings: Path, tmp_path: Path
) -> None:
    recording = load(recordings / "no_state.h5")
    gravity = Ref(None, "gravity")
    for refs, rows, path in [
        ([], (0, 5), tmp_path / "a.csv"),
        ([gravity], (3, 3), tmp_path / "a.csv"),
        ([Ref(0, "omega")], (0, 5), tmp_path / "a.csv"),
        ([Ref(0, "name")], (0, 5), tmp_path / "a.csv"),
        ([Ref(None, "gravity", 7)], (0, 5), tmp_path / "a.csv"),
        ([gravity], (0, 5), tmp_path / "no" / "such" / "folder.csv"),
    ]:
        with pytest.raises(UsageError) as error:
            export_csv(path, recording, refs, *rows)
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
