"""What-if branches of the real engine's recordings, stepped by the real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.again import replay
from isoscope.core.replay.branch.branches import source_of
from isoscope.core.replay.branch.exporting import export_branch
from isoscope.core.replay.branch.model import (
    new_branch,
    parse_action,
    parse_configuration,
    parse_state,
)
from isoscope.core.replay.branch.running import place_of, run_branch
from tests.referees.test_superdex_replay import (  # noqa: F401 fixtures
    engine,
    examine,
    maker,
    recorded,
)

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.replay.branch.run import BranchRun

pytestmark = pytest.mark.referee

AT = 5


def branched(examined: Any, *edits: Any, env: int = 1, **others: Any) -> BranchRun:
    labels = examined.attribution.labels
    at = (labels.env == env) & (labels.episode == 1) & (labels.control_step == AT)
    row = int(np.flatnonzero(at)[0])
    episode, step, native = place_of(examined, env, row)
    branch = new_branch(
        name="what if",
        source=source_of(examined),
        file="run",
        env=env,
        episode=episode,
        control_step=step,
        native=native,
        edits=edits,
        **others,
    )
    return run_branch(examined, maker(examined), branch)


def test_branches(recorded: Any, tmp_path: Path) -> None:  # noqa: F811 the fixture
    examined = examine(recorded("missed"))
    same = branched(examined, steps=3)
    assert same.report.claims.bit_for_bit.answer == "yes"
    assert same.route == "native"
    pushed = branched(examined, parse_action("6:CartPole.force[0]=30"), steps=20)
    first = pushed.report.first_divergence
    assert first is not None
    assert (first.env, first.control_step, first.substep) == (1, 6, 0)
    assert pushed.unedited is not None
    assert pushed.unedited.first_divergence is None
    out = export_branch(examined, pushed, tmp_path / "pushed.isoscope.h5")
    again = examine(out)
    found = replay(again, maker(again))
    assert found.claims.bit_for_bit.answer == "yes"
    assert found.compared_steps == len(pushed) == 40
    lighter = branched(examined, parse_configuration("gravity=0,-3,0"), steps=3)
    assert [one.key for one in lighter.report.configuration_differences] == ["gravity"]


def test_an_edited_state(recorded: Any, tmp_path: Path) -> None:  # noqa: F811 the fixture
    examined = examine(recorded("missed"))
    turned = branched(examined, parse_state("CartPole.positions[Hinge]=0.5"), steps=9)
    assert turned.start["CartPole", "pose"][1] == np.float32(0.5)
    first = turned.report.first_divergence
    assert first is not None
    assert (first.env, first.control_step, first.substep) == (1, AT, 0)
    assert turned.unedited is not None
    assert turned.unedited.first_divergence is None
    out = export_branch(examined, turned, tmp_path / "turned.isoscope.h5")
    again = examine(out)
    found = replay(again, maker(again))
    assert found.claims.bit_for_bit.answer == "yes"
    assert found.compared_steps == len(turned) == 18
    kicked = branched(examined, parse_state("CartPole.velocities=1,-2"), steps=3)
    assert kicked.start["CartPole", "jointVelocity"].tolist() == [1, -2]
    with pytest.raises(IsoscopeError, match=r"it is a link.*edit CartPole\.pose or"):
        branched(examined, parse_state("CartPole/Pole.omega=0,0,1"), steps=3)
    with pytest.raises(IsoscopeError, match="can be edited are CartPole"):
        branched(examined, parse_state("Wheel.omega=0,0,1"), steps=3)


def test_an_edited_body(recorded: Any) -> None:  # noqa: F811 the fixture
    examined = examine(recorded("falling"))
    edits = ("Crate.translation=0,2,0", "Crate.rotation=0,0,0,2", "Crate.omega[1]=3")
    thrown = branched(examined, *map(parse_state, edits), env=0, steps=5)
    assert thrown.start["Crate", "translation"].tolist() == [0, 2, 0]
    assert thrown.start["Crate", "rotation"].tolist() == [0, 0, 0, 1]
    assert thrown.start["Crate", "omega"][1] == 3
    before = thrown.unedited
    assert before is not None
    assert before.claims.bit_for_bit.answer == "yes"
    with pytest.raises(IsoscopeError, match="a quaternion of length zero"):
        branched(examined, parse_state("Crate.rotation=0,0,0,0"), env=0, steps=5)
