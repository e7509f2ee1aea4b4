"""What-if branches of documents, for the window: made, run, kept, exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from PySide6.QtWidgets import QFileDialog

from isoscope.app.branching import branches_of
from isoscope.app.replay_view import examined_of, maker_of
from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.branch.exporting import ENDING, export_branch
from isoscope.core.replay.branch.looked_at import looked_at
from isoscope.core.replay.branch.running import place_of, run_branch, tape_of
from isoscope.core.replay.branch.suggestions import suggestions
from isoscope.widgets.replay.request import Request

if TYPE_CHECKING:
    from isoscope.app.replay_view import Progress, Replaying
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.branch.branches import Branches
    from isoscope.core.replay.branch.model import Branch, Edit
    from isoscope.core.replay.branch.run import BranchRun
    from isoscope.core.replay.states import Replayed
    from isoscope.core.replay.tape import Tape
    from isoscope.widgets.replay.panel import ReplayPanel
    from isoscope.widgets.session import Document


class BranchView:
    """Does what the Replay panel's branch form asks for.

    Parameters
    ----------
    replaying
        Whose threads are used, one thing at a time for each document.
    """

    def __init__(self, replaying: Replaying, panel: ReplayPanel) -> None:
        self._replaying, self._panel = replaying, panel
        self._kept: WeakKeyDictionary[Document, Branches] = WeakKeyDictionary()
        self._runs: WeakKeyDictionary[Document, dict[str, BranchRun]]
        self._runs = WeakKeyDictionary()
        self._tapes: WeakKeyDictionary[Document, dict[int, Tape | None]]
        self._tapes = WeakKeyDictionary()
        form = panel.form.branches
        form.suggest = self.suggest
        form.made.connect(self.make)
        form.run_asked.connect(self.run)
        form.removed.connect(self.remove)
        form.renamed.connect(self.rename)
        form.export_asked.connect(self.ask_export)
        form.refused.connect(self._refuse)
        panel.branching.connect(self.show)

    # -- where it would begin ----------------------------------------------------------

    @property
    def _document(self) -> Document | None:
        return self._replaying.session.active

    def _tape(self, document: Document, examined: Examined, env: int) -> Tape | None:
        known = self._tapes.setdefault(document, {})
        if env not in known:
            try:
                known[env] = tape_of(examined, env)
            except IsoscopeError:
                known[env] = None
        return known[env]

    def place(self) -> tuple[int, int, int, int] | None:
        """Environment, episode, control step and native row of a branch made now."""
        document = self._document
        examined = None if document is None else examined_of(document)
        if document is None or examined is None or document.analysis is None:
            return None
        row = self._replaying.session.clock.row
        env = document.focus
        if env is None:
            env = document.analysis.owner(row)
        if env < 0 or self._tape(document, examined, env) is None:
            return None
        try:
            return (env, *place_of(examined, env, row))
        except IsoscopeError:
            return None

    def suggest(self) -> dict[str, list[str]]:
        """What could be edited at the cursor, by kind."""
        document, place = self._document, self.place()
        examined = None if document is None else examined_of(document)
        if document is None or place is None or examined is None:
            return {}
        env, _, step, row = place
        tape = self._tape(document, examined, env)
        return {} if tape is None else suggestions(tape, env, row, step)

    # -- the list ----------------------------------------------------------------------

    def branches(self, document: Document) -> Branches | None:
        """The branches that are kept of a document; None where it can have none."""
        found = self._kept.get(document)
        examined = examined_of(document)
        if found is None and examined is not None:
            try:
                found, told = branches_of(examined)
            except IsoscopeError:
                return None
            if told:
                self._replaying.session.say("warning", told)
            self._kept[document] = found
        return found

    def show(self, document: Document) -> None:
        """Bring the form up to date."""
        if document is not self._document:
            return
        kept, form = self.branches(document), self._panel.form.branches
        place = self.place()
        text = ""
        if place is not None:
            env, episode, step, row = place
            text = f"from env {env} · {episode}/{step} (native step {row:,})"
        form.show_place(text)
        outcomes = {
            id: _outcome(run) for id, run in self._runs.get(document, {}).items()
        }
        shown = document.replayed
        of = [
            id
            for id, run in self._runs.get(document, {}).items()
            if shown is not None and shown.report is run.report
        ]
        listed = () if kept is None else kept.branches
        form.show_branches(listed, outcomes, of[0] if of else "")

    # -- commands ----------------------------------------------------------------------

    def make(self, edits: tuple[Edit, ...], steps: int | None) -> None:
        """Make a branch at the cursor, run it, and keep it if it can be run."""
        document, place = self._document, self.place()
        kept = None if document is None else self.branches(document)
        if document is None or kept is None or place is None:
            self._refuse("a branch begins in a control step of an environment")
            return
        try:
            branch = kept.made(place, edits, steps)
            kept.check(branch)
        except IsoscopeError as error:
            self._refuse(str(error))
            return
        self._step(document, branch, new=True)

    def run(self, id: str) -> None:
        """Run a branch that is kept, and look at it."""
        found = self._find(id)
        if found is not None:
            self._step(*found, new=False)

    def _step(self, document: Document, branch: Branch, *, new: bool) -> None:
        examined = examined_of(document)
        if examined is None:
            return

        def work(progress: Progress) -> tuple[BranchRun, Replayed]:
            run = run_branch(examined, maker_of(Request(), examined), branch, progress)
            return run, looked_at(examined, run)

        def ended(found: tuple[BranchRun, Replayed]) -> None:
            run, replayed = found
            try:
                if new:
                    kept = self.branches(document)
                    assert kept is not None  # it was made from them
                    kept.add(branch)
            except IsoscopeError as error:
                self._refuse(str(error))
            self._runs.setdefault(document, {})[branch.id] = run
            self._panel.show_ended(document, None, replayed)
            for note in run.notes[:1]:
                self._replaying.session.say("note", f"{branch.name}: {note}")
            self.show(document)

        self._replaying.begin(document, f"Stepping branch {branch.name}", work, ended)

    def remove(self, id: str) -> None:
        """Take a branch away; what is shown of it goes, too."""
        found = self._find(id)
        if found is None:
            return
        document, _ = found
        kept, run = self.branches(document), self._runs.get(document, {}).pop(id, None)
        try:
            if kept is not None:
                kept.remove(id)
        except IsoscopeError as error:
            self._refuse(str(error))
        shown = document.replayed
        if run is not None and shown is not None and shown.report is run.report:
            document.set_replayed(None)
        self.show(document)

    def rename(self, id: str, name: str) -> None:
        """Give a branch another name."""
        found = self._find(id)
        if found is None:
            return
        document, _ = found
        kept = self.branches(document)
        try:
            if kept is not None:
                kept.rename(id, name)
        except IsoscopeError as error:
            self._refuse(str(error))
        self.show(document)

    def ask_export(self, id: str) -> None:
        """Ask where to write a branch; the window goes on meanwhile."""
        found = self._find(id)
        if found is None:
            return
        document, branch = found
        path = document.recording.path
        dialog = QFileDialog(self._panel, f"Write branch {branch.name}", "")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"Labelled recordings (*{ENDING})")
        if path is not None:
            dialog.setDirectory(str(path.parent))
            stem = path.name.removesuffix(ENDING)
            dialog.selectFile(f"{stem}-{branch.name}{ENDING}".replace("/", "-"))
        dialog.setModal(False)
        dialog.fileSelected.connect(lambda name: self.export(id, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    def export(self, id: str, path: Path) -> None:
        """Write a branch as a recording of its own, running it first if it wasn't."""
        found = self._find(id)
        examined = None if found is None else examined_of(found[0])
        if found is None or examined is None:
            return
        document, branch = found
        if not path.name.endswith(ENDING):
            path = path.with_name(path.name + ENDING)
        known = self._runs.get(document, {}).get(id)

        def work(progress: Progress) -> tuple[BranchRun, Path]:
            maker = maker_of(Request(), examined)
            run = known or run_branch(examined, maker, branch, progress)
            return run, export_branch(examined, run, path, overwrite=True)

        def ended(done: tuple[BranchRun, Path]) -> None:
            self._runs.setdefault(document, {})[id] = done[0]
            self._panel.show_ended(document, None, None)
            self._replaying.session.say("note", f"branch {branch.name} is in {done[1]}")
            self.show(document)

        self._replaying.begin(document, f"Writing branch {branch.name}", work, ended)

    def _find(self, id: str) -> tuple[Document, Branch] | None:
        document = self._document
        kept = None if document is None else self.branches(document)
        if document is None or kept is None:
            return None
        try:
            return document, kept.find(id)
        except IsoscopeError as error:
            self._refuse(str(error))
            return None

    def _refuse(self, why: str) -> None:
        self._replaying.session.say("error", why)


def _outcome(run: BranchRun) -> str:
    """What came of a run, in a few words."""
    first = run.report.first_divergence
    parts = []
    if first is not None:
        parts.append(f"departs at {first.episode}/{first.control_step}")
    elif run.report.compared_steps:
        parts.append("as recorded")
    if run.ended:
        parts.append(run.ended)
    if run.stopped:
        parts.append(f"stopped: {run.stopped}")
    past = int((run.rows < 0).sum())
    if past:
        parts.append(f"{past:,} native steps past the end")
    return "; ".join(parts) or "no step"
