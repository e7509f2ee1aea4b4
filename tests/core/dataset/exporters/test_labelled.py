"""A part of a labelled recording is one: what stays is the same, numbered anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.memory import MemoryEpisodes
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load
from tests.core.dataset.made import made

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.core.dataset.model import Episode, Episodes

STEPS, SUBSTEPS = 600, 2  # enough for more than one block of rows


def record(path: Path) -> None:
    """Two environments in one scene, in turn; an episode is 50 control steps."""
    identity = r.Identity(engine="none", control_hz=50.0, environments=2)
    with Recorder(path, identity) as to:
        to.scene(r.SceneInfo(id=0, environments=[0, 1]))
        cart = to.actor(r.ActorInfo(name="Cart", type="Rigid", reference={"m": [1.0]}))
        state = to.frame([r.Field(name="x", shape=(3,), actor=cart)], "float32")
        ragged = to.ragged(r.Field(name="forces", shape=(2,), actor=cart), "float64")
        action = to.frame(
            [r.Field(name="force", group="action", shape=(1,))],
            "float32",
            "transitions",
        )
        seen = [
            to.frame(
                [r.Field(name="obs", group=g, shape=(2,))], "float64", "transitions"
            )
            for g in ("observation_before", "observation_after")
        ]
        to.snapshot(r.Snapshot(b"start" * 50, row=-1, id=7))
        for control in range(STEPS):
            for env in (0, 1):
                episode, step = control // 50 + 1, control % 50 + 1
                at = {"env": env, "episode": episode, "control_step": step}
                rows = []
                for substep in range(SUBSTEPS):
                    state.put(0, [control, env, substep])
                    row = to.native(
                        r.NativeStep(**at, substep=substep, h_s=0.01, kind=0), state
                    )
                    ragged.put(row, np.full((control % 3, 2), row, float))
                    to.event(r.SceneEvent("step_end", row=row, env=env))
                    rows.append(row)
                if control == 120:
                    to.failure(r.Failure("diverged", row=rows[0], env=env))
                    to.change(r.ConfigurationChange("mass", 1.0, 2.0, row=rows[0]))
                    to.snapshot(r.Snapshot(b"here", env=env, row=rows[0]))
                action.put(0, [control + env / 2])
                seen[0].put(0, [control, env])
                seen[1].put(0, [control + 1, env])
                number = to.transition(
                    r.Transition(
                        **at,
                        reward=float(control),
                        terminated=int(step == 50),
                        truncated=0,
                        valid=1,
                        first_row=rows[0],
                        last_row=rows[-1],
                        reasons={"pole": step == 50},
                    ),
                    action,
                    *seen,
                )
                if step == 1:
                    to.reset(
                        r.Reset(
                            env=env,
                            episode=episode,
                            row=rows[0],
                            transition=number,
                            seed=control,
                        )
                    )


def part(source: Episodes, chosen: Sequence[Episode]) -> Any:
    """The source with these episodes only; nothing of it is read."""
    return MemoryEpisodes(
        source.name,
        source.features,
        chosen,
        [{} for _ in chosen],
        source.control_hz,
        format=source.format,
        path=source.path,
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Episodes:
    path = tmp_path_factory.mktemp("labelled") / "whole.isoscope.h5"
    record(path)
    return episodes_of(load(path))


def test_one_episode_of_two_environments(source: Episodes, tmp_path: Path) -> None:
    one = next(e for e in source.episodes if e.env == 1 and e.number == 3)
    result = export(part(source, [one]), "isoscope", tmp_path / "a.isoscope.h5")
    assert result.read_back.values > 100
    assert source.path is not None
    whole, found = load(source.path), load(result.path)
    held = found.labelled
    assert held is not None
    assert [f.row for f in held.failures()] == [40]
    assert [(x.env, x.seed, x.transition) for x in held.resets()] == [(1, 100, 0)]
    assert {x.reasons["pole"] for x in held.transitions()} == {True, False}
    assert [t.first_row for t in held.transitions()] == list(range(0, 100, 2))
    assert [c.row for c in held.changes()] == [40, 40]
    assert [s.row for s in held.snapshots()] == [40]
    assert [e.row for e in held.events()] == list(range(100))
    assert found.complete
    assert not [p for p in found.problems if p.severity == "error"]
    assert one.native is not None
    first, last = one.native
    assert whole.labels is not None
    assert found.labels is not None
    rows = np.arange(first, last + 1)
    rows = rows[whole.labels.env[rows] == 1]
    assert len(found) == len(rows)
    assert set(found.labels.env.tolist()) == {1}
    assert found.labels.control_step.tolist() == (
        whole.labels.control_step[rows].tolist()
    )
    compared = 0
    for actor in whole.actors:
        twin = next((a for a in found.actors if a.name == actor.name), None)
        assert twin is not None
        for name, track in actor.fields.tracks.items():
            for new, old in enumerate(rows.tolist()):
                a, b = track.at(old), twin.fields[name].at(new)
                assert (a is None) == (b is None)
                if a is not None and b is not None:
                    assert a.tobytes() == b.tobytes()
                    compared += 1
    assert compared
    again = episodes_of(found)
    assert len(again.episodes) == 1
    for feature in source.features:
        a = source.read(one.index, feature.name)
        assert a.tobytes() == again.read(0, feature.name).tobytes()


def test_all_of_it_and_none_of_it(source: Episodes, tmp_path: Path) -> None:
    result = export(source, "isoscope", tmp_path / "a.isoscope.h5")
    again = episodes_of(load(result.path))
    assert [e.length for e in again.episodes] == [e.length for e in source.episodes]
    with pytest.raises(UsageError, match="source is there"):
        export(source, "isoscope", source.path or "", overwrite=True)
    with pytest.raises(UsageError, match="no labelled recording"):
        export(made(), "isoscope", tmp_path / "b.isoscope.h5")
    lost = replace(source.episodes[0], rows=None, native=None)
    with pytest.raises(UsageError, match="which rows"):
        export(part(source, [lost]), "isoscope", tmp_path / "b.isoscope.h5")


def test_a_difference_is_found(
    source: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.core.dataset.exporters import labelled

    right = labelled._renumber
    calls = iter(range(1 << 20))

    def wrong(table: Any, rows: Any, chosen: Any) -> None:
        right(table, rows, chosen)
        if table.schema.name == "native" and not next(calls):
            rows["h_s"] += 1e-9

    monkeypatch.setattr(labelled, "_renumber", wrong)
    with pytest.raises(WriteError, match="h_s of native"):
        export(source, "isoscope", tmp_path / "a.isoscope.h5")
    assert not list(tmp_path.iterdir())
