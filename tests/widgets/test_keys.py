"""The one table: no clashes, every key a real one."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QKeySequence

from isoscope.widgets.keys import ACTIONS, BY_ID, MENUS, SCOPES, Action, clashes, groups


def test_no_key_means_two_things_in_one_scope():
    assert clashes() == []


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (Action("a", "", ("X",)), Action("b", "", ("X",)), True),
        (Action("a", "", ("X",)), Action("b", "", ("Y",)), False),
        (Action("a", "", ("X",)), Action("b", "", ("X",), scope="scene"), True),
        (Action("a", "", ("X", "X")), Action("b", ""), True),
    ],
)
def test_clashes_are_found(one: Action, other: Action, clash: bool):
    assert bool(clashes((one, other))) is clash


def test_ids_are_unique():
    assert len(BY_ID) == len(ACTIONS)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_each_row_is_sound(action: Action):
    assert action.scope in SCOPES
    assert action.menu in ("", *MENUS)
    assert action.text
    assert action.group
    for key in action.keys:
        parsed = QKeySequence(key)
        assert parsed.count() == 1
        # A held modifier is no sequence of its own.
        assert key == "Shift" or parsed.toString() == key


def test_the_keys_of_the_design_are_all_there():
    """Those of ux.md that can work without labels, live runs and curation."""
    wanted = (
        "Space Left Right Shift+Left Shift+Right Ctrl+Left Ctrl+Right , . J K L Home "
        "End [ ] Ctrl+L + - Alt+Right / Ctrl+B Ctrl+O Ctrl+Shift+S Ctrl+P Ctrl+K F1 F11"
    ).split()
    bound = {k for a in ACTIONS if a.scope == "everywhere" for k in a.keys}
    assert set(wanted) <= bound
    scene = {k for a in ACTIONS if a.scope == "scene" for k in a.keys}
    assert set("WASDQEF") | {"Shift"} <= scene


def test_the_keys_page_has_every_key_once():
    listed = [
        action for scope in SCOPES for _, rows in groups(scope) for action in rows
    ]
    assert sorted(a.id for a in listed) == sorted(a.id for a in ACTIONS if a.keys)
