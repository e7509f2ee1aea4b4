"""NaN, Inf, huge: refused or marked by the engine, and counted before an export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.app.main import main
from isoscope.core.envs.errors import ActionError, NotResetError
from isoscope.core.envs.lane_options import LaneOptions
from tests.app.cli import as_json

if TYPE_CHECKING:
    from pathlib import Path

N, BAD = 4, 2


def batch(**settings: Any) -> Any:
    options = LaneOptions(on_nonfinite="invalidate", ahead=8)
    make = EnvFactory("CartPole", settings, options=options, integrator="semi_implicit")
    return make.batch(N)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_is_refused_by_default(value: float) -> None:
    one = EnvFactory("CartPole", integrator="semi_implicit")()
    one.reset(seed=1)
    state = one.capture()
    with pytest.raises(ActionError, match="env 0: the action is not finite"):
        one.step(np.array([value], np.float32))
    assert one.capture() == state
    one.close()


def test_one_bad_lane_is_counted_located_and_touches_no_other() -> None:
    many, clean = batch(), batch()
    many.reset(seed=1)
    clean.reset(seed=1)
    bad_rows = []
    for k in range(1, 7):
        action = np.full((N, 1), 0.3, np.float32)
        good = clean.step(action)
        action[BAD] = np.nan if k == 3 else 0.3
        observation, reward, terminated, truncated, info = many.step(action)
        usable = info["usable"]
        bad_rows += [(k, int(i)) for i in np.flatnonzero(info["transition"] & ~usable)]
        if k == 3:
            assert (terminated[BAD], truncated[BAD]) == (False, True)
            last = many.last_step(BAD)
            assert np.isnan(last.raw_action).all()
            assert last.truncated_reasons == ("non-finite action",)
        others = np.arange(N) != BAD
        assert np.array_equal(observation[others], good[0][others])
        assert np.array_equal(reward[others], good[1][others])
        assert np.isfinite(observation).all()
    assert bad_rows == [(3, BAD)]
    many.close()
    clean.close()


def test_a_state_that_blows_up_is_marked_and_must_be_reset() -> None:
    make = EnvFactory(
        "CartPole",
        {"force_scale_n": 1e300},
        integrator="semi_implicit",
        scene="independent",
    )
    one = make()
    one.reset(seed=1)
    push = np.array([3.0], np.float32)
    with np.errstate(over="ignore"):  # such a state has no float32 observation
        for _ in range(4):
            *_, terminated, truncated, info = one.step(push)
            if not info["valid"]:
                break
    assert (terminated, truncated, info["valid"]) == (False, True, False)
    assert info["truncated_reason"] == "invalid state"
    last = one.last_step()
    assert not last.valid
    assert 2 in last.status
    with pytest.raises(NotResetError):
        one.step(push)
    observation, info = one.reset()
    assert info["valid"]
    assert np.isfinite(observation).all()
    one.close()


def test_a_joint_that_never_moves_is_exactly_still() -> None:
    one = EnvFactory(
        "CartPole",
        {"gravity": False, "damping": False, "reset_noise": 0.0},
        integrator="semi_implicit",
    )()
    one.reset(seed=1)
    seen = np.stack([one.step(np.zeros(1, np.float32))[0] for _ in range(5)])
    assert not seen.any()
    one.close()


# -- what is exported ------------------------------------------------------------------


def spoiled(path: Path) -> None:
    """Four episodes: fine; a NaN observed; -inf rewarded; a spike of velocity.

    The second component of the observation never changes.
    """
    rng = np.random.default_rng(2)
    with h5py.File(path, "w") as file:
        for k in range(4):
            demo = file.create_group(f"data/demo_{k}")
            demo.attrs["num_samples"] = 40
            seen = rng.normal(size=(41, 3))
            seen[:, 1] = 0.25
            reward = rng.normal(size=40)
            if k == 1:
                seen[7, 2] = np.nan
            if k == 2:
                reward[11] = -np.inf
            if k == 3:
                seen[5, 0] = 1e5
            demo["obs/q"] = seen[:40]
            demo["next_obs/q"] = seen[1:]
            demo["actions"] = rng.uniform(-1, 1, (40, 2))
            demo["rewards"] = reward
            demo["terminated"] = np.arange(40) == 39
            demo["truncated"] = np.zeros(40, np.bool_)


def test_they_are_counted_and_located_and_block(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "demos.hdf5", tmp_path / "out"
    spoiled(path)
    report = as_json(capsys, "validate", str(path), status=1)
    rules = {rule["id"]: rule for rule in report["rules"]}
    finite = rules["finite"]
    assert (finite["answer"], finite["severity"]) == ("failed", "error")
    places = [
        (w["episode"], w["feature"], w["step"], w.get("component"), w["value"])
        for w in finite["where"]
    ]
    assert ("demo_1", "obs/q", 7, 2, "nan") in places
    assert any(p[:3] == ("demo_2", "rewards", 11) and p[4] == "-inf" for p in places)
    assert finite["count"] == 2
    still = rules["constant-column"]
    assert (still["answer"], still["severity"]) == ("failed", "warning")
    assert [(w["feature"], w["component"]) for w in still["where"]] == [("obs/q", 1)]
    extreme = rules["extreme-values"]
    assert extreme["answer"] == "failed"
    assert {w["episode"] for w in extreme["where"]} == {"demo_3"}
    returns = {e["id"]: e["return"] for e in report["episodes"]}
    assert returns["demo_2"] == "-inf"

    command = ["export", str(path), "--format", "shards", "--out", str(out)]
    assert main(command) == 1
    assert "finite failed" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demos.hdf5"]
    # cut the rows
    found = as_json(capsys, *command, "--episodes", "0,demo_3")
    assert (found["episodes"], found["transitions"]) == (2, 80)
    assert {"why": "transitions of rejected episodes", "count": 80} in found["dropped"]


def test_nan_is_the_same_as_nan_and_not_as_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two datasets with a NaN at the same place are equal; against a number not."""
    one, other = tmp_path / "one.hdf5", tmp_path / "other.hdf5"
    spoiled(one)
    spoiled(other)
    with h5py.File(other, "r+") as file:
        file["data/demo_1/obs/q"][7, 2] = 0.0
        file["data/demo_1/next_obs/q"][6, 2] = 0.0
    places = []
    for path, name in ((one, "a"), (one, "b"), (other, "c")):
        out = tmp_path / name
        places.append(str(out))
        as_json(
            capsys,
            *("export", str(path), "--format", "shards", "--out", str(out)),
            *("--waive", "finite=to be looked at"),
        )
    a, b, c = places
    same = as_json(capsys, "manifest", "diff", a, b)["claims"]
    assert same["bit_for_bit"]["answer"] == "yes"
    apart = as_json(capsys, "manifest", "diff", a, c, status=1)["claims"]
    assert apart["bit_for_bit"]["answer"] == "no"
    flagged = as_json(capsys, "manifest", "show", a)["fields"]
    (seen,) = [f for f in flagged if f["role"] == "observation"]
    assert seen["finite"] == seen["count"] * 3 - 1
