"""Writes a branch that was stepped as a labelled recording of its own.

It holds the branch alone: its one environment under its number, its episode under its
number, from the control step on that it began with. What it is a branch of is in the
identity, under ``extra["branch"]``, so that nobody takes it for the original.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import UsageError, WriteError
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.replay.branch.branches import source_of
from isoscope.core.replay.branch.running import tape_of

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.run import BranchRun
    from isoscope.core.replay.tape import Tape

ENDING = ".isoscope.h5"
SCHEMA = "isoscope.branched/1"
REWARD_TERM = "reward_term"
BACKLOG_BYTES = 8 << 20


def export_branch(
    examined: Examined,
    run: BranchRun,
    path: str | Path,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a branch's run.

    Parameters
    ----------
    examined
        The recording that it is a branch of.
    path
        The new recording, ``*.isoscope.h5``; it appears whole or not at all.

    Raises
    ------
    UsageError, WriteError
        If it can't be written there, or there is nothing to write.
    """
    path = Path(path)
    refuse_bad_name(path, overwrite=overwrite)
    if not len(run):
        raise UsageError(
            f"writing {path}: branch {run.branch.name} has no step"
            + (f": {run.stopped}" if run.stopped else "")
        )
    sources = [examined.recording.path]
    refuse_bad_target(path, overwrite=overwrite, sources=sources)
    part = path.with_name(f".{path.name[:180]}.{secrets.token_hex(4)}.part")
    tape = tape_of(examined, run.branch.env)
    try:
        with Recorder(part, identity_of(examined, run), compact=False) as recorder:
            _Writing(recorder, tape, run).write()
        if recorder.stopped:
            raise WriteError(f"writing {path}: {recorder.stopped}")
        refuse_bad_target(path, overwrite=overwrite, sources=sources)
        os.replace(part, path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise WriteError(f"writing {path}: {why}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return path


def refuse_bad_name(path: Path, *, overwrite: bool) -> None:
    """Say no, before any work is done, where a branch can't be written.

    Raises
    ------
    UsageError, WriteError
    """
    if not path.name.endswith(ENDING):
        raise UsageError(f"writing {path}: name it *{ENDING}")
    refuse_bad_target(path, overwrite=overwrite)


def identity_of(examined: Examined, run: BranchRun) -> r.Identity:
    """Of the recording that is made: the original's, marked as a branch of it."""
    labelled = examined.recording.labelled
    assert labelled is not None  # only such have branches
    branch = run.branch
    told = {
        "schema": SCHEMA,
        "of": branch.file,
        "source": source_of(examined),
        "run": labelled.attributes.get("run", ""),
        "at": branch.at,
        "native": branch.native,
        "name": branch.name,
        "id": branch.id,
        "note": branch.note,
        "past_end": branch.past_end,
        "edits": [msgspec.to_builtins(edit) for edit in branch.edits],
        "route": run.route,
        "stopped": run.stopped,
        "rows": run.rows.tolist(),
    }
    return msgspec.structs.replace(
        labelled.identity,
        environments=None,
        shared_scenes=False,
        processes=1,
        environments_per_process=None,
        extra={**labelled.identity.extra, "branch": told},
    )


class _Writing:
    """Writes one run by a recorder."""

    def __init__(self, recorder: Recorder, tape: Tape, run: BranchRun) -> None:
        self._to, self._tape, self._run = recorder, tape, run
        self._numbers: dict[str, int] = {}

    def write(self) -> None:
        """All of it."""
        self._tell_scene()
        native = self._native_frames()
        transitions = self._transition_frames()
        self._configure()
        run, branch = self._run, self._run.branch
        snapshots = {kept.after: kept for kept in run.snapshots}
        self._snapshot(snapshots.pop(0, None))
        changes = dict(run.configurations)
        state = dict(run.configuration) | dict(run.edited)
        first, number = 0, 0
        for k in range(len(run)):
            for key, value in changes.get(k, {}).items():
                self._to.change(
                    r.ConfigurationChange(
                        *(key, state.get(key), value, k, branch.env),
                        digest=run.digests[k],
                    )
                )
                state[key] = value
            step = int(run.control_steps[k])
            self._native(k, native, state)
            if self._to.backlog_bytes > BACKLOG_BYTES:
                self._to.flush()  # what waits must not be refused
            self._snapshot(snapshots.pop(k + 1, None))
            if k + 1 == len(run) or run.control_steps[k + 1] != step:
                self._transition(number, step, first, k, transitions)
                first, number = k + 1, number + 1

    # -- what there is -----------------------------------------------------------------

    def _tell_scene(self) -> None:
        labelled, scene = self._tape.labelled, self._tape.scene
        info = labelled.scenes.get(scene, r.SceneInfo(id=0))
        mine = [self._run.branch.env]
        told = msgspec.structs.replace(info, id=0, environments=mine, process=-1)
        self._to.scene(told)
        for actor in labelled.actors.values():
            if actor.info.scene != scene:
                continue
            info_of = msgspec.structs.replace(
                actor.info,
                scene=0,
                created_row=0,
                reference=labelled.reference(actor),
            )
            self._numbers.setdefault(actor.info.name, self._to.actor(info_of))

    def _native_frames(self) -> list[tuple[Frame, list[tuple[Array, bool]]]]:
        """Frames, and for each of their fields the values and whether some lack."""
        found: dict[np.dtype[Any], list[tuple[r.Field, Array, bool]]] = {}
        states = {(f.actor, f.name): f.track for f in self._tape.states}
        controls = {(c.actor, c.name): c.track for c in self._tape.controls}
        for tracks, values, gaps in (
            (states, self._run.states, False),
            (controls, self._run.controls, True),
        ):
            for (actor, name), array in values.items():
                told = getattr(tracks[actor, name], "field", r.Field(name=name))
                field = msgspec.structs.replace(
                    told,
                    name=name,
                    shape=tuple(array.shape[1:]),
                    actor=self._numbers[actor],
                )
                found.setdefault(array.dtype, []).append((field, array, gaps))
        return [
            (
                self._to.frame([f for f, _, _ in several], dtype, scene=0),
                [(array, gaps) for _, array, gaps in several],
            )
            for dtype, several in found.items()
        ]

    def _transition_frames(self) -> list[tuple[Frame, list[list[Array | None]]]]:
        """Frames, and for each of their fields its value in each transition."""
        values = self._vectors()
        labelled = self._tape.labelled
        found: dict[np.dtype[Any], list[tuple[r.Field, list[Array | None]]]] = {}
        for (group, name), several in values.items():
            solid = next((v for v in several if v is not None), None)
            if solid is None:
                continue
            key = next(
                (
                    k
                    for k in labelled.fields
                    if (k.over, k.group, k.name) == ("transitions", group, name)
                ),
                None,
            )
            told = None if key is None else getattr(labelled.fields[key], "field", None)
            told = r.Field(name=name, group=group) if told is None else told
            field = msgspec.structs.replace(told, name=name, shape=tuple(solid.shape))
            found.setdefault(solid.dtype, []).append((field, several))
        return [
            (
                self._to.frame([f for f, _ in several], dtype, over="transitions"),
                [values for _, values in several],
            )
            for dtype, several in found.items()
        ]

    def _vectors(self) -> dict[tuple[str, str], list[Array | None]]:
        """By group and name, what each control step has."""
        run = self._run
        steps = len(dict.fromkeys(run.control_steps.tolist()))
        out: dict[tuple[str, str], list[Array | None]] = {}
        if run.actions is not None:
            taken: list[Array | None] = list(run.actions[:steps])
            out["raw_action", "value"] = out["action", "value"] = taken
        if run.outcomes:
            after: list[Array | None] = [one.observation for one in run.outcomes]
            after += [None] * (steps - len(after))
            out["observation_before", "value"] = [run.first_observation, *after[:-1]]
            out["observation_after", "value"] = after
            for name in run.outcomes[0].terms:
                terms: list[Array | None] = [
                    np.array(one.terms[name], np.float64) for one in run.outcomes
                ]
                out[REWARD_TERM, name] = terms + [None] * (steps - len(terms))
        return out

    def _configure(self) -> None:
        run = self._run
        whole = dict(run.configuration) | dict(run.edited)
        for key, value in whole.items():
            self._to.change(
                r.ConfigurationChange(key, None, value, 0, digest=run.digests[0])
            )

    # -- rows --------------------------------------------------------------------------

    def _native(
        self,
        k: int,
        frames: list[tuple[Frame, list[tuple[Array, bool]]]],
        configuration: dict[str, Any],
    ) -> None:
        run, branch = self._run, self._run.branch
        step = r.NativeStep(
            env=branch.env,
            episode=branch.episode,
            control_step=int(run.control_steps[k]),
            substep=int(run.substeps[k]),
            kind=int(StepKind.SUBSTEP),
            h_s=float(run.h_s[k]),
            wall_ns=time.time_ns(),
            process=os.getpid(),
            configuration_digest=run.digests[k],
        )
        gravity = np.array(configuration.get("gravity"), np.float64, ndmin=1)
        if gravity.ndim > 1:
            gravity = gravity[self._tape.world(branch.env)]
        if gravity.shape == (3,):
            step.gravity_x, step.gravity_y, step.gravity_z = gravity.tolist()
        for frame, fields in frames:
            for index, (values, gaps) in enumerate(fields):
                if not (gaps and np.isnan(values[k]).all()):
                    frame.put(index, values[k])
        self._to.native(step, *(frame for frame, _ in frames))

    def _transition(
        self,
        number: int,
        step: int,
        first: int,
        last: int,
        frames: list[tuple[Frame, list[list[Array | None]]]],
    ) -> None:
        run, branch = self._run, self._run.branch
        known = number < len(run.outcomes)
        reasons = run.outcomes[number].reasons if known else ()
        told = r.Transition(
            env=branch.env,
            episode=branch.episode,
            control_step=step,
            reward=run.outcomes[number].reward if known else float("nan"),
            terminated=int(bool(reasons)) if known else -1,
            truncated=0 if known else -1,
            valid=1 if known else -1,
            first_row=first,
            last_row=last,
            wall_ns=time.time_ns(),
            reasons={"terminated_reason": ", ".join(reasons)} if reasons else None,
        )
        for frame, fields in frames:
            for index, values in enumerate(fields):
                value = values[number] if number < len(values) else None
                if value is not None:
                    frame.put(index, value)
        self._to.transition(told, *(frame for frame, _ in frames))

    def _snapshot(self, kept: Any) -> None:
        if kept is None:
            return
        source = next(iter(self._tape.snapshots.values()))[0]
        branch = self._run.branch
        self._to.snapshot(
            r.Snapshot(
                kept.data,
                branch.env,
                0,
                kept.after - 1,
                branch.episode,
                kept.control_step,
                wall_ns=time.time_ns(),
                why="branch" if kept.after == 0 else "every",
                digest=hashlib.blake2b(kept.data, digest_size=r.DIGEST_BYTES).digest(),
                engine=source.engine,
                covers=source.covers,
                header=source.header,
            )
        )
