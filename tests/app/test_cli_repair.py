"""``isoscope repair``: clean copies, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from isoscope.app.main import main
from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity(engine="none")) as recorder:
        for row in range(5):
            recorder.native(r.NativeStep(env=0, control_step=row, h_s=0.1))
    return path


def test_a_copy_beside_it(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(whole)]) == 0
    copy = whole.with_name("run.repaired.isoscope.h5")
    said = capsys.readouterr().err
    assert "saved 5 native steps" in said
    assert "nothing was wrong" in said
    assert len(registry.load(copy)) == 5
    assert main(["repair", str(whole)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["repair", str(whole), "--overwrite"]) == 0


def test_json(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = whole.with_name("other.h5")
    assert main(["repair", str(whole), "--out", str(target), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "isoscope.repair/1"
    assert found["native_steps"] == 5
    assert found["lost"] == []
    assert not found["needed"]
    assert found["bytes"] == target.stat().st_size


def test_what_it_refuses(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(whole), "--out", str(whole), "--overwrite"]) == 2
    assert "never changed" in capsys.readouterr().err
    other = whole.with_name("text.h5")
    other.write_text("nothing of ours")
    assert main(["repair", str(other)]) == 2
    assert "not a labelled recording" in capsys.readouterr().err
    assert main(["repair", str(whole.with_name("missing.h5"))]) == 2
    capsys.readouterr()
    cut = whole.with_name("cut.isoscope.h5")
    cut.write_bytes(whole.read_bytes()[:600])
    assert main(["repair", str(cut)]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert not list(whole.parent.glob(".*"))
