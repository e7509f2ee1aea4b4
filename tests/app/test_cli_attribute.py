from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.cli import as_json, path, printed, refused

KEYS = {
    "schema",
    "file",
    "environments",
    "episodes",
    "substeps",
    "origin",
    "unknown",
    "reasons",
    "max_residual",
    "min_margin",
    "steps",
}
STEP_KEYS = {
    "native",
    "env",
    "episode",
    "control_step",
    "substep",
    "kind",
    "linked",
    "residual",
    "margin",
    "confidence",
    "reason",
}
KINDS = {"reset_dummy": "reset", "substep": "substep"}
SHARED = (
    "shared_cartpole_2env",
    "fp64_shared_cartpole_2env",
    "shared_cartpole_short_episodes",
    "shared_cartpole_leak_gravity",
    "shared_cartpole_leak_inertia",
    "shared_cartpole_missed_restore",
    "fp64_shared_cartpole_missed_restore",
)


@pytest.mark.parametrize("name", SHARED)
def test_every_step_against_the_truth(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys, "attribute", path(name))
    truth = json.loads(Path(path(name)).with_suffix(".truth.json").read_text())
    assert found["schema"] == "isoscope.attribute/1"
    assert found.keys() >= KEYS
    assert found["file"] == path(name)
    assert (found["environments"], found["substeps"]) == (2, 2)
    assert found["unknown"] == 0
    assert found["origin"] == "reset"
    assert len(found["steps"]) == len(truth["native_steps"])
    for native, (step, right) in enumerate(
        zip(found["steps"], truth["native_steps"], strict=True)
    ):
        assert step.keys() >= STEP_KEYS
        assert step["native"] == native
        for key in ("env", "episode", "control_step", "substep"):
            assert step[key] == right[key], (native, key)
        assert step["kind"] == KINDS[right["kind"]]
        assert step["linked"] is True
        assert step["reason"] is None
        assert step["confidence"] > 0.99


def test_what_is_unknown_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "attribute", path("no_state"))
    assert found["substeps"] is None
    assert found["unknown"] == 5
    assert found["reasons"] == {"no_velocities": 5}
    step = found["steps"][0]
    for key in ("env", "episode", "control_step", "substep", "residual", "margin"):
        assert step[key] is None
    assert step["reason"] == "no_velocities"


def test_m_that_can_not_be_found_out_may_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = path("independent_cartpole_env0")
    bare = as_json(capsys, "attribute", name)
    assert bare["substeps"] is None
    assert bare["reasons"] == {"m_undecidable": 60}
    given = as_json(capsys, "attribute", name, "--substeps", "2")
    assert given["substeps"] == 2
    assert given["unknown"] == 0
    truth = json.loads(Path(name).with_suffix(".truth.json").read_text())
    for step, right in zip(given["steps"], truth["native_steps"], strict=True):
        assert step["control_step"] == right["control_step"]
        assert step["substep"] == right["substep"]


def test_environments_are_called_as_labels_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"steps": [{"native": 0, "env": 5}]}))
    found = as_json(
        capsys, "attribute", path("shared_cartpole_2env"), "--labels", str(labels)
    )
    assert found["steps"][0]["env"] == 5
    assert found["steps"][2]["env"] == 5


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "attribute", path("shared_cartpole_missed_restore"))
    assert out.startswith(
        "2 environments in one scene, 6 episodes, 2 substeps per control step.\n"
    )
    assert "unknown           0 of 126 native steps\n" in out
    assert "  0        2            41    40  122             20  its reset\n" in out
    assert (
        "native step 34: env 0 went on from env 1's state at episode 1, control step 9"
    ) in out


def test_the_table_of_a_scene_that_nobody_resets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = printed(capsys, "attribute", path("variable_steps"))
    assert out.startswith("One environment, one continuous run of 9 native steps")
    assert "origin" not in out


def test_it_is_written_whole_into_a_new_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "whose.json"
    name = path("shared_cartpole_2env")
    assert printed(capsys, "attribute", name, "--out", str(out)) == ""
    assert json.loads(out.read_bytes()) == as_json(capsys, "attribute", name)
    said = refused(capsys, "attribute", name, "--out", str(out))
    assert "it exists already" in said
    assert printed(capsys, "attribute", name, "--out", str(out), "--overwrite") == ""
    assert "this is the source" in refused(
        capsys, "attribute", name, "--out", name, "--overwrite"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--substeps", "0"], "invalid value for '--substeps'"),
        (["--substeps", "x"], "invalid value for '--substeps'"),
        (["--labels", "gone.json"], "reading labels from gone.json: no such file"),
    ],
)
def test_wrong_options_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = path("shared_cartpole_2env")
    assert said in refused(capsys, "attribute", name, *arguments).lower()


@pytest.mark.parametrize("content", ["{", "[1, 2]", '{"env": [0]}', '{"env": "x"}'])
def test_labels_that_do_not_fit_are_one_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(content)
    said = refused(
        capsys, "attribute", path("shared_cartpole_2env"), "--labels", str(labels)
    )
    assert said.startswith(f"reading labels from {labels}")


@pytest.mark.parametrize("command", ["attribute", "align", "audit"])
def test_a_file_that_can_not_be_read_is_one_line(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, command, path("killed"))
    assert said.startswith(f"opening {path('killed')}: its writer died")
    assert "no such file" in refused(capsys, command, "gone.h5")
