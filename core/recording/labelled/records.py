"""What a labelled recording is told: a plain struct a kind of record.

Whoever records fills these in and hands them to a
:class:`isoscope.core.recording.labelled.recorder.Recorder`. Whatever isn't known keeps
its default, which means *absent*: -1 for a count, a number or an id, NaN for a real,
``b""`` for a digest, None for the rest. Environments, scenes and substeps count from 0,
episodes and control steps from 1, a reset's own step is control step 0. Times in
seconds are float64; wall times are nanoseconds since the epoch. Quaternions x y z w.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np

from isoscope.core.recording.tracks import Array

NAN = float("nan")
DIGEST_BYTES = 16  # of BLAKE2b; shorter ones are padded, all zero is absent


# -- what a run is --


class Space(msgspec.Struct, kw_only=True):
    """A space as the environment declares it.

    Attributes
    ----------
    role
        ``"observation"`` or ``"action"``.
    names, units
        Of the components in the order of the flat vector; empty where unknown.
    low, high
        Limits by component; None where there are none.
    declared
        The space as it prints itself.
    env
        Whose; -1 for all environments'.
    """

    role: str
    dtype: str = ""
    shape: list[int] = []
    names: list[str] = []
    units: list[str] = []
    low: list[float] | None = None
    high: list[float] | None = None
    declared: str = ""
    env: int = -1


class Identity(msgspec.Struct, kw_only=True):
    """What ran: engine, build, packages, spaces, schedule, seeds.

    Attributes
    ----------
    engine, engine_version, build, precision
        Such as ``"superdex"``, ``"1.0.1"``, a build's id, ``"float32"``.
    packages
        Versions by package.
    platform, python
        As they name themselves.
    commit
        The git commit of the user's code; empty where there is none.
    factory, source_hash
        Reference of what makes the environment, ``"module:function"``, and a hash of
        its source.
    control_hz, simulation_hz, substeps
        f_c, f_s and M.
    environments
        How many.
    autoreset_mode
        As constructed: ``"next_step"``, ``"same_step"``, ``"disabled"``.
    processes, environments_per_process, threads
        P, K, and threads of the engine.
    shared_scenes
        Whether environments step one scene in turn.
    seeds
        By environment, as they arrived there; null where none was given.
    solver_statuses
        Names of `NativeStep.solver_status` by number.
    extra
        Anything else, by name.
    """

    engine: str = ""
    engine_version: str = ""
    build: str = ""
    precision: str = ""
    packages: dict[str, str] = {}
    platform: str = ""
    python: str = ""
    commit: str = ""
    factory: str = ""
    source_hash: str = ""
    spaces: list[Space] = []
    control_hz: float | None = None
    simulation_hz: float | None = None
    substeps: int | None = None
    environments: int | None = None
    autoreset_mode: str = ""
    processes: int | None = None
    environments_per_process: int | None = None
    threads: int | None = None
    shared_scenes: bool | None = None
    seeds: list[int | None] = []
    solver_statuses: dict[int, str] = {}
    extra: dict[str, Any] = {}


# -- what is in the scenes --


class SceneInfo(msgspec.Struct, kw_only=True):
    """A physics world: its number, key, and which environments step it."""

    id: int
    key: str = ""
    environments: list[int] = []
    process: int = -1
    engine: str = ""


class ActorInfo(msgspec.Struct, kw_only=True):
    """An actor at its creation; `Recorder.actor` gives it its number.

    Attributes
    ----------
    name, type
        As in a native recording: ``"Rigid"``, ``"Articulated"``, …; a link is named
        ``"Articulation/Link"``.
    handle
        u64 within its run.
    scene
        Whose.
    static
        None where unknown.
    created_row
        The first native row in which it exists.
    reference
        What its creation holds once, such as ``surfRefPositions`` (n, 3).
    """

    name: str
    type: str
    handle: int = 0
    scene: int = 0
    static: bool | None = None
    created_row: int = 0
    reference: dict[str, Any] = {}


class Field(msgspec.Struct, kw_only=True, frozen=True):
    """A field of the rows of a frame.

    Attributes
    ----------
    name
        Such as ``"translation"``.
    shape
        Of one row's value. For a ragged field the shape of one entry.
    unit
        SI; ``""`` for a pure number, None where unknown.
    group
        What it is: ``"state"`` (of an actor), ``"control"`` (a native control input as
        applied), ``"scene"``, or of transitions: ``"raw_action"``, ``"action"``,
        ``"observation_before"``, ``"observation_after"``, ``"reward_term"``,
        ``"task_state"``, ``"info"``; and ``"policy_state"`` and ``"stored"``, what a
        policy carries on and what a consumer stored (`stored.StoredRecorder`).
    actor
        Number of the actor, or -1.
    target
        For control inputs: ``"force"``, ``"controller_target"``, ….
    low, high
        Limits by flat component; empty where there are none.
    names
        Of the flat components; empty where unknown.
    """

    name: str
    shape: tuple[int, ...] = ()
    unit: str | None = None
    group: str = "state"
    actor: int = -1
    target: str = ""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    names: tuple[str, ...] = ()


# -- rows --


class NativeStep(msgspec.Struct, gc=False):
    """One native step: a row.

    Attributes
    ----------
    kind
        A :class:`isoscope.core.recording.model.StepKind`.
    h_s
        Duration; the recorder adds it up to the recording time.
    scene_time_s
        The scene's own clock after the step.
    process, thread
        Ids of the operating system.
    gravity_x, gravity_y, gravity_z
        During the step, m/s².
    solver_status, solver_iterations, solver_residual
        As the solver tells them.
    digest_before, digest_after
        Of the scene's state, `DIGEST_BYTES` long.
    configuration_digest
        Of the persistent configuration that a snapshot does not cover.
    restored_from
        Id of the snapshot that was restored right before, or -1.
    """

    env: int = -1
    episode: int = -1
    control_step: int = -1
    substep: int = -1
    kind: int = -1
    scene: int = 0
    h_s: float = NAN
    scene_time_s: float = NAN
    wall_ns: int = -1
    process: int = -1
    thread: int = -1
    gravity_x: float = NAN
    gravity_y: float = NAN
    gravity_z: float = NAN
    solver_status: int = -1
    solver_iterations: int = -1
    solver_residual: float = NAN
    digest_before: bytes = b""
    digest_after: bytes = b""
    configuration_digest: bytes = b""
    restored_from: int = -1


class Transition(msgspec.Struct):
    """One control step of one environment. Its vectors go into frames.

    Attributes
    ----------
    reward
        As returned; float64.
    terminated, truncated
        1, 0, or -1 where not told.
    valid
        1 for a transition, 0 for a row that only resets, -1 where unknown.
    seed
        Given at the reset that this row is, or -1. One beyond int64 is in `Reset` only.
    first_row, last_row
        Native rows that it took, both included; -1 where none.
    rng_digest, action_rng_digest
        Of the generators' states of the environment and of its action space, after.
    reasons
        Why it ended, by name; None where not told.
    options
        Of the reset; None where it is none.
    """

    env: int = -1
    episode: int = -1
    control_step: int = -1
    reward: float = NAN
    terminated: int = -1
    truncated: int = -1
    valid: int = -1
    seed: int = -1
    first_row: int = -1
    last_row: int = -1
    wall_ns: int = -1
    rng_digest: bytes = b""
    action_rng_digest: bytes = b""
    reasons: Any = None
    options: Any = None


class Reset(msgspec.Struct):
    """A reset of an environment: with which seed and options, where in the rows.

    Attributes
    ----------
    seed
        An int of any size, or None.
    automatic
        1 if autoreset made it, 0 if the user did, -1 unknown.
    rng
        The generators' states after it, by name, as far as they can be told.
    """

    env: int = -1
    episode: int = -1
    row: int = -1
    transition: int = -1
    wall_ns: int = -1
    automatic: int = -1
    seed: Any = None
    options: Any = None
    rng: Any = None


class ProfileEntry(msgspec.Struct):
    """A profiler's entry: its value in `unit`; `parent` contains it ("" is the top)."""

    name: str
    value: float
    unit: str
    parent: str = ""
    env: int = -1
    transition: int = -1
    row: int = -1


class Snapshot(msgspec.Struct):
    """A captured state.

    Attributes
    ----------
    data
        Exactly one snapshot as the engine gives it.
    row
        The native row after which it was taken; -1 before the first.
    id
        -1: the recorder gives the next one.
    engine
        Engine, build and precision that can restore it.
    covers
        What it covers, by name.
    header
        Anything else that is needed to restore it.
    """

    data: bytes
    env: int = -1
    scene: int = 0
    row: int = -1
    episode: int = -1
    control_step: int = -1
    id: int = -1
    wall_ns: int = -1
    why: str = ""
    digest: bytes = b""
    engine: Any = None
    covers: Any = None
    header: Any = None


class ConfigurationChange(msgspec.Struct):
    """A value of the persistent configuration that became another one.

    Attributes
    ----------
    row
        The first native row under the new value.
    env
        Who changed it, or -1.
    digest
        Of the whole configuration, after.
    """

    key: str
    old: Any = None
    new: Any = None
    row: int = -1
    env: int = -1
    scene: int = 0
    wall_ns: int = -1
    thread: int = -1
    digest: bytes = b""


class Failure(msgspec.Struct):
    """Something that failed: a step, a restore, a cleanup, the tap itself."""

    what: str
    message: str = ""
    row: int = -1
    env: int = -1
    scene: int = -1
    wall_ns: int = -1
    thread: int = -1
    detail: Any = None


# Something pushed the scene of which the recording holds no values.
UNRECORDED_INPUT = "unrecorded_input"
SceneEventKind = Literal[
    "restore",
    "capture",
    "release",
    "cleanup",
    "exception",
    "read",
    "render",
    "create",
    "destroy",
    "step_begin",
    "step_end",
    "unrecorded_input",
]


class SceneEvent(msgspec.Struct):
    """What happened to a scene between native steps.

    Attributes
    ----------
    kind
        One of `SceneEventKind`, or any other word.
    row
        The next native row at that time: it happened before it.
    ok
        1, 0 if it failed, -1 unknown.
    snapshot
        Id of the snapshot concerned, or -1.
    """

    kind: str
    row: int = -1
    env: int = -1
    scene: int = 0
    snapshot: int = -1
    ok: int = -1
    wall_ns: int = -1
    process: int = -1
    thread: int = -1
    detail: Any = None


class StreamSample(msgspec.Struct):
    """A sample of a sensor: a camera's frame, say.

    Attributes
    ----------
    data
        An array, raw bytes, or None to record that there was one.
    keep
        Whether to keep the data; otherwise only its digest.
    """

    name: str
    capture_id: int = -1
    capture_time_s: float = NAN
    read_time_s: float = NAN
    env: int = -1
    row: int = -1
    wall_ns: int = -1
    data: Any = None
    keep: bool = True


class ChunkEvent(msgspec.Struct):
    """A stage in the life of an action chunk.

    Attributes
    ----------
    step, epoch, rank, stage, chunk
        Its key, as the collector has it.
    state
        What became of it, in the collector's words.
    first_slot, stop_slot
        Rows of the batch, half open; -1 where all.
    record
        Anything else about it.
    """

    state: str
    step: int = -1
    epoch: int = -1
    rank: int = -1
    stage: int = -1
    chunk: int = -1
    time_s: float = NAN
    first_slot: int = -1
    stop_slot: int = -1
    wall_ns: int = -1
    record: Any = None


# Packets of a run that a window could not take: they made no sense.
SENSELESS_PACKETS = "packets"


class Dropped(msgspec.Struct):
    """How many records of a kind were not recorded since the last such record."""

    what: str
    count: int
    row: int = -1
    wall_ns: int = -1
    why: str = ""


class End(msgspec.Struct):
    """The mark of a clean end."""

    wall_ns: int = -1
    rows: int = -1
    why: str = ""


def plain(value: Any) -> Any:
    """What JSON can't hold, as something that it can; never raises.

    Arrays and NumPy scalars become lists and numbers, bytes hexadecimal, sets lists,
    anything else its ``repr``.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, set | frozenset):
        return list(value)
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 somebody else's repr
        return f"<{type(value).__name__}>"


__all__ = [
    "DIGEST_BYTES",
    "SENSELESS_PACKETS",
    "UNRECORDED_INPUT",
    "ActorInfo",
    "Array",
    "ChunkEvent",
    "ConfigurationChange",
    "Dropped",
    "End",
    "Failure",
    "Field",
    "Identity",
    "NativeStep",
    "ProfileEntry",
    "Reset",
    "SceneEvent",
    "SceneEventKind",
    "SceneInfo",
    "Snapshot",
    "Space",
    "StreamSample",
    "Transition",
    "plain",
]
