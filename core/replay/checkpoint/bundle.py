"""A checkpoint as one file: safetensors, with what it is as JSON in the header.

Nothing in it is code. Tensors are named ``part/name``; the JSON tells the parts, their
kinds and settings, and the dtype and shape of each tensor, so that a file that is cut,
mixed up or of another kind is refused whole.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.errors import MissingExtraError, ReadError, one_line
from isoscope.core.newfile import new_file
from isoscope.core.replay.checkpoint.model import (
    Box,
    Checkpoint,
    CheckpointError,
    Part,
    check_checkpoint,
    host_array,
)

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

SCHEMA = "isoscope.policy/1"
KEY = "isoscope"
SUFFIX = ".policy.safetensors"
DOING = "reading the checkpoint"
BIGGEST_BYTES = 1 << 36
BIGGEST_HEADER = 100 << 20  # as safetensors has it
PICKLES = (b"\x80", b"PK\x03\x04")  # a bare one, and torch.save's


class TensorForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of a tensor."""

    dtype: str
    shape: list[int]


class PartForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of a part."""

    kind: str
    settings: dict[str, Any]
    tensors: dict[str, TensorForm]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON in the header."""

    schema: str
    created_ns: int
    parts: dict[str, PartForm]
    observation: Box | None
    action: Box | None
    about: dict[str, Any]


def write_checkpoint(
    path: str | Path, checkpoint: Checkpoint, *, overwrite: bool = False
) -> Path:
    """Write a checkpoint; it appears whole or not at all.

    Raises
    ------
    CheckpointError
        If it makes no sense.
    UsageError, WriteError
        If it can't be written there.
    MissingExtraError
        Without safetensors.
    """
    path = Path(path)
    check_checkpoint(checkpoint, f"writing {path}")
    tensors: dict[str, Array] = {}
    parts = {}
    for name, one in checkpoint.parts.items():
        forms = {}
        for key, value in one.tensors.items():
            array = host_array(key, value)
            tensors[f"{name}/{key}"] = array
            forms[key] = TensorForm(array.dtype.name, list(array.shape))
        parts[name] = PartForm(one.kind, dict(one.settings), forms)
    manifest = Manifest(
        SCHEMA,
        time.time_ns(),
        parts,
        checkpoint.observation,
        checkpoint.action,
        dict(checkpoint.about),
    )
    try:
        told = msgspec.json.encode(manifest).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"writing {path}: beyond JSON: {error}") from None
    content = _safetensors().save(tensors, {KEY: told})
    with new_file(path, overwrite=overwrite) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return path


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint.

    Raises
    ------
    ReadError
        If it can't be read, is cut, is no checkpoint, or its tensors are not those it
        tells of. Nothing of it is run.
    MissingExtraError
        Without safetensors.
    """
    path = Path(path)
    manifest, content = _opened(path)
    library = _safetensors()
    try:
        tensors: dict[str, Array] = library.load(content)
    except Exception as error:  # noqa: BLE001 of a library, on any bytes
        raise ReadError(DOING, path, _short(error)) from None
    told = {
        f"{name}/{key}": form
        for name, one in manifest.parts.items()
        for key, form in one.tensors.items()
    }
    if told.keys() != tensors.keys():
        odd = sorted(told.keys() ^ tensors.keys())
        raise ReadError(DOING, path, "told of and not there, or not told", where=odd[0])
    for name, form in told.items():
        array = tensors[name]
        if (array.dtype.name, list(array.shape)) != (form.dtype, form.shape):
            raise ReadError(
                DOING,
                path,
                f"{array.dtype}{list(array.shape)}, told as {form.dtype}{form.shape}",
                where=name,
            )
    checkpoint = Checkpoint(
        {
            name: Part(
                one.kind,
                one.settings,
                {key: tensors[f"{name}/{key}"] for key in one.tensors},
            )
            for name, one in manifest.parts.items()
        },
        manifest.observation,
        manifest.action,
        manifest.about,
    )
    try:
        check_checkpoint(checkpoint, DOING)
    except CheckpointError as error:
        raise ReadError(DOING, path, str(error).partition(": ")[2]) from None
    return checkpoint


def is_checkpoint(path: Path) -> bool:
    """Whether a file says that it is one; also if it is cut further on."""
    try:
        _manifest(path, _header(path))
    except (ReadError, OSError):
        return False
    return True


def _opened(path: Path) -> tuple[Manifest, bytes]:
    try:
        with path.open("rb") as file:
            head = file.read(9)
        # A safetensors' length may begin with the same byte; its JSON comes next.
        if head[8:] != b"{" and head.startswith(PICKLES):
            raise ReadError(
                DOING,
                path,
                "it is a pickle or an archive of one, which can run code, and is not "
                "opened",
                remedy="write a checkpoint of it (docs/replay.md)",
            )
        header = _header(path)
        manifest = _manifest(path, header)
        return manifest, path.read_bytes()
    except OSError as error:
        raise ReadError(DOING, path, error.strerror or str(error)) from None


def _header(path: Path) -> bytes:
    """The JSON header: 8 bytes of length, little endian, before it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 10 or size > BIGGEST_BYTES or not 2 <= length <= BIGGEST_HEADER:
            raise ReadError(DOING, path, "it is no safetensors file")
        if length > size - 8:
            raise ReadError(DOING, path, "its header is cut")
        return file.read(length)


def _manifest(path: Path, header: bytes) -> Manifest:
    try:
        found = msgspec.json.decode(header)
        told = found["__metadata__"][KEY]
        manifest = msgspec.json.decode(told, type=Manifest)
    except (KeyError, TypeError, RecursionError):
        raise ReadError(DOING, path, "it holds no checkpoint of a policy") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ReadError(DOING, path, _short(error)) from None
    if manifest.schema != SCHEMA:
        raise ReadError(DOING, path, f"it is of schema {manifest.schema}")
    return manifest


def _safetensors() -> Any:
    try:
        import safetensors.numpy as library
    except ImportError as error:
        name = error.name or "safetensors"
        raise MissingExtraError("checkpoints of policies", "sim", name) from None
    return library


def _short(error: BaseException) -> str:
    return one_line(error)[:200] or type(error).__name__
