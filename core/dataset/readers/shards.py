"""The reader of trajectory shards: safetensors with a manifest that knows their hashes.

An exported shard is one episode, a lane of its own. A shard that was collected holds
many lanes, each of which comes back as one stretch of rows; where the episodes in it
begin is what its `dones` say. A shard's hash is checked when it is first read.

Layout, from the safetensors format: 8 bytes, little endian, length of the header; the
header, JSON: ``{key: {dtype, shape, data_offsets}}``; the values, offsets from there.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.dataset.readers.base import Dataset
from isoscope.core.dataset.readers.places import has, inside, read_file, read_json
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.dataset.sidecar import parse
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Per, Role
    from isoscope.core.recording.tracks import Array

FORMAT = "shards"
MANIFEST = "manifest.json"
SIDECAR = "isoscope.json"
SCHEMA = "isoscope.shards/1"
MAX_HEADER = 1 << 26
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
FIRST = ("dones", "terminations", "truncations")  # an extra row before each epoch
LAST = ("prev_values",)  # and after it
NEXT = ("curr_obs.", "next_obs.")
_BLOCK = 1 << 20


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is such a folder, or the manifest in it."""
    if path.is_dir():
        if not has(path, MANIFEST):
            return False
        try:
            return read_json(path, MANIFEST).get("schema") == SCHEMA
        except ReadError:
            return False
    return path.name == MANIFEST and SCHEMA.encode() in head


def open_episodes(path: Path) -> Shards:
    """Open a folder of shards; raises ReadError."""
    return Shards(path)


def open_source(path: Path) -> DatasetSource:
    """Open a folder for the window; raises ReadError."""
    return DatasetSource(open_episodes(path))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in a file: where its bytes begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    at: int

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize


def header(path: Path) -> dict[str, Tensor]:
    """The tensors in a file, checked against its size.

    Raises
    ------
    ReadError
        If it is cut, or its header makes no sense.
    """
    from isoscope.core.dataset.readers.places import json_object

    def wrong(problem: str, where: str = "") -> ReadError:
        return ReadError("reading", path, problem, where=where)

    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(MAX_HEADER, size - 8):
                raise wrong("safetensors without a whole header: cut or damaged")
            told = json_object(file.read(length), path, "header")
    except OSError as error:
        raise wrong(error.strerror or str(error)) from None
    out = {}
    for key, about in told.items():
        if key == "__metadata__":
            continue
        if not isinstance(about, dict):
            raise wrong("no description of a tensor", key)
        dtype, shape = about.get("dtype"), about.get("shape")
        offsets = about.get("data_offsets")
        numbers = [shape, offsets]
        if (
            not all(
                isinstance(n, list) and all(type(x) is int and x >= 0 for x in n)
                for n in numbers
            )
            or len(offsets or ()) != 2
        ):
            raise wrong("no description of a tensor", key)
        assert isinstance(shape, list)
        assert isinstance(offsets, list)
        if dtype not in DTYPES:
            raise wrong(f"values of dtype {dtype} can't be read", key)
        kind = np.dtype(DTYPES[dtype])
        held = math.prod(shape) * kind.itemsize
        begin, end = offsets
        if end - begin != held or 8 + length + end > size:
            raise wrong(f"its {held} bytes are not all in the file", key)
        out[key] = Tensor(kind, tuple(shape), 8 + length + begin)
    return out


class Shards(Dataset):
    """An opened folder; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path) -> None:
        root = path if path.is_dir() else path.resolve().parent
        told = read_json(root, MANIFEST)
        listed = told.get("shards")
        if told.get("schema") != SCHEMA or not isinstance(listed, list):
            raise ReadError("opening", root / MANIFEST, "no manifest of shards")
        self._hashes: dict[str, str] = {}
        self._headers: dict[str, dict[str, Tensor]] = {}
        self._sound: set[str] = set()
        self._lanes: list[tuple[str, int]] = []
        for entry in listed:
            name, lanes = _entry(entry, root)
            self._hashes[name] = str(entry.get("sha256"))
            self._lanes += [(name, lane) for lane in range(lanes)]
        super().__init__(path, FORMAT, (), len(self._lanes))
        self.name, self.root = root.name, root
        run = told.get("run")
        self.identity = {"run": run} if isinstance(run, dict) and run else {}
        hz = run.get("control_hz") if isinstance(run, dict) else None
        if isinstance(hz, int | float) and not isinstance(hz, bool) and hz > 0:
            self.control_hz = float(hz)
        self._joined = False
        if self._lanes:
            self._set(self._features(self._tensors(self._lanes[0][0])))
        if has(root, SIDECAR):
            self._joined = True
            self.take(parse(read_file(root, SIDECAR)))
            self._joined = self._told is not None

    def _tensors(self, name: str) -> dict[str, Tensor]:
        found = self._headers.get(name)
        if found is None:
            found = header(inside(self.root, name))
            if len(self._headers) > 64:
                self._headers.clear()
            self._headers[name] = found
        return found

    def _features(self, tensors: dict[str, Tensor]) -> list[Feature]:
        length = _length(tensors, self.root)
        exported = has(self.root, SIDECAR)
        out = []
        for key, tensor in tensors.items():
            rows = tensor.shape[0] if tensor.shape else 0
            name = key.split(".")[0]
            if len(tensor.shape) < 2 or rows < length:
                self.problems.append(f"{key} is not read: {list(tensor.shape)}")
                continue
            if name in (*FIRST, *LAST) and rows > length and length % (rows - length):
                said = f"{rows} rows for {length} steps are not T + E"
                self.problems.append(f"{key} is not read: {said}")
                continue
            closed = exported and (
                f"{NEXT[1]}{key.removeprefix(NEXT[0])}" in tensors
                if key.startswith(NEXT[0])
                else rows == length + 1 and name not in (*FIRST, *LAST)
            )
            shape = tensor.shape[2:]
            if shape == (1,) and _role(key) not in ("observation", "action"):
                shape = ()
            per: Per = "boundary" if closed or _role(key) == "observation" else "step"
            dtype = tensor.dtype.newbyteorder("=")
            out.append(Feature(key, _role(key), dtype, shape, per=per))
        return out

    def tensor_rows(self, episode: int) -> dict[str, int]:
        """Rows of each tensor of an episode's shard, whatever they should be."""
        name, _ = self._lanes[episode]
        return {
            key: tensor.shape[0]
            for key, tensor in self._tensors(name).items()
            if len(tensor.shape) > 1
        }

    def tensor(self, episode: int, key: str, start: int, stop: int) -> Array:
        """Rows start .. stop of a tensor as it lies there, of the episode's lane."""
        name, lane = self._lanes[episode]
        self._check(name)
        return self._lane(name, self._tensors(name), key, lane, np.arange(start, stop))

    def describe(self, index: int) -> Episode:
        """The episode from its shard."""
        name, lane = self._lanes[index]
        tensors = self._tensors(name)
        length = _length(tensors, self.root / name)
        lanes = next(iter(tensors.values())).shape[1] if tensors else 1
        label = Path(name).stem + (f"/{lane}" if lanes > 1 else "")
        return Episode(index, label, length, complete=False, final=False)

    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows of a tensor, of one lane."""
        name, lane = self._lanes[episode]
        tensors = self._tensors(name)
        self._check(name)
        whole = self.episodes[episode]
        key = feature.name
        at = np.arange(start, stop)
        if key.startswith(NEXT[0]) and feature.per == "boundary" and whole.final:
            after = NEXT[1] + key.removeprefix(NEXT[0])
            inner = min(stop, whole.length)
            parts = [self._lane(name, tensors, key, lane, at[: max(inner - start, 0)])]
            if stop > whole.length:
                parts.append(self._lane(name, tensors, after, lane, at[-1:] - 1))
            return np.concatenate(parts)
        top = key.split(".")[0]
        rows = tensors[key].shape[0] if key in tensors else 0
        extra = rows - whole.length
        if top in (*FIRST, *LAST) and extra > 0:
            if whole.length % extra:
                raise self.error(f"{rows} rows for {whole.length} steps", key)
            size = whole.length // extra
            at = at + at // max(size, 1) + (top in FIRST)
        return self._lane(name, tensors, key, lane, at)

    def _lane(
        self, name: str, tensors: dict[str, Tensor], key: str, lane: int, at: Array
    ) -> Array:
        """Rows of one lane of a tensor [rows, lanes, ...]; `at` int64, ascending."""
        tensor = tensors.get(key)
        if tensor is None or len(tensor.shape) < 2 or lane >= tensor.shape[1]:
            raise self.error("there is no such tensor", f"{name}: {key}")
        if not len(at):
            return np.zeros((0, *tensor.shape[2:]), tensor.dtype)
        low, high = int(at[0]), int(at[-1]) + 1
        if high > tensor.shape[0]:
            raise self.error(f"it has {tensor.shape[0]} rows", f"{name}: {key}")
        path = inside(self.root, name)
        with path.open("rb") as file:
            file.seek(tensor.at + low * tensor.row_bytes)
            content = file.read((high - low) * tensor.row_bytes)
        values: Array = np.frombuffer(content, tensor.dtype)
        values = values.reshape(high - low, *tensor.shape[1:])[at - low, lane]
        return np.asarray(values, tensor.dtype.newbyteorder("="))

    def _check(self, name: str) -> None:
        """Compare a shard's hash with the manifest's, once."""
        if name in self._sound:
            return
        path = inside(self.root, name)
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        if digest.hexdigest() != self._hashes[name]:
            raise ReadError(
                "reading", path, "its content is not what the manifest has the hash of"
            )
        self._sound.add(name)

    def close(self) -> None:
        """Nothing is kept open."""


def _entry(entry: Any, root: Path) -> tuple[str, int]:
    """Name and lanes of a shard that the manifest lists."""
    wrong = ReadError("reading", root / MANIFEST, "an entry that makes no sense")
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise wrong
    if not re.fullmatch(r"[\w.-]+\.safetensors", entry["file"]):
        raise ReadError("reading", root / MANIFEST, f"{entry['file']!r} is no shard")
    tensors = entry.get("tensors")
    if not isinstance(tensors, dict) or not tensors:
        raise wrong
    for value in tensors.values():
        shape = value[1] if isinstance(value, list) and len(value) == 2 else None
        if isinstance(shape, list) and len(shape) > 1:
            if type(shape[1]) is not int or not 0 <= shape[1] <= 1 << 24:
                raise wrong
            return entry["file"], shape[1]
    return entry["file"], 0


def _length(tensors: dict[str, Tensor], path: Path) -> int:
    for key in ("actions", "rewards", "forward_inputs.action"):
        if key in tensors and tensors[key].shape:
            return tensors[key].shape[0]
    steps = [t.shape[0] for t in tensors.values() if t.shape]
    if not steps:
        raise ReadError("reading", path, "there is no tensor with rows in it")
    return min(steps)


def _role(key: str) -> Role:
    fixed: dict[str, Role] = {
        "actions": "action",
        "rewards": "reward",
        "terminations": "terminated",
        "truncations": "truncated",
        "forward_inputs.raw_action": "raw_action",
    }
    if key in fixed:
        return fixed[key]
    return "observation" if key.startswith(NEXT[0]) else "info"
