"""The reader of ManiSkill's trajectories: HDF5 with ``/traj_<number>``, and JSON.

Observations and environment states have a row more than there are actions: the last is
what the episode ended in. Source: ManiSkill 3.0's documentation (demonstrations) and
its RecordEpisode wrapper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.core.dataset.readers.episodic import EpisodicFile, role_by_name
from isoscope.core.dataset.readers.places import has, inside, read_json
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Episode, Role

FORMAT = "maniskill"
PREFIX = "traj_"


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is such an HDF5 file, or a folder with one and its JSON."""
    from isoscope.core.dataset.readers.hdf5 import MAGIC, Tree

    if path.is_dir():
        return _file_in(path) is not None
    if not head.startswith(MAGIC):
        return False
    try:
        tree = Tree(path)
    except ReadError:
        return False
    try:
        return any(n.startswith(PREFIX) for n in tree.names("")[:8])
    except ReadError:
        return False
    finally:
        tree.close()


def open_episodes(path: Path) -> ManiSkillFile:
    """Open a file, or the one in a folder; raises ReadError."""
    file = path
    if path.is_dir():
        found = _file_in(path)
        if found is None:
            raise ReadError(
                "opening", path, "there is no .h5 with a .json of the same name in it"
            )
        file = inside(path, found.name)
    return ManiSkillFile(path, file)


def open_source(path: Path) -> DatasetSource:
    """Open a file for the window; raises ReadError."""
    return DatasetSource(open_episodes(path))


def _file_in(folder: Path) -> Path | None:
    files = [f for f in sorted(folder.glob("*.h5")) if f.with_suffix(".json").exists()]
    return files[0] if len(files) == 1 else None


class ManiSkillFile(EpisodicFile):
    """An opened file; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path, file: Path) -> None:
        super().__init__(path, file, FORMAT, "", PREFIX)
        self._listed: dict[int, dict[str, Any]] = {}
        try:
            self._take_list(file.with_suffix(".json"))
        except BaseException:
            self.close()
            raise

    def _take_list(self, beside: Path) -> None:
        if not has(beside.parent, beside.name):
            self.problems.append(f"{beside.name} is not there: seeds are unknown")
            return
        told = read_json(beside.parent, beside.name)
        info = told.get("env_info")
        if isinstance(info, dict):
            self.identity = {**self.identity, "env_info": info}
            options = info.get("env_kwargs")
            if self.control_hz is None and isinstance(options, dict):
                sim = options.get("sim_config")
                hz = sim.get("control_freq") if isinstance(sim, dict) else None
                if isinstance(hz, int | float) and hz > 0:
                    self.control_hz = float(hz)
        listed = told.get("episodes")
        if not isinstance(listed, list):
            raise ReadError("reading", beside, "it lists no episodes")
        for entry in listed:
            if isinstance(entry, dict) and isinstance(entry.get("episode_id"), int):
                self._listed[entry["episode_id"]] = entry
        missing = [
            n for n in self.groups if int(n.removeprefix(PREFIX)) not in self._listed
        ]
        if missing:
            self.problems.append(
                f"{beside.name} lists no {missing[0]}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            )

    def describe(self, index: int) -> Episode:
        """The episode from its group, and its seed from the list."""
        found = super().describe(index)
        entry = self._listed.get(int(self.groups[index].removeprefix(PREFIX)), {})
        steps = entry.get("elapsed_steps")
        if isinstance(steps, int) and steps != found.length:
            raise self.error(
                f"the list says {steps} steps, but there are {found.length} actions",
                f"/{self.place(index)}",
            )
        seed = entry.get("episode_seed")
        success = entry.get("success")
        return replace(
            found,
            seed=seed if isinstance(seed, int) else None,
            notes={"success": success} if isinstance(success, bool) else {},
        )

    def role(self, name: str) -> Role:
        """What a dataset of this name is."""
        return role_by_name(name)
