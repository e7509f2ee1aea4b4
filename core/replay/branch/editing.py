"""Makes the changes of a branch in an engine: its configuration and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from isoscope.core.errors import one_line
from isoscope.core.replay.branch.model import ConfigurationEdit, StateEdit
from isoscope.core.replay.engine import ReplayError
from isoscope.core.replay.scene_engine import FIXED
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.replay.branch.model import Branch
    from isoscope.core.replay.engine import Engine


@runtime_checkable
class StateEditing(Protocol):
    """An engine that can also overwrite a part of an actor's state."""

    def edit_state(
        self,
        actor: str,
        field: str,
        component: int | str | None,
        value: Sequence[float],
        world: int,
    ) -> None:
        """Set it in one world; the rest stays.

        Raises
        ------
        IsoscopeError
            For what is not there; nothing was changed.
        """
        ...


def make_edits(engine: Engine, branch: Branch, world: int) -> dict[str, Any]:
    """Configure the engine and set its state as a branch wants it.

    Returns
    -------
    dict
        The values of the configuration that were set, by name.

    Raises
    ------
    IsoscopeError
        For what the engine doesn't have, or refuses.
    """
    doing = f"branch {branch.name}"
    values: dict[str, Any] = {}
    known = engine.configuration()
    for edit in branch.edits:
        if not isinstance(edit, ConfigurationEdit):
            continue
        if edit.key not in known:
            raise ReplayError(
                f"{doing}: no {edit.key} in the persistent configuration; there are "
                f"{listed(sorted(known))}"
            )
        if edit.key in FIXED:
            raise ReplayError(
                f"{doing}: {edit.key} is what the scene is made of, and can't be edited"
            )
        values[edit.key] = edit.value
    if values:
        try:
            engine.configure(values)
        except (TypeError, ValueError) as error:
            raise ReplayError(
                f"{doing}: configuring {listed(sorted(values))}: {one_line(error)}"
            ) from None
    for edit in branch.edits:
        if not isinstance(edit, StateEdit):
            continue
        if not isinstance(engine, StateEditing):
            raise ReplayError(
                f"{doing}: {engine.name} can't have its state edited; edit actions or "
                "the configuration"
            )
        given = edit.value if isinstance(edit.value, list) else [edit.value]
        engine.edit_state(edit.actor, edit.field, edit.component, given, world)
    return values
