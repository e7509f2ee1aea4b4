"""N actions with N, N + 1 or N - 1 observations: named; a surplus is never cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.app.main import main
from tests.app.cli import as_json

if TYPE_CHECKING:
    from pathlib import Path

N = 217


def write(path: Path, observed: int, steps: int = N, states: int | None = None) -> None:
    """A file as robomimic's users have it, with so many rows."""
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        demo = file.create_group("data/demo_0")
        demo.attrs["num_samples"] = steps
        demo["actions"] = rng.normal(size=(steps, 7)).astype(np.float32)
        demo["rewards"] = np.zeros(steps)
        demo["dones"] = np.arange(steps) == steps - 1
        demo["obs/eef_pos"] = rng.normal(size=(observed, 3))
        if states is not None:
            demo["states"] = rng.normal(size=(states, 32))


def lengths(report: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (rule for rule in report["rules"] if rule["id"] == "lengths")
    return found


@pytest.mark.parametrize(
    ("observed", "named"), [(N, "pre-step or post-step"), (N + 1, "pre-step + final")]
)
def test_alignments_that_are_known(
    observed: int,
    named: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "demos.hdf5"
    write(path, observed)
    rule = lengths(as_json(capsys, "validate", str(path)))
    assert rule["answer"] == "passed"
    assert named in rule["message"]


@pytest.mark.parametrize(
    ("observed", "states", "named"),
    [
        (N - 1, None, "ambiguous"),
        (N, 267, "50 more than there are control steps"),
        (267, None, "50 more than there are control steps"),
    ],
)
def test_a_surplus_blocks_and_nothing_is_cut(
    observed: int,
    states: int | None,
    named: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = tmp_path / "demos.hdf5", tmp_path / "out"
    write(path, observed, states=states)
    before = path.read_bytes()
    report = as_json(capsys, "validate", str(path), status=1)
    rule = lengths(report)
    assert report["blocking"]
    assert rule["answer"] == "failed"
    assert named in rule["where"][0]["value"]
    status = main(["export", str(path), "--format", "shards", "--out", str(out)])
    captured = capsys.readouterr()
    assert status == 1
    assert "nothing was written: " in captured.err
    assert "lengths" in captured.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demos.hdf5"]
    assert path.read_bytes() == before


def test_a_waiver_is_explicit_and_travels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "demos.hdf5", tmp_path / "out"
    write(path, N, states=267)
    found = as_json(
        capsys,
        *("export", str(path), "--format", "shards", "--out", str(out)),
        *("--waive", "lengths=states were logged at another rate"),
    )
    assert found["waived"] == ["lengths"]
    manifest = as_json(capsys, "manifest", "show", str(out))
    (waiver,) = manifest["waivers"]
    assert waiver["rule"] == "lengths"
    assert waiver["why"] == "states were logged at another rate"
    assert waiver["by"]
    # and on, through the next export
    again = as_json(
        capsys,
        *("export", str(out), "--format", "robomimic", "--out"),
        str(tmp_path / "again.hdf5"),
    )
    onward = as_json(capsys, "manifest", "show", again["manifest"])
    assert onward["source"]["manifest"]["waivers"] == [waiver]
    assert onward["source"]["sha256"] == found["sha256"]
