from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from isoscope.app.main import main
from isoscope.core.isolation.registry import CHECKS
from tests.app.cli import as_json, path, printed, refused

MISSED = path("shared_cartpole_missed_restore")
CLEAN = path("shared_cartpole_2env")
CALLBACK = path("post_callback")  # one warning
ZERO = path("variable_steps")  # one note
TWIN = path("independent_cartpole_env0")
INERTIA = path("shared_cartpole_leak_inertia")


# -- exit status -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "fail_on", "status"),
    [
        (CLEAN, "note", 0),
        (MISSED, "error", 1),
        (MISSED, "never", 0),
        (CALLBACK, "error", 0),
        (CALLBACK, "warning", 1),
        (ZERO, "warning", 0),
        (ZERO, "note", 1),
    ],
)
def test_the_status_is_1_from_a_severity_on(
    file: str, fail_on: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, "audit", file, "--fail-on", fail_on, status=status)


def test_errors_fail_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "audit", CALLBACK, status=0)
    printed(capsys, "audit", CLEAN, MISSED, status=1)


# -- JSON ------------------------------------------------------------------------------


def test_the_written_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "audit", MISSED, status=1)
    assert found["schema"] == "isoscope.audit/1"
    assert found["files"] == [MISSED]
    (finding,) = found["findings"]
    assert finding["id"] == "missed-restore"
    assert finding["severity"] == "error"
    assert (finding["env"], finding["other_env"]) == (0, 1)
    assert (finding["episode"], finding["control_step"]) == (1, 9)
    assert finding["native"] == [34, 39]
    assert finding["file"] == MISSED
    assert "hidden-leak" in [one["id"] for one in found["not_run"]]
    assert [one["id"] for one in found["checks"]] == list(CHECKS)
    assert "unread" not in found


def test_several_files_are_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "audit", CLEAN, MISSED, ZERO, status=1)
    assert found["files"] == [CLEAN, MISSED, ZERO]
    assert [f["file"] for f in found["findings"]] == [MISSED, ZERO]


def test_a_twin(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "audit", INERTIA, "--reference", TWIN, status=1)
    (finding,) = found["findings"]
    assert (finding["id"], finding["env"]) == ("hidden-leak", 0)
    assert (finding["episode"], finding["control_step"]) == (2, 4)
    assert "hidden-leak" not in [one["id"] for one in found["not_run"]]
    assert as_json(capsys, "audit", INERTIA)["findings"] == []


def test_m_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "audit", TWIN, "--substeps", "2")
    assert found["findings"] == []


# -- a file that can't be read ---------------------------------------------------------


def test_the_others_are_audited_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit", path("killed"), MISSED, "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "its writer died" in captured.err
    assert '"missed-restore"' in captured.out
    assert f'"unread":[{{"file":"{path("killed")}"' in captured.out


def test_a_reference_that_can_not_be_read_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refused(capsys, "audit", CLEAN, "--reference", path("killed"))
    assert "its writer died" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "missing argument 'FILE"),
        ([CLEAN, CLEAN], "is named twice"),
        ([CLEAN, "--reference", CLEAN], "can't be its own reference"),
        ([CLEAN, "--fail-on", "sometimes"], "invalid value for '--fail-on'"),
        ([CLEAN, "--html", CLEAN, "--overwrite"], "this is the source"),
        ([CLEAN, "--html", "no/such/folder.html"], "there is no folder"),
        ([CLEAN, "--html", "x.out", "--junit", "x.out"], "both name x.out"),
    ],
)
def test_wrong_arguments_are_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "audit", *arguments)


def test_links_that_go_in_circles_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop, other = tmp_path / "loop.h5", tmp_path / "other.h5"
    loop.symlink_to(other)
    other.symlink_to(loop)
    assert "levels of symbolic links" in refused(capsys, "audit", str(loop))
    said = refused(capsys, "audit", CLEAN, "--reference", str(loop))
    assert "levels of symbolic links" in said
    both = ("--html", str(loop), "--junit", str(loop))
    assert "both name" in refused(capsys, "audit", CLEAN, *both)


# -- tables ----------------------------------------------------------------------------


def test_the_table_says_what_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "audit", MISSED, status=1)
    lines = out.splitlines()
    assert lines[0] == (
        "2 environments in one scene, 6 episodes, 2 substeps per control step. "
        "1 error: env 0 went on from env 1's state at episode 1, control step 9."
    )
    assert any(re.match(r"error +missed-restore +0 +1 +9 +34 to 39 ", x) for x in lines)
    assert any(x.startswith("missed-restore  Restore the environment's") for x in lines)
    assert any(x.startswith("hidden-leak ") for x in lines)


def test_several_files_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "audit", CLEAN, ZERO)
    assert f"{CLEAN}: 2 environments" in out
    assert f"{ZERO}: One environment" in out


# -- HTML ------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    out = tmp_path / "report.html"
    gravity = path("shared_cartpole_leak_gravity")
    arguments = [MISSED, gravity, INERTIA, path("killed"), path("no_state")]
    options = ["--reference", TWIN, "--html", str(out)]
    printed(capsys, "audit", *arguments, *options, status=2)
    return out.read_text("utf-8")


def test_a_page_holds_everything_itself(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_a_page_says_what_where_and_what_to_do(page: str) -> None:
    assert "Env 0 went on from env 1&#x27;s state at episode 1, control step 9" in page
    assert "Gravity changed before env 1&#x27;s turn" in page
    assert "Env 0 departs from its twin at episode 2, control step 4" in page
    assert page.count("What to do:") == 3
    assert page.count('<svg class="plot"') == 3
    assert "what it should have begun from" in page
    assert "killed.h5 could not be read." in page
    assert "What could not be checked, and what to record" in page


def test_any_finding_with_a_place_has_a_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    printed(capsys, "audit", path("restore_twice"), "--html", str(out))
    page = out.read_text("utf-8")
    assert page.count('class="finding note"') == 2
    assert page.count('<svg class="plot"') == 2
    assert ">here<" in page


def test_many_checks_that_lack_the_same_are_folded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    printed(capsys, "audit", CLEAN, "--html", str(out))
    page = out.read_text("utf-8")
    (folded,) = re.findall(r"<summary>(\d+) checks: a bare recording", page)
    assert int(folded) >= 10
    assert "what the consumer stored" in page  # each says what it needs all the same


def test_a_page_says_how_to_reproduce_it(page: str) -> None:
    assert f"isoscope audit {MISSED} --reference {TWIN}" in page
    assert hashlib.sha256(Path(MISSED).read_bytes()).hexdigest() in page
    assert hashlib.sha256(Path(TWIN).read_bytes()).hexdigest() in page
    assert "numpy " in page


def test_a_page_of_a_clean_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    assert printed(capsys, "audit", CLEAN, "--html", str(out)) == ""
    page = out.read_text("utf-8")
    assert "Nothing was found." in page
    assert "Isoscope audit of shared_cartpole_2env.h5" in page


def test_names_are_text_and_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "<b>&\"'.h5"
    file.write_bytes(Path(MISSED).read_bytes())
    html, junit = tmp_path / "r.html", tmp_path / "r.xml"
    options = ["--html", str(html), "--junit", str(junit)]
    printed(capsys, "audit", str(file), *options, status=1)
    assert "<b>&" not in html.read_text("utf-8")
    suite = ElementTree.parse(junit).getroot()[0]
    assert suite.get("name") == str(file)


def test_an_existing_file_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--html", "--junit"):
        out = tmp_path / "mine"
        out.write_text("mine")
        assert "it exists already" in refused(capsys, "audit", CLEAN, option, str(out))
        assert out.read_text() == "mine"
        printed(capsys, "audit", CLEAN, option, str(out), "--overwrite")
        assert out.read_text() != "mine"


# -- JUnit -----------------------------------------------------------------------------


def suites(tmp_path: Path, capsys, *arguments: str, status: int) -> list:
    out = tmp_path / "report.xml"
    printed(capsys, "audit", *arguments, "--junit", str(out), status=status)
    root = ElementTree.parse(out).getroot()
    assert root.tag == "testsuites"
    for name in ("tests", "failures", "errors", "skipped"):
        total = sum(int(suite.get(name)) for suite in root)
        assert root.get(name) == str(total)
    return list(root)


def test_a_test_case_a_check_and_file(tmp_path: Path, capsys) -> None:
    both = suites(tmp_path, capsys, MISSED, CLEAN, status=1)
    assert [suite.get("name") for suite in both] == [MISSED, CLEAN]
    assert [suite.get("tests") for suite in both] == [str(len(CHECKS))] * 2
    assert [suite.get("failures") for suite in both] == ["1", "0"]
    assert [suite.get("skipped") for suite in both] == [str(len(CHECKS) - 12)] * 2
    (failed,) = both[0].findall("testcase[failure]")
    assert failed.get("name") == "missed-restore"
    failure = failed.find("failure")
    assert failure.get("type") == "error"
    assert failure.get("message").startswith("env 0 went on from env 1's state")
    assert "What to do: Restore" in failure.text
    skipped = both[0].findall("testcase[skipped]")
    assert "hidden-leak" in [one.get("name") for one in skipped]


def test_what_is_below_the_severity_is_told_and_passes(tmp_path: Path, capsys) -> None:
    (suite,) = suites(tmp_path, capsys, CALLBACK, status=0)
    assert suite.get("failures") == "0"
    (case,) = suite.findall("testcase[system-out]")
    assert case.get("name") == "callback-moved-state"
    assert "something moved BallA" in case.findtext("system-out")


def test_what_is_at_the_severity_fails(tmp_path: Path, capsys) -> None:
    arguments = (CALLBACK, "--fail-on", "warning")
    (suite,) = suites(tmp_path, capsys, *arguments, status=1)
    assert suite.get("failures") == "1"


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path, capsys) -> None:
    both = suites(tmp_path, capsys, CLEAN, path("killed"), status=2)
    assert both[1].get("errors") == "1"
    assert "its writer died" in both[1].find("testcase/error").get("message")


def test_the_audit_finds_actions_from_a_space_that_nobody_seeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "run.isoscope.h5")
    given = ["--envs", "2", "--steps", "5", "--device", "cpu"]
    order = ["--fault", "unseeded-action-space@1:1/3", "--record", path]
    assert main(["demo", "--headless", *given, *order, "--json"]) == 0
    capsys.readouterr()
    assert main(["audit", path, "--json", "--fail-on", "warning"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["id"] == "unseeded-action-space"
    assert (found["env"], found["episode"], found["control_step"]) == (1, 1, 3)
