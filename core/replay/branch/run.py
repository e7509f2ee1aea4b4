"""What stepping a branch gave: states step by step, and how it compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from isoscope.core.replay.branch.model import Branch, described

# msgspec looks the annotation up
from isoscope.core.replay.replay_forms import Replay  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.branch.starting import Begun
    from isoscope.core.replay.branch.task_inputs import Outcome

Route = Literal["actions", "native"]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A snapshot taken on the way: after how many native steps, and its bytes."""

    after: int
    control_step: int
    data: bytes


@dataclass(slots=True, eq=False)
class BranchRun:
    """A branch as it was stepped.

    Attributes
    ----------
    engine
        Engine, build and device.
    route
        ``"actions"``: actions went through the task's own mapping. ``"native"``: the
        recorded native inputs were given, with the edits that name them.
    why_native
        Why actions could not go through the task; empty where they did.
    rows
        int64 [n]: the recorded native row that each step corresponds to, -1 past the
        recorded end.
    control_steps, substeps
        int64 [n].
    h_s
        float64 [n].
    start
        The state right before the first step, with the edits, by actor and field
        [*shape].
    states
        By actor and field, [n, *shape], as recordings have them.
    controls
        By actor and field, [n, size]: native inputs as applied; NaN where none was.
    actions
        float32 [m, A], a control step each; None by native inputs. `action_names` are
        their components'.
    first_observation
        float32 [O]: before the first step; None where it isn't known.
    outcomes
        What the task says of each control step; empty where it isn't known.
    snapshots
        Taken on the way, the first right before the first step.
    configuration, edited
        The persistent configuration that was recorded there; and what was set instead.
    configurations
        After how many native steps it was changed, with the keys' values.
    digests
        bytes a native step: of the persistent configuration.
    report
        Against the recording, as a re-simulation says it.
    unedited
        The same run without the edits against the recording: what departs there isn't
        the edits' doing. None where there are no edits.
    begun
        How the beginning was reached.
    ended, stopped
        Why the task ended it, in words; and why it stopped early. Empty otherwise.
    notes
        What should be known besides.
    """

    branch: Branch
    engine: str
    route: Route
    why_native: str
    begun: Begun
    rows: Array
    control_steps: Array
    substeps: Array
    h_s: Array
    start: dict[tuple[str, str], Array]
    states: dict[tuple[str, str], Array]
    controls: dict[tuple[str, str], Array]
    actions: Array | None
    action_names: list[str]
    first_observation: Array | None
    outcomes: list[Outcome]
    snapshots: list[Kept]
    configuration: Mapping[str, Any]
    edited: Mapping[str, Any]
    configurations: list[tuple[int, dict[str, Any]]]
    digests: list[bytes]
    report: Replay
    unedited: Replay | None = None
    ended: str = ""
    stopped: str = ""
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def last_recorded(self) -> int:
        """The last recorded row that it goes along; -1 where there is none."""
        return int(self.rows.max(initial=-1))


class BranchReport(
    msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}
):
    """A branch's run in its written form: ``isoscope.branch/1``.

    Attributes
    ----------
    at, edits
        Where it begins, and what is changed, as one writes and says it.
    native_steps, control_steps, past_end
        Native and control steps taken, and native steps past the recorded end.
    total_reward
        Of the branch, and of the same control steps as recorded; None where unknown.
    exported
        The recording that it was written to; None if it wasn't.
    """

    schema_: Literal["isoscope.branch/1"] = "isoscope.branch/1"
    branch: Branch
    at: str
    edits: list[str]
    engine: str
    route: Route
    why_native: str
    begins: str
    native_steps: int
    control_steps: int
    past_end: int
    ended: str
    stopped: str
    total_reward: float | None
    recorded_reward: float | None
    report: Replay
    unedited: Replay | None
    notes: list[str]
    exported: str | None = None


def branch_report(
    run: BranchRun, recorded_reward: float | None = None, exported: str | None = None
) -> BranchReport:
    """Put a run into its written form."""
    begun = run.begun
    ids = ", ".join(map(str, begun.snapshots))
    begins = f"from snapshot {ids}, {begun.native_steps} native steps on"
    if begun.together:
        begins += ", with all environments of the scene as recorded"
    total = sum(one.reward for one in run.outcomes) if run.outcomes else None
    return BranchReport(
        branch=run.branch,
        at=run.branch.at,
        edits=[described(edit) for edit in run.branch.edits],
        engine=run.engine,
        route=run.route,
        why_native=run.why_native,
        begins=begins,
        native_steps=len(run),
        control_steps=len(set(run.control_steps.tolist())),
        past_end=int((run.rows < 0).sum()),
        ended=run.ended,
        stopped=run.stopped,
        total_reward=total,
        recorded_reward=recorded_reward,
        report=run.report,
        unedited=run.unedited,
        notes=run.notes,
        exported=exported,
    )
