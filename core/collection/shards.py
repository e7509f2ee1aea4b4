"""Outputs as files: a safetensors file each, and a manifest with their checksums.

A shard holds tensors under flat dotted keys (``forward_inputs.action``) and text in its
metadata. The manifest, ``manifest.json``, is written last: a folder without one is a
run that did not come to its end.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from safetensors.torch import save

from isoscope.core.collection.errors import CollectionError
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.jsonform import encode
from isoscope.core.newfile import new_file
from isoscope.core.trajectory.fields import trajectory_fields
from isoscope.core.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Tensor = torch.Tensor
HEADER = 8
MANIFEST = "manifest.json"
NUMBERED = "shard-*.safetensors"


class Shard(msgspec.Struct):
    """One file, as the manifest lists it.

    Attributes
    ----------
    file
        Its name in the folder.
    key
        The queue that its item came from.
    actor
        Whose it was.
    bytes, sha256
        Of the file.
    tensors
        ``[dtype, shape]`` by key.
    """

    file: str
    key: str
    actor: int
    bytes: int
    sha256: str
    tensors: dict[str, tuple[str, list[int]]]


class Manifest(msgspec.Struct):
    """What a run wrote."""

    run: dict[str, Any]
    shards: list[Shard]
    schema: str = "isoscope.shards/1"


@dataclass(slots=True)
class ShardWriter:
    """Writes outputs into a folder.

    Parameters
    ----------
    folder
        Where; made if it isn't there.
    overwrite
        Whether an earlier run's shards may be replaced. Nothing else is touched.

    Raises
    ------
    UsageError
        If something is there already, without `overwrite`, or it is no folder.
    WriteError
        If the folder can't be made or read.
    """

    folder: Path
    overwrite: bool = False
    shards: list[Shard] = field(default_factory=list)
    _counts: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        refuse_bad_folder(self.folder, overwrite=self.overwrite)

    def begin(self) -> None:
        """Make the folder, and clear away what an earlier run left in it."""
        try:
            self.folder.mkdir(exist_ok=True)
            # The manifest first: without it, nothing of the old run counts as whole.
            for old in (self.folder / MANIFEST, *sorted(self.folder.glob(NUMBERED))):
                old.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(f"writing {self.folder}: {_why(error)}") from None

    def write(self, key: str, actor: int, item: Any) -> Shard | None:
        """Write one output; None if there is nothing in it.

        Raises
        ------
        WriteError
            If that fails. There is no half-written shard then.
        """
        tensors, texts = flat(item)
        if not tensors:
            return None
        metadata = {"key": key, "actor": str(actor), **texts}
        content = _in_order(save(tensors, metadata=metadata))
        name = f"shard-{actor}-{self._counts[actor]:06d}.safetensors"
        self._counts[actor] += 1
        with new_file(self.folder / name, overwrite=self.overwrite) as file:
            file.write(content)
        shard = Shard(
            name,
            key,
            actor,
            len(content),
            hashlib.sha256(content).hexdigest(),
            {
                at: (str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
                for at, tensor in sorted(tensors.items())
            },
        )
        self.shards.append(shard)
        return shard

    def finish(self, run: Mapping[str, Any]) -> Path:
        """Write the manifest; what `run` says of the run goes into it."""
        path = self.folder / MANIFEST
        with new_file(path, overwrite=self.overwrite) as file:
            file.write(encode(Manifest(dict(run), self.shards), indent=2) + b"\n")
        return path


def refuse_bad_folder(folder: Path, *, overwrite: bool) -> None:
    """Say no, before any work is done, where a run may not be written."""
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"writing {folder}: this is no folder; name another")
        if folder.is_dir() and not overwrite and any(folder.iterdir()):
            raise UsageError(
                f"writing {folder}: there is something in it already; name another "
                "folder, or give --overwrite to replace an earlier run's shards"
            )
        if not folder.parent.is_dir():
            raise WriteError(f"writing {folder}: there is no folder {folder.parent}")
    except OSError as error:
        raise WriteError(f"writing {folder}: {_why(error)}") from None


def flat(item: Any) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Lay an output out: tensors by flat dotted key, and texts by key.

    Parameters
    ----------
    item
        A `Trajectory`, a micro-batch (a dict of tensors) or a list of episodes.

    Raises
    ------
    CollectionError
        If it is none of these.
    """
    texts: dict[str, str] = {}
    if isinstance(item, Trajectory):
        values: dict[str, Any] = {
            declared.name: getattr(item, declared.name)
            for declared in trajectory_fields()
        }
        texts["max_episode_length"] = str(item.max_episode_length)
        texts["model_weights_id"] = item.model_weights_id
    elif isinstance(item, dict):
        values = item
    elif isinstance(item, list):
        values = {"episodes": {str(at): _columns(ep) for at, ep in enumerate(item)}}
    else:
        raise CollectionError(
            f"writing an output: a {type(item).__name__} is none that is known"
        )
    tensors: dict[str, Tensor] = {}
    for key, value in _leaves(values, ""):
        if isinstance(value, str):
            texts[key] = value
        else:
            tensors[key] = torch.as_tensor(value).contiguous()
    return _apart(tensors), texts


def _in_order(content: bytes) -> bytes:
    """Sort a file's metadata, which the library writes in any order.

    Equal outputs then have equal checksums. A file begins with the length of its
    header, 8 bytes, and the header, JSON, which spaces may follow; offsets count from
    its end.
    """
    size = int.from_bytes(content[:HEADER], "little")
    header = json.loads(content[HEADER : HEADER + size])
    texts = header.pop("__metadata__", {})
    ordered = {"__metadata__": dict(sorted(texts.items())), **header}
    written = json.dumps(ordered, separators=(",", ":")).encode()
    written += b" " * (-len(written) % HEADER)
    return b"".join(
        (len(written).to_bytes(HEADER, "little"), written, content[HEADER + size :])
    )


def _columns(episode: list[dict[str, Any]]) -> dict[str, Any]:
    """An episode's frames by name: [frames, ...], and the task as one text."""
    columns: dict[str, Any] = {}
    for name in episode[0]:
        values = [frame[name] for frame in episode]
        same_text = isinstance(values[0], str) and len(set(values)) == 1
        columns[name] = values[0] if same_text else values
        if not isinstance(values[0], str):
            columns[name] = np.stack(values)
        elif not same_text:
            columns[name] = {str(at): text for at, text in enumerate(values)}
    return columns


def _leaves(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        for name, value in values.items():
            inner = str(name).replace("::", ".")
            yield from _leaves(value, f"{prefix}.{inner}" if prefix else inner)
    elif values is not None:
        yield prefix, values


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy what shares memory with another: a file holds each by itself."""
    seen: set[int] = set()
    for key, tensor in tensors.items():
        memory = tensor.untyped_storage().data_ptr()
        if memory in seen:
            tensors[key] = tensor.clone()
        seen.add(memory)
    return tensors


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
