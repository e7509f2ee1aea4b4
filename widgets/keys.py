"""The one table of actions and keys; no Qt.

It drives the bindings, the menus, the help page and the command palette. A row is
listed here when it works, not before. Keys are written as `QKeySequence` reads them.

Scopes: keys of ``everywhere`` act in the whole window, except plain keys while a text
box has the focus; the other scopes act while their panel has the focus, together with
``everywhere``, so neither may repeat a key of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Scope = Literal["everywhere", "scene", "curate"]
Kind = Literal["action", "check", "submenu", "held"]

SCOPES: dict[Scope, str] = {
    "everywhere": "Everywhere",
    "scene": "With the Scene in focus",
    "curate": "In Curate",
}
MENUS = ("File", "View", "Run", "Curate", "Help")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done.

    Attributes
    ----------
    id
        What code calls it: ``"run.play"``.
    text
        What people call it, in menus and in the palette.
    keys
        Every key that does it; the first is shown.
    help
        One line for the keys page and the tooltip; `text` if empty.
    kind
        ``"check"`` is on or off, ``"submenu"`` is filled when it opens, ``"held"`` is a
        key that acts while it is down and is handled by its panel.
    repeats
        Whether it acts again and again while its key is held down.
    scope
        Where the keys act.
    menu
        The menu that it is in, or ``""`` for none.
    group
        What it belongs to: menus draw a line where this changes, the keys page has a
        heading for each.
    """

    id: str
    text: str
    keys: tuple[str, ...] = ()
    help: str = ""
    kind: Kind = "action"
    repeats: bool = False
    scope: Scope = "everywhere"
    menu: str = ""
    group: str = ""

    @property
    def about(self) -> str:
        """What it does, in one line."""
        return self.help or self.text


def _group(
    menu: str, group: str, *rows: Action, scope: Scope = "everywhere"
) -> tuple[Action, ...]:
    return tuple(replace(row, menu=menu, group=group, scope=scope) for row in rows)


def _step(id: str, text: str, *keys: str) -> Action:
    return Action(id, text, keys, repeats=True)


ACTIONS: tuple[Action, ...] = (
    *_group(
        "File",
        "Open",
        Action("file.open", "Open…", ("Ctrl+O",), "Open recordings"),
        Action("file.recent", "Open recent", kind="submenu"),
        Action(
            "file.attach",
            "Attach to a run…",
            ("Ctrl+Shift+O",),
            "Watch a run that goes on: in this machine's list, or by its address",
        ),
        Action(
            "file.demo",
            "Start the demo",
            (),
            "Eight CartPole environments that share a scene, in a process of their own",
        ),
        Action("file.shipped", "Open the shipped recording"),
        Action("file.start", "Start page", (), "Open, drop, recent recordings"),
    ),
    *_group(
        "File",
        "This view",
        Action(
            "link.copy",
            "Copy a link to this view",
            (),
            "File, position, environment, layout and plots, as one line of text",
        ),
        Action("link.open", "Open the link on the clipboard"),
        Action("file.screenshot", "Save a picture of the window", ("Ctrl+Shift+S",)),
        Action(
            "file.export",
            "Export…",
            ("Ctrl+E",),
            "Check the chosen episodes, and write them as a dataset",
        ),
    ),
    *_group(
        "File",
        "Close",
        Action("file.cancel", "Stop indexing or watching"),
        Action("file.reload", "Read the recording again", ("F5",)),
        Action("file.close", "Close the recording", ("Ctrl+W",)),
        Action("file.quit", "Quit", ("Ctrl+Q",)),
    ),
    *_group(
        "View",
        "Find",
        Action(
            "view.palette",
            "Find a command…",
            ("Ctrl+K", "Ctrl+P"),
            "Command palette: commands, recordings, actors, fields, positions",
        ),
        Action("view.find", "Find an actor or field…", ("/",)),
        Action("view.next_document", "Next recording", ("Ctrl+Tab",)),
    ),
    *_group(
        "View",
        "Window",
        Action("view.layout", "Layout", kind="submenu"),
        Action("view.panels", "Panels", kind="submenu"),
        Action("view.theme", "Theme", kind="submenu"),
        Action("view.reset", "Reset the layout"),
        Action("view.fullscreen", "Full screen", ("F11",), kind="check"),
    ),
    *_group(
        "Run",
        "Play",
        Action("run.play", "Play or pause", ("Space",), "At the end: from the start"),
        Action("run.reverse", "Play backwards", ("J",)),
        Action("run.stop", "Stop", ("K",)),
        Action("run.forward", "Play forwards", ("L",)),
        Action("run.faster", "Faster", ("+", "=")),
        Action("run.slower", "Slower", ("-",)),
        Action(
            "run.interpolate",
            "Interpolate between native steps",
            ("Ctrl+I",),
            "While playing, show states between the recorded ones; they are marked",
            kind="check",
        ),
        Action(
            "watch.pause_on",
            "Pause a watched run at findings",
            (),
            "As soon as something is found in it; its states are kept as snapshots",
            kind="submenu",
        ),
        Action(
            "watch.memory",
            "Memory for a watched run",
            (),
            "Half is for values that were read, half for the steps' columns; what is "
            "beyond either half is read again from the run's recording",
            kind="submenu",
        ),
    ),
    *_group(
        "Run",
        "Step",
        _step("step.next", "Next control step", "Right"),
        _step("step.previous", "Previous control step", "Left"),
        _step("step.next_10", "Ten control steps on", "Shift+Right"),
        _step("step.previous_10", "Ten control steps back", "Shift+Left"),
        _step("step.native_next", "Next native step", "."),
        _step("step.native_previous", "Previous native step", ","),
        _step("step.event_next", "Next event", "Ctrl+Right"),
        _step("step.event_previous", "Previous event", "Ctrl+Left"),
        Action("step.home", "To the start", ("Home",)),
        Action("step.end", "To the end", ("End",)),
        Action(
            "run.follow", "Follow the end as it grows", ("Alt+Right",), kind="check"
        ),
    ),
    *_group(
        "Run",
        "Replay",
        Action(
            "replay.show",
            "Step again…",
            ("Ctrl+R",),
            "The Replay panel: step the recording again, and what that proves",
        ),
        Action(
            "replay.actions",
            "Step again as recorded",
            (),
            "All environments in the recorded order: is the run the same once more?",
        ),
        Action(
            "replay.alone",
            "Step each environment alone",
            (),
            "Where together departs from alone, another environment reached it",
        ),
        Action(
            "replay.pinned",
            "Step again from every snapshot",
            (),
            "The state goes back to the recorded one at every snapshot",
        ),
        Action(
            "replay.first",
            "To the first divergence",
            ("Ctrl+D",),
            "Where what was stepped again first departs from what was recorded",
        ),
    ),
    *_group(
        "Run",
        "Loop",
        Action("loop.in", "Begin the loop here", ("[",)),
        Action("loop.out", "End the loop here", ("]",)),
        Action("loop.toggle", "Loop", ("Ctrl+L",), kind="check"),
    ),
    *_group(
        "Run",
        "Bookmarks",
        Action("bookmark.add", "Bookmark this step…", ("Ctrl+B",)),
        Action("bookmark.list", "Bookmarks", kind="submenu"),
    ),
    *_group(
        "Curate",
        "Edits",
        Action("curate.undo", "Undo", ("Ctrl+Z",), "Take the last edit back"),
        Action("curate.redo", "Redo", ("Ctrl+Shift+Z", "Ctrl+Y")),
    ),
    *_group(
        "Curate",
        "Episodes",
        Action("curate.accept", "Accept", ("A",), "Accept the chosen episodes"),
        Action(
            "curate.reject",
            "Reject",
            ("R",),
            "Reject the chosen episodes: they are not exported",
        ),
        Action("curate.undecided", "Undecided", ("U",), "Take the verdict back"),
        Action("curate.tag", "Tag…", ("T",), "Tag the chosen episodes, or untag them"),
        Action(
            "curate.trim",
            "Trim to the selected range",
            (),
            "Keep what the timeline's selected range covers of an episode",
        ),
        Action(
            "curate.split",
            "Split at the playhead",
            (),
            "Make two of an episode, the second from the playhead on",
        ),
        scope="curate",
    ),
    *_group(
        "Help",
        "Help",
        Action("help.diagnose", "Diagnose…", help="Start from what you noticed"),
        Action("help.keys", "Keys", ("F1",)),
        Action("help.log", "Show the log file"),
    ),
    *_group(
        "",
        "Camera",
        Action("scene.forward", "Fly forwards", ("W",), kind="held"),
        Action("scene.left", "Fly left", ("A",), kind="held"),
        Action("scene.back", "Fly backwards", ("S",), kind="held"),
        Action("scene.right", "Fly right", ("D",), kind="held"),
        Action("scene.down", "Fly down", ("Q",), kind="held"),
        Action("scene.up", "Fly up", ("E",), kind="held"),
        Action("scene.fast", "Fly faster", ("Shift",), kind="held"),
        Action(
            "scene.frame",
            "Frame the selected actor",
            ("F",),
            "Look at the selected actor or, without one, at everything",
        ),
        Action(
            "scene.overlay",
            "Next overlay",
            ("O",),
            "Ghosts: what proves the finding, what the scene holds, the others",
        ),
        Action(
            "scene.grid",
            "Grid mode on or off",
            ("G",),
            "One small scene for each environment, up to 64, in its own last state",
        ),
        Action(
            "scene.beside",
            "Side by side or ghost",
            ("B",),
            "Recorded and stepped again: two scenes under one camera, or a ghost",
        ),
        Action("scene.contacts", "Contacts on or off"),
        Action("scene.trails", "Trails on or off"),
        Action("scene.wireframe", "Wireframe on or off"),
        scope="scene",
    ),
)
BY_ID = {action.id: action for action in ACTIONS}


def clashes(actions: tuple[Action, ...] = ACTIONS) -> list[tuple[str, str, str]]:
    """Keys that two actions of one scope, or of it and ``everywhere``, both want.

    Returns
    -------
    list of (key, id, id)
        Empty when every key means one thing wherever it can be pressed.
    """
    found = []
    for at, one in enumerate(actions):
        for other in actions[at:]:
            if one.scope != other.scope and "everywhere" not in (
                one.scope,
                other.scope,
            ):
                continue
            keys = other.keys if one is not other else ()
            found += [(key, one.id, other.id) for key in one.keys if key in keys]
        doubled = {key for key in one.keys if one.keys.count(key) > 1}
        found += [(key, one.id, one.id) for key in sorted(doubled)]
    return found


def groups(scope: Scope) -> list[tuple[str, list[Action]]]:
    """The actions of a scope that have keys, by group, in the table's order."""
    found: dict[str, list[Action]] = {}
    for action in ACTIONS:
        if action.scope == scope and action.keys:
            found.setdefault(action.group, []).append(action)
    return list(found.items())
