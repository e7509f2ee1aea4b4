"""``isoscope branch``, and ``isoscope replay --model``: as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.core.recording.registry import load
from isoscope.gpu.model.named import named_model
from tests.app.cli import as_json, path, printed, refused
from tests.core.replay.recorded import record_in_turn

if TYPE_CHECKING:
    from typing import Any

KICK = ("--at", "control:1/1/3", "--action", "4:control=3")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("cli") / "run.isoscope.h5"
    made = EnvFactory("CartPole", {"max_steps": 5}, integrator="semi_implicit")
    record_in_turn(out, made, steps=6, every=2)
    return str(out)


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISOSCOPE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def names(capsys: Any, recorded: str) -> list[str]:
    told = as_json(capsys, "branch", recorded, "--list")
    assert told["schema"] == "isoscope.branches/1"
    return [one["name"] for one in told["branches"]]


def test_made_listed_renamed_run_removed(
    capsys: pytest.CaptureFixture[str], recorded: str, own_data: Path
) -> None:
    before = Path(recorded).read_bytes()
    told = as_json(capsys, "branch", recorded, *KICK, "--name", "kick")
    assert told["schema"] == "isoscope.branch/1"
    assert told["report"]["first_divergence"]["control_step"] == 4
    assert told["unedited"]["first_divergence"] is None
    assert told["control_steps"] == 3
    assert names(capsys, recorded) == ["kick"]
    assert len(list((own_data / "workspaces").glob("*.json"))) == 1
    text = printed(capsys, "branch", recorded, *KICK, "--steps", "2")
    assert "control step 4: control = 3" in text
    assert "departs at episode 1, control step 4" in text
    assert names(capsys, recorded) == ["kick", "what if 1"]
    printed(capsys, "branch", recorded, "--rename", "what if 1", "other")
    again = as_json(capsys, "branch", recorded, "--run", "other")
    assert again["report"]["growth"] == told["report"]["growth"][:2]
    assert "other" in printed(capsys, "branch", recorded, "--list")
    printed(capsys, "branch", recorded, "--remove", "kick")
    printed(capsys, "branch", recorded, "--remove", "other")
    assert names(capsys, recorded) == []
    assert "no branches" in printed(capsys, "branch", recorded, "--list")
    assert Path(recorded).read_bytes() == before


def test_exported_it_is_a_recording(
    capsys: pytest.CaptureFixture[str], recorded: str, tmp_path: Path
) -> None:
    out = tmp_path / "kick.isoscope.h5"
    state = "CartPole.positions[Hinge]=0.05"
    arguments = (*KICK, "--configure", "damping=0.1,0.1", "--state", state)
    made = ("branch", recorded, *arguments, "--steps", "4", "--out", str(out))
    assert as_json(capsys, *made, "--try")["exported"] == str(out)
    assert names(capsys, recorded) == []
    labelled = load(out).labelled
    assert labelled is not None
    assert labelled.identity.extra["branch"]["at"] == "control:1/1/3"
    assert len(labelled.identity.extra["branch"]["edits"]) == 3
    assert as_json(capsys, "info", str(out))["steps"] == 8
    assert "run.isoscope.h5" in printed(capsys, "info", str(out))
    again = as_json(capsys, "replay", str(out))
    assert again["claims"]["bit_for_bit"]["answer"] == "yes"
    printed(capsys, "audit", str(out))
    assert "exists already" in refused(capsys, *made)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "give one of"),
        (("--list", "--run", "x"), "give one of"),
        (("--run", "x"), "has no branch"),
        (("--remove", "x"), "has no branch"),
        (("--rename", "x", "y"), "has no branch"),
        (("--at", "control:1/1/3", "--action", "4:contro=3"), "nothing is called"),
        (("--at", "control:1/1/3", "--action", "four"), "STEP:NAME=VALUE"),
        (("--at", "control:1/1/3", "--configure", "x"), "KEY=VALUE"),
        (("--at", "control:1/1/3", "--state", "x=1"), "ACTOR.FIELD=VALUE"),
        (("--at", "control:1/1/3", "--steps", "0"), "control steps"),
        (("--at", "control:1/1/3", "--past-end", "x"), "hold or zero"),
        (("--at", "control:1/1/3", "--out", "x.h5"), "name it"),
        (("--at", "control:9/1/3"), "control:9/1/3"),
        (("--at", "control:1/1/3", "--name", " "), "give a name"),
        (("--run", "x", "--steps", "3"), "as it is kept"),
    ],
)
def test_refused(
    capsys: pytest.CaptureFixture[str],
    recorded: str,
    own_data: Path,
    arguments: tuple[str, ...],
    why: str,
) -> None:
    assert why in refused(capsys, "branch", recorded, *arguments)
    assert not own_data.exists()


def test_a_bare_recording_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    bare = path("shared_cartpole_2env")
    assert "bare recording" in refused(capsys, "branch", bare, "--list")


def test_branches_that_cant_be_read_are_put_aside(
    capsys: pytest.CaptureFixture[str], recorded: str, own_data: Path
) -> None:
    printed(capsys, "branch", recorded, *KICK, "--name", "kick")
    (kept,) = (own_data / "workspaces").glob("*.json")
    kept.write_bytes(kept.read_bytes()[:40])
    assert names(capsys, recorded) == []
    assert len(list((own_data / "workspaces").glob("*.unreadable"))) == 1
    assert not kept.exists()


# -- a model that stands in ------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    told = msgspec.json.decode(msgspec.json.encode(named_model("cartpole")))
    told["actors"][0]["drives"][0]["gear"] = 10.0
    out = tmp_path_factory.mktemp("model") / "driven.json"
    out.write_text(json.dumps(told))
    return str(out)


def test_a_model_stands_in(capsys: pytest.CaptureFixture[str], model: str) -> None:
    subject = path("shared_cartpole_2env")
    truth = path("shared_cartpole_2env").replace(".h5", ".truth.json")
    arguments = ("replay", subject, "--model", model, "--transitions", truth)
    told = as_json(capsys, *arguments)
    assert told["mode"] == "model"
    assert told["predicted"] == 115
    assert told["first_divergence"] is None
    strict = printed(capsys, *arguments, "--tolerance", "pose=1e-9", status=1)
    assert "CartPole.pose is" in strict
    assert "Freely, from each episode's first known state on" in strict
    pinned = as_json(capsys, *arguments, "--pinned", "--env", "0", "--steps", "5")
    assert pinned["free"] == []


def test_a_model_is_refused(
    capsys: pytest.CaptureFixture[str], model: str, tmp_path: Path
) -> None:
    subject = path("rigid_contacts_all")
    for arguments, why in (
        (("--model", model), "can't express it"),
        (("--model", str(tmp_path / "nowhere.json")), "nowhere.json"),
        (("--model", model, "--alone"), "leave out"),
        (("--model", model, "--integrator", "x"), "give one of"),
        (("--transitions", "x"), "go with --model"),
    ):
        assert why in refused(capsys, "replay", subject, *arguments)
