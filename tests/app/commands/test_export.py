"""``isoscope export`` and ``isoscope manifest``: what is written, told and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from isoscope.app.commands import export as command
from isoscope.app.main import main
from isoscope.core.dataset.manifest import exporting
from isoscope.core.dataset.readers.registry import open_episodes
from tests.app.cli import as_json, path, printed, refused
from tests.app.commands.test_validate import demos, truth

if TYPE_CHECKING:
    from typing import Any

BARE = path("shared_cartpole_2env")
MISSED = path("shared_cartpole_missed_restore")
GIVEN = (BARE, "--transitions", truth(BARE))


def test_the_written_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    found = as_json(capsys, "export", *GIVEN, "--format", "lerobot", "--out", str(out))
    assert found["schema"] == "isoscope.export/1"
    assert (found["target"], found["format"]) == (str(out), "lerobot")
    assert (found["episodes"], found["transitions"]) == (5, 60)
    assert found["read_back"] == "equal"
    assert found["manifest"] == str(out / "isoscope-manifest.json")
    manifest = as_json(capsys, "manifest", "show", str(out))
    assert manifest["sha256"] == found["sha256"]
    assert manifest["schema"] == "isoscope.manifest/1"
    # M was found out by the attribution, h is the recording's, H is the file's.
    assert manifest["clocks"]["substeps"] == 2
    assert manifest["clocks"]["relation"] == "H = M h"
    beside = [entry["path"] for entry in manifest["source"]["beside"]]
    assert beside == [Path(truth(BARE)).name]
    assert sum(one["bytes"] for one in manifest["files"]) <= found["bytes"]


def test_values_are_those_of_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against the file with the actions itself, read by nothing of ours."""
    out = tmp_path / "data"
    printed(capsys, "export", *GIVEN, "--format", "shards", "--out", str(out))
    told: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in json.loads(Path(truth(BARE)).read_text())["transitions"]:
        told.setdefault((row["env"], row["episode"]), []).append(row)
    written = open_episodes(out)
    named = {f.role: f.name for f in written.features}
    assert len(written.episodes) == len(told)
    for episode in written.episodes:
        assert episode.env is not None
        assert episode.number is not None
        rows = told[episode.env, episode.number]
        seen = written.read(episode.index, named["observation"]).tolist()
        assert seen[:-1] == [row["obs"] for row in rows]
        assert seen[1:] == [row["next_obs"] for row in rows]
        actions = written.read(episode.index, named["action"]).tolist()
        assert actions == [row["action"] for row in rows]
        rewards = written.read(episode.index, named["reward"]).tolist()
        assert rewards == [row["reward"] for row in rows]
    written.close()


def test_splits_names_units_and_dtypes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data.hdf5"
    found = as_json(
        capsys,
        *("export", *GIVEN, "--format", "robomimic", "--out", str(out)),
        *("--split", "train=0.6,valid=0.4", "--seed", "3"),
        *("--map", "observation=obs/policy", "--units", "action=N"),
        *("--dtype", "observation=float32"),
    )
    assert {k: len(v) for k, v in found["splits"].items()} == {"train": 3, "valid": 2}
    assert found["fields"]["observation"] == "obs/policy"
    written = open_episodes(out)
    features = {f.name: f for f in written.features}
    assert features["obs/policy"].dtype == "float32"
    assert features["actions"].units == ("N",)
    written.close()
    assert dict(written.splits) == found["splits"]


def test_what_is_rejected_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(
        capsys,
        *("export", *GIVEN, "--format", "shards", "--out", str(tmp_path / "data")),
        *("--where", "complete and length > 10"),
    )
    assert "transitions of rejected episodes" in out
    assert "equal" in out
    shown = printed(capsys, "manifest", "show", str(tmp_path / "data"))
    assert "not where complete and length &gt; 10".replace("&gt;", ">") in shown
    assert "identity.engine" in shown


def test_errors_block_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    given = ("export", MISSED, "--transitions", truth(MISSED), "--format", "shards")
    report = as_json(capsys, *given, "--out", str(out), status=1)
    assert report["schema"] == "isoscope.validate/1"
    assert report["blocking"]
    assert list(tmp_path.iterdir()) == []
    # Without the episodes that it touches
    found = as_json(capsys, *given, "--out", str(out), "--where", "not errors")
    assert 0 < found["episodes"] < len(report["episodes"])
    # or with a reason
    waived = as_json(
        capsys,
        *(*given, "--out", str(tmp_path / "waived")),
        *("--waive", "audit:missed-restore=to study the fault"),
    )
    assert waived["waived"] == ["audit:missed-restore"]
    # The manifest keeps what the audit found in all of the recording.
    for target in (str(out), str(tmp_path / "waived")):
        manifest = as_json(capsys, "manifest", "show", target)
        assert manifest["findings"]["missed-restore"] == 1
        assert manifest["audit"]["errors"] == 1
        # Of the actions' own file all of a touched episode counts as tainted.
        tainted = {
            one["id"]: one["tainted"]
            for one in manifest["episodes"]
            if one["tainted"] > 0
        }
        lengths = {one["id"]: one["length"] for one in manifest["episodes"]}
        touched = {"env0-ep1"} & set(lengths)
        assert tainted == {key: lengths[key] for key in touched}
    assert "env0-ep1" in lengths


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--format", "zarr", "--out", "x"], "no exporter for 'zarr'"),
        (["--out", "x"], "missing option '--format'"),
        (["--format", "shards"], "missing option '--out'"),
        (["--format", "shards", "--out", "no/such/x"], "there is no folder"),
        (["--format", "shards", "--out", "x", "--split", "a=2"], "shares"),
        (["--format", "shards", "--out", "x", "--split-by", "day"], "--split-by day"),
        (["--format", "shards", "--out", "x", "--map", "action"], "FEATURE=VALUE"),
        (["--format", "shards", "--out", "x", "--map", "z=y"], "no feature 'z'"),
        (["--format", "shards", "--out", "x", "--dtype", "action=odd"], "no dtype"),
        (["--format", "shards", "--out", "x", "--fps", "0"], "above 0"),
        (["--format", "minari", "--out", "x_y"], "x_y"),
    ],
)
def test_wrong_arguments_are_one_line(
    more: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, "export", *GIVEN, *more)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_one_is_replaced_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = demos(tmp_path / "demos.hdf5"), tmp_path / "data"
    given = ("export", source, "--format", "shards", "--out", str(out))
    printed(capsys, *given)
    assert "--overwrite" in refused(capsys, *given, "--episodes", "0")
    assert len(as_json(capsys, "validate", str(out))["episodes"]) == 3
    printed(capsys, *given, "--episodes", "0", "--overwrite")
    assert len(as_json(capsys, "validate", str(out))["episodes"]) == 1
    same = ("export", source, "--format", "robomimic", "--out", source, "--overwrite")
    assert "the source is there" in refused(capsys, *same)


def test_ctrl_c_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = demos(tmp_path / "demos.hdf5")

    def stopped(*_: object, **__: object) -> None:
        assert list(tmp_path.glob(".data.*"))  # it was being written
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "manifest_of", stopped)
    out = str(tmp_path / "data")
    assert main(["export", source, "--format", "shards", "--out", out]) == 130
    assert capsys.readouterr().out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["demos.hdf5"]


def test_the_source_is_all_of_a_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named by its folder or by the description in it, it has its own digest."""
    source, first = demos(tmp_path / "demos.hdf5"), tmp_path / "first"
    given = ("export", source, "--format", "lerobot", "--fps", "25")
    found = as_json(capsys, *given, "--out", str(first))
    for number, named in enumerate((first, first / "meta" / "info.json")):
        out = str(tmp_path / f"again{number}")
        printed(capsys, "export", str(named), "--format", "shards", "--out", out)
        manifest = as_json(capsys, "manifest", "show", out)
        assert manifest["source"]["sha256"] == found["sha256"]
        assert manifest["source"]["manifest"]["source"]["path"] == "demos.hdf5"


def test_manifest_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = demos(tmp_path / "demos.hdf5")
    places = {}
    for name, more in (
        ("a", ("--format", "shards")),
        ("b.hdf5", ("--format", "robomimic")),
        ("c", ("--format", "shards", "--episodes", "0-1")),
    ):
        places[name] = str(tmp_path / name)
        printed(capsys, "export", source, *more, "--out", places[name])
    a, b, c = places.values()
    equal = as_json(capsys, "manifest", "diff", a, b)
    assert equal["schema"] == "isoscope.manifest-diff/1"
    assert equal["claims"]["bit_for_bit"]["answer"] == "yes"
    assert equal["claims"]["same_configuration"]["answer"] == "not_checkable"
    apart = as_json(capsys, "manifest", "diff", a, c, status=1)
    assert apart["claims"]["bit_for_bit"]["answer"] == "no"
    assert {"key": "episodes", "a": 3, "b": 2} in apart["differences"]
    shown = printed(capsys, "manifest", "diff", a, c, status=1)
    assert "bit for bit" in shown
    said = refused(capsys, "manifest", "show", source)
    assert "it has no manifest" in said


def test_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(printed(capsys, "export", "--help").split())
    assert all(key in out for key in command.EXPORTERS)
