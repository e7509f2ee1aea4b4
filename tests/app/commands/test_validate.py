"""``isoscope validate``: status, written form, page and JUnit file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from isoscope.core.dataset.validate.registry import RULES
from tests.app.cli import as_json, path, printed, refused

if TYPE_CHECKING:
    from typing import Any

BARE = path("shared_cartpole_2env")
MISSED = path("shared_cartpole_missed_restore")


def truth(recording: str) -> str:
    return str(Path(recording).with_suffix(".truth.json"))


def demos(to: Path, *, spoilt: bool = False) -> str:
    """Three demonstrations; one of them may hold a NaN, under an awkward name."""
    rng = np.random.default_rng(0)
    with h5py.File(to, "w") as file:
        for k in range(3):
            demo = file.create_group(f"data/demo_{k}")
            demo.attrs["num_samples"] = 20
            seen = rng.normal(size=(20, 2))
            if spoilt and k == 1:
                seen[4, 1] = np.nan
            demo["obs/<i>q"] = seen
            demo["actions"] = rng.uniform(-1, 1, (20, 1))
            demo["rewards"] = np.full(20, 0.5 - k)
            demo["terminated"] = np.arange(20) == 19
            demo["truncated"] = np.zeros(20, np.bool_)
    return str(to)


def test_the_written_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "validate", BARE, "--transitions", truth(BARE))
    assert found["schema"] == "isoscope.validate/1"
    assert found["source"] == BARE
    assert found["blocking"] is False
    assert [rule["id"] for rule in found["rules"]] == list(RULES)
    assert found["transitions"] == 60
    first: dict[str, Any] = found["episodes"][0]
    assert (first["id"], first["length"], first["return"]) == ("env0-ep1", 13, 12.0)
    assert (first["terminated"], first["complete"]) == (True, True)
    assert first["return_s"] == pytest.approx(12 / 25)


def test_findings_of_the_recording_block(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("validate", MISSED, "--transitions", truth(MISSED))
    found = as_json(capsys, *given, status=1)
    rules = {rule["id"]: rule for rule in found["rules"]}
    missed = rules["audit:missed-restore"]
    assert (missed["answer"], missed["severity"]) == ("failed", "error")
    assert missed["where"][0]["episode"] == "env0-ep1"
    # Episodes that it does not touch can be trusted.
    clean = as_json(capsys, *given, "--where", "not errors")
    assert clean["episodes"]
    assert "audit:missed-restore" not in [rule["id"] for rule in clean["rules"]]
    assert "env0-ep1" not in [episode["id"] for episode in clean["episodes"]]
    untainted = as_json(capsys, *given, "--where", "tainted == 0")
    assert untainted["episodes"] == clean["episodes"]


def test_a_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = demos(tmp_path / "demos.hdf5")
    found = as_json(capsys, "validate", source, "--where", "return > -15")
    assert [e["id"] for e in found["episodes"]] == ["demo_0", "demo_1"]
    found = as_json(capsys, "validate", source, "--where", "return < q50")
    assert [e["id"] for e in found["episodes"]] == ["demo_2"]


def test_a_waiver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = demos(tmp_path / "demos.hdf5", spoilt=True)
    assert as_json(capsys, "validate", source, status=1)["blocking"]
    found = as_json(capsys, "validate", source, "--waive", "finite=a = b, so what")
    (rule,) = [r for r in found["rules"] if r["id"] == "finite"]
    assert (rule["answer"], rule["why"]) == ("waived", "a = b, so what")
    assert rule["waived_by"]
    out = printed(capsys, "validate", source, "--waive", "finite=known")
    assert "can be exported" in out
    assert "known" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "missing argument 'SRC'"),
        (["no/such.h5"], "no such file or folder"),
        ([BARE], "no actions"),
        ([BARE, "--transitions", "no/such.json"], "no/such.json"),
        ([BARE, "--transitions", truth(BARE), "--where", "length >"], "the query"),
        ([BARE, "--transitions", truth(BARE), "--where", "nothing > 1"], "nothing"),
        ([BARE, "--transitions", truth(BARE), "--where", "length > 999"], "none of 5"),
        ([BARE, "--transitions", truth(BARE), "--episodes", "14"], "from 0 to 4"),
        ([BARE, "--transitions", truth(BARE), "--waive", "finite"], "say which rule"),
        ([BARE, "--transitions", truth(BARE), "--waive", "x=y"], "no rule 'x'"),
        ([BARE, "--transitions", truth(BARE), "--workspace", "no.jsonl"], "no.jsonl"),
        ([BARE, "--html", BARE, "--overwrite"], "this is the source"),
        ([BARE, "--html", "x.out", "--junit", "x.out"], "both name x.out"),
    ],
)
def test_wrong_arguments_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "validate", *arguments)


def test_a_dataset_has_its_actions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = demos(tmp_path / "demos.hdf5")
    said = refused(capsys, "validate", source, "--transitions", truth(BARE))
    assert "leave out --transitions" in said


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = demos(tmp_path / "demos.hdf5", spoilt=True)
    out = tmp_path / "page.html"
    command = ["validate", source, "--waive", "schema=<b>none</b>"]
    assert printed(capsys, *command[:2], "--html", str(out), status=1) == ""
    page = out.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "demos.hdf5 can&#x27;t be exported" in page
    assert "<i>q" not in page
    assert "obs/&lt;i&gt;q[1]" in page
    for rule in RULES:
        assert f"<td>{rule}</td>" in page
    assert page.count("<rect ") == 2 * 3  # lengths and returns of three episodes
    assert "demo_1: return -10, terminated" in page
    assert not re.search(r"(src|href)=|<script|@import|url\(", page)
    rest = re.sub(r"<(meta|link)[^>]*>|<!DOCTYPE html>", "", page)
    ElementTree.fromstring(rest.replace("&nbsp;", " "))  # every tag is closed
    assert "it exists already" in refused(
        capsys, "validate", source, "--html", str(out)
    )


def test_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = demos(tmp_path / "demos.hdf5", spoilt=True)
    out = tmp_path / "junit.xml"
    printed(capsys, "validate", source, "--junit", str(out), status=1)
    root = ElementTree.parse(out).getroot()
    (suite,) = root.findall("testsuite")
    assert (suite.get("name"), suite.get("tests")) == (source, str(len(RULES)))
    assert (root.get("failures"), root.get("errors")) == ("1", "0")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failure = cases["finite"].find("failure")
    assert failure is not None
    assert "demo_1, row 4, obs/<i>q[1]: nan" in (failure.text or "")
    assert cases["timestamps"].find("skipped") is not None
    printed(
        capsys,
        *("validate", source, "--junit", str(out), "--overwrite"),
        *("--waive", "finite=known"),
    )
    assert ElementTree.parse(out).getroot().get("failures") == "0"
