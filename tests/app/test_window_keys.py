"""The keys, pressed for real."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

Key, Modifier = Qt.Key, Qt.KeyboardModifier
FREE = "rigid_contacts_all.h5"  # nobody resets this scene: it has no control steps


def press(window, key, modifier=Modifier.NoModifier):
    QTest.keyClick(window.windowHandle(), key, modifier)


def test_space_plays_and_pauses(window, qtbot):
    clock = window.session.clock
    press(window, Key.Key_Space)
    assert clock.state.playing
    qtbot.waitUntil(lambda: clock.row > 3, timeout=5000)
    press(window, Key.Key_Space)
    assert not clock.state.playing


def test_space_at_the_end_plays_from_the_start(window):
    clock = window.session.clock
    press(window, Key.Key_End)
    assert clock.row == clock.state.rows - 1
    press(window, Key.Key_Space)
    assert clock.state.playing
    assert clock.row < 10
    press(window, Key.Key_K)


def test_native_and_far_steps(make_window, recordings):
    window = make_window(recordings / FREE)
    clock = window.session.clock
    press(window, Key.Key_Period)
    press(window, Key.Key_Period)
    assert clock.row == 2
    press(window, Key.Key_Comma)
    assert clock.row == 1
    press(window, Key.Key_Right, Modifier.ShiftModifier)
    assert clock.row == 11
    press(window, Key.Key_Left, Modifier.ShiftModifier)
    assert clock.row == 1
    press(window, Key.Key_Home)
    assert clock.row == 0


def test_arrows_go_natively_where_no_control_steps_are_known_and_say_so_once(
    make_window, recordings
):
    window = make_window(recordings / FREE)
    bar = window.frame.message_bar
    press(window, Key.Key_Right)
    assert window.session.clock.row == 1
    assert "native" in bar.text
    bar.clear()
    press(window, Key.Key_Right)
    assert bar.current is None


def test_arrows_go_by_control_steps_where_they_are_known(window):
    clock = window.session.clock
    clock.set_marks("control", [2, 4, 6, 8])
    press(window, Key.Key_Right)
    press(window, Key.Key_Right)
    assert clock.row == 4
    press(window, Key.Key_Left)
    assert clock.row == 2


def test_ctrl_arrows_go_to_events(make_window, recordings):
    window = make_window(recordings / "create_destroy.h5")
    clock = window.session.clock
    press(window, Key.Key_Right, Modifier.ControlModifier)
    assert clock.row == 10
    press(window, Key.Key_Right, Modifier.ControlModifier)
    assert clock.row == 20
    press(window, Key.Key_Right, Modifier.ControlModifier)
    assert clock.row == 20
    assert "no event" in window.frame.message_bar.text
    press(window, Key.Key_Left, Modifier.ControlModifier)
    assert clock.row == 10


def test_j_k_l_play_both_ways(window):
    clock = window.session.clock
    press(window, Key.Key_End)
    press(window, Key.Key_J)
    assert clock.state.direction == -1
    press(window, Key.Key_L)
    assert clock.state.direction == 1
    press(window, Key.Key_K)
    assert clock.state.direction == 0


def test_speed_keys(window):
    clock = window.session.clock
    press(window, Key.Key_Plus)
    assert clock.state.rate == 2.0
    press(window, Key.Key_Minus)
    press(window, Key.Key_Minus)
    assert clock.state.rate == 0.5


def test_loop_keys_and_the_menu_shows_it(window):
    clock = window.session.clock
    clock.seek(20)
    press(window, Key.Key_BracketLeft)
    clock.seek(40)
    press(window, Key.Key_BracketRight)
    assert (clock.state.loop_in, clock.state.loop_out) == (20, 40)
    assert window.actions_by_id["loop.toggle"].isChecked()
    press(window, Key.Key_L, Modifier.ControlModifier)
    assert not clock.state.loop
    assert not window.actions_by_id["loop.toggle"].isChecked()


def test_follow_key(window):
    press(window, Key.Key_Right, Modifier.AltModifier)
    assert window.session.clock.state.follow
    assert window.actions_by_id["run.follow"].isChecked()


def test_plain_keys_are_ignored_while_a_text_box_has_the_focus(window):
    clock = window.session.clock
    line = window.panels["signals"].line
    line.setFocus()
    for key in (Key.Key_Space, Key.Key_Period, Key.Key_J, Key.Key_Slash):
        press(window, key)
    press(window, Key.Key_Home)
    assert line.text() == " .j/"
    assert clock.row == 0
    assert not clock.state.playing
    assert not window.frame.palette_card.isVisible()


def test_keys_with_ctrl_act_from_a_text_box_too(window):
    window.panels["signals"].line.setFocus()
    press(window, Key.Key_K, Modifier.ControlModifier)
    assert window.frame.palette_card.isVisible()


def test_f1_shows_the_keys_and_escape_puts_them_away(window):
    press(window, Key.Key_F1)
    page = window.frame.keys_page
    assert page.isVisible()
    press(window, Key.Key_Escape)
    assert not page.isVisible()


def test_f11_fills_the_screen_and_back(window, qtbot):
    press(window, Key.Key_F11)
    assert window.isFullScreen()
    assert window.actions_by_id["view.fullscreen"].isChecked()
    press(window, Key.Key_F11)
    assert not window.isFullScreen()


def test_nothing_open_disables_what_needs_something(make_window):
    window = make_window()
    assert not window.actions_by_id["run.play"].isEnabled()
    assert window.actions_by_id["file.open"].isEnabled()
    press(window, Key.Key_Space)
    assert not window.session.clock.state.playing
