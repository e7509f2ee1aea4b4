"""What `isoscope bench export` measures can be measured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from isoscope.app.bench import export_bench
from isoscope.app.bench.export_load import Load
from isoscope.app.bench.export_memory import peak
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.model import Episodes
from isoscope.core.dataset.validate.run import validate
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_load_is_a_source_and_plain_parquet_holds_the_same(tmp_path: Path) -> None:
    source = Load(3, 40)
    assert isinstance(source, Episodes)
    result = export(source, "lerobot", tmp_path / "a")
    assert result.rows == 120
    table = export_bench._columns(result.path)
    assert len(table) == 120
    assert {"observation.state", "action", "next.reward"} < set(table.column_names)
    export_bench._plain(table, tmp_path / "plain.parquet")
    assert (tmp_path / "plain.parquet").stat().st_size > 1000


def test_no_row_of_the_load_is_beyond_its_episode() -> None:
    source = Load(2, 40)
    for feature in source.features:
        assert len(source.read(1, feature.name, 30, 1000)) == 10
        assert len(source.read(1, feature.name, 40, 80)) == 0
    assert validate(source).transitions == 80


def test_memory_is_watched_in_another_process() -> None:
    found = peak("robomimic", 300)
    assert found is None or found >= 0


def test_lerobot_is_where_the_setting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(export_bench.SETTING, raising=False)
    assert export_bench._lerobot(Load(100, 2), tmp_path) is None
    monkeypatch.setenv(export_bench.SETTING, sys.executable)  # beside no lerobot
    with pytest.raises(ReadError, match="lerobot"):
        export_bench._lerobot(Load(100, 2), tmp_path)
