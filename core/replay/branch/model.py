"""What a what-if branch is: a place in a recording, edits, and how far it goes."""

from __future__ import annotations

import math
import re
import secrets
import time
from typing import Any, Literal, TypeAlias

import msgspec

from isoscope.core.errors import UsageError, printable

LONGEST_NAME = 120
MOST_EDITS = 1000
MOST_STEPS = 1_000_000  # control steps; beyond it a number is a slip of the finger
# ACTOR.FIELD, ACTOR.FIELD[COMPONENT]; names of actors may hold dots and slashes.
_FIELD = re.compile(r"(?P<actor>.+)\.(?P<field>\w+)(?:\[(?P<component>[^\[\]]+)\])?")


class ActionEdit(msgspec.Struct, frozen=True, kw_only=True, tag="action"):
    """Another action in some control steps.

    Attributes
    ----------
    from_step, to_step
        Control steps of the episode, as positions count them, both included; `to_step`
        None is on to the end.
    name
        A component of the action space (``"control"``); or of a native control input,
        ``"ACTOR.FIELD[COMPONENT]"``.
    do
        ``"set"`` it to `amount`, ``"scale"`` it by it, or ``"add"`` it.
    amount
        In the component's own unit, but for a scale.
    """

    from_step: int
    name: str
    amount: float
    to_step: int | None = None
    do: Literal["set", "scale", "add"] = "set"

    def at(self, control_step: int) -> bool:
        """Whether it holds in this control step."""
        last = self.to_step
        return self.from_step <= control_step and (last is None or control_step <= last)

    def changed(self, value: Any) -> Any:
        """What becomes of a value, a number or an array."""
        if self.do == "scale":
            return value * self.amount
        if self.do == "add":
            return value + self.amount
        return value * 0 + self.amount


class ConfigurationEdit(msgspec.Struct, frozen=True, kw_only=True, tag="configuration"):
    """Another value of the persistent configuration, from the beginning on.

    Attributes
    ----------
    key
        A name of the persistent configuration, such as ``"gravity"``.
    value
        A number or a list of them, as the configuration is shaped.
    """

    key: str
    value: Any


class StateEdit(msgspec.Struct, frozen=True, kw_only=True, tag="state"):
    """Another state of an actor at the beginning.

    Attributes
    ----------
    actor
        Its name.
    field
        ``"positions"`` or ``"velocities"`` (of its degrees of freedom), or a part of
        them; see `overwriting.RIGID` and `overwriting.ARTICULATED`.
    component
        A number from 0, or the name of a degree of freedom; None for all of the field.
    value
        A number, or as many as the field has; SI.
    """

    actor: str
    field: str
    value: float | list[float]
    component: int | str | None = None

    @property
    def full_name(self) -> str:
        """``actor.field[component]``."""
        part = "" if self.component is None else f"[{self.component}]"
        return f"{self.actor}.{self.field}{part}"


Edit: TypeAlias = ActionEdit | ConfigurationEdit | StateEdit


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A what-if: where it leaves the recording, with which edits, and how far it goes.

    Attributes
    ----------
    id
        Unlike any other's.
    name
        The user's; unlike any other's of the recording.
    source
        What the recording is known by: `branches.source_of`.
    file
        The recording's name, for people.
    env, episode, control_step
        The control step before which it begins, of one environment.
    native
        The native row that is the first of that control step.
    edits
        What is changed, in order. None at all is the run once more, without others.
    steps
        Control steps to go. None: to the end of the episode in the recording.
    past_end
        Beyond the recorded actions: ``"hold"`` the last one, or ``"zero"``.
    created_ns
        Nanoseconds since the epoch.
    note
        The user's words.
    """

    id: str
    name: str
    source: str
    file: str
    env: int
    episode: int
    control_step: int
    native: int
    edits: tuple[Edit, ...] = ()
    steps: int | None = None
    past_end: Literal["hold", "zero"] = "hold"
    created_ns: int = 0
    note: str = ""

    @property
    def at(self) -> str:
        """The position at which it begins, as one writes it."""
        return f"control:{self.env}/{self.episode}/{self.control_step}"


def new_branch(
    *,
    name: str,
    source: str,
    file: str,
    env: int,
    episode: int,
    control_step: int,
    native: int,
    edits: tuple[Edit, ...] = (),
    steps: int | None = None,
    past_end: Literal["hold", "zero"] = "hold",
    note: str = "",
) -> Branch:
    """Make a branch that was not there before; see `Branch`.

    Raises
    ------
    UsageError
        For a name, a number of steps or an edit that makes no sense.
    """
    made = Branch(
        id=secrets.token_hex(8),
        name=name.strip(),
        source=source,
        file=file,
        env=env,
        episode=episode,
        control_step=control_step,
        native=native,
        edits=edits,
        steps=steps,
        past_end=past_end,
        created_ns=time.time_ns(),
        note=note,
    )
    check_branch(made)
    return made


def check_branch(branch: Branch) -> None:
    """Refuse what makes no sense whatever the recording holds.

    Raises
    ------
    UsageError
    """
    check_name(branch.name)
    doing = f"branch {branch.name}"
    if branch.env < 0 or branch.control_step < 1 or branch.native < 0:
        raise UsageError(f"{doing}: it has to begin with a control step, from 1 on")
    if branch.steps is not None and not 1 <= branch.steps <= MOST_STEPS:
        raise UsageError(
            f"{doing}: {branch.steps} control steps; give 1 to {MOST_STEPS:,}"
        )
    if len(branch.edits) > MOST_EDITS:
        raise UsageError(f"{doing}: more than {MOST_EDITS} edits")
    for edit in branch.edits:
        _check_edit(edit, branch)


def check_name(name: str) -> None:
    """Refuse a name that nobody could read or type.

    Raises
    ------
    UsageError
    """
    if not name.strip() or name != name.strip():
        raise UsageError("naming a branch: give a name, without blanks around it")
    if len(name) > LONGEST_NAME or name != printable(name):
        raise UsageError(
            f"naming a branch: give one printable line of at most {LONGEST_NAME} "
            "characters"
        )


def _check_edit(edit: Edit, branch: Branch) -> None:
    doing = f"branch {branch.name}"
    if isinstance(edit, ActionEdit):
        if not math.isfinite(edit.amount):
            raise UsageError(f"{doing}: {edit.name} to {edit.amount}; give a number")
        if edit.from_step < branch.control_step:
            raise UsageError(
                f"{doing}: an action in control step {edit.from_step}, and it begins "
                f"with {branch.control_step}"
            )
        if edit.to_step is not None and edit.to_step < edit.from_step:
            raise UsageError(
                f"{doing}: actions from control step {edit.from_step} to "
                f"{edit.to_step}; the first comes first"
            )
    elif isinstance(edit, StateEdit):
        values = edit.value if isinstance(edit.value, list) else [edit.value]
        if not values or not all(math.isfinite(one) for one in values):
            raise UsageError(f"{doing}: {edit.full_name}: give finite numbers")
    elif not edit.key:
        raise UsageError(f"{doing}: an edit of the configuration without a name")


def described(edit: Edit) -> str:
    """An edit in words: ``"control steps 30 to 34: control scaled by 2"``."""
    if isinstance(edit, ConfigurationEdit):
        return f"{edit.key} = {edit.value}"
    if isinstance(edit, StateEdit):
        return f"{edit.full_name} = {edit.value}"
    last = edit.to_step
    if last == edit.from_step:
        where = f"control step {last}"
    elif last is None:
        where = f"from control step {edit.from_step} on"
    else:
        where = f"control steps {edit.from_step} to {last}"
    what = {"set": f"= {edit.amount:g}", "scale": f"scaled by {edit.amount:g}"}
    return f"{where}: {edit.name} {what.get(edit.do, f'{edit.amount:+g}')}"


def parse_action(text: str) -> ActionEdit:
    """An edit of actions as one writes it: ``30:control=2``, ``30-34:control*=1.5``.

    The control step comes first: ``30``, ``30-34``, or ``30-`` for on to the end. Then
    the name and ``=``, ``*=`` or ``+=`` and a number.

    Raises
    ------
    UsageError
        For any other text.
    """
    found = re.fullmatch(
        r"(?P<first>\d{1,9})(?P<to>-(?P<last>\d{1,9})?)?:(?P<name>.+?)"
        r"(?P<how>[*+]?)=(?P<amount>[^=]+)",
        text.strip(),
    )
    amount = None if found is None else _number(found["amount"])
    if found is None or amount is None:
        raise UsageError(
            f"an edit of actions {printable(text)!r}: give STEP:NAME=VALUE, as in "
            "30:control=2, 30-34:control*=1.5 or 30-:control+=0.1"
        )
    first = int(found["first"])
    last = first if not found["to"] else int(found["last"]) if found["last"] else None
    how: dict[str, Literal["set", "scale", "add"]] = {"*": "scale", "+": "add"}
    return ActionEdit(
        from_step=first,
        to_step=last,
        name=found["name"].strip(),
        do=how.get(found["how"], "set"),
        amount=amount,
    )


def parse_configuration(text: str) -> ConfigurationEdit:
    """An edit of the configuration: ``gravity=0,-9.81,0`` or ``damping=[0.1,0.1]``.

    Raises
    ------
    UsageError
        For any other text.
    """
    key, equals, given = text.partition("=")
    value = _value(given)
    if not (key.strip() and equals) or value is None:
        raise UsageError(
            f"an edit of the configuration {printable(text)!r}: give KEY=VALUE, as in "
            "gravity=0,0,-9.81"
        )
    return ConfigurationEdit(key=key.strip(), value=value)


def parse_state(text: str) -> StateEdit:
    """An edit of the state: ``cartpole.positions[1]=0.1``, ``ball.translation=0,1,0``.

    Raises
    ------
    UsageError
        For any other text.
    """
    name, equals, given = text.partition("=")
    found, value = _FIELD.fullmatch(name.strip()), _value(given)
    flat = isinstance(value, float) or (
        isinstance(value, list) and all(isinstance(one, float) for one in value)
    )
    if found is None or not equals or not flat:
        raise UsageError(
            f"an edit of the state {printable(text)!r}: give ACTOR.FIELD=VALUE, as in "
            "cartpole.positions[1]=0.1 or ball.translation=0,1,0"
        )
    part: int | str | None = found["component"]
    if isinstance(part, str) and part.isdecimal():
        part = int(part)
    return StateEdit(
        actor=found["actor"], field=found["field"], component=part, value=value
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _value(text: str) -> Any:
    """A number, numbers with commas between them, or a JSON list; None for others."""
    text = text.strip()
    if text.startswith("["):
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        return _numbers(found)
    parts = [_number(one) for one in text.split(",")]
    if any(one is None for one in parts):
        return None
    return parts[0] if len(parts) == 1 else parts


def _numbers(value: Any) -> Any:
    """The same with floats, or None where anything else is in it."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None
    if isinstance(value, list):
        inner = [_numbers(one) for one in value]
        return None if not inner or any(one is None for one in inner) else inner
    return None
