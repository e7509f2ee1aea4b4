"""Checkpoints on disk: the same bits again, or refused in one line."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path  # noqa: TC003 hypothesis looks the annotation up
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save

from isoscope.core.errors import IsoscopeError, ReadError, UsageError
from isoscope.core.replay.checkpoint.bundle import (
    KEY,
    is_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from isoscope.core.replay.checkpoint.model import (
    DTYPES,
    PARTS,
    Checkpoint,
    CheckpointError,
    Part,
    part,
)
from tests.core.replay.checkpoint.policies import layered, recurrent

keys = st.text("abcXYZ019_./-", min_size=1, max_size=12)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=6,
)
arrays = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: hnp.arrays(np.dtype(name), hnp.array_shapes(min_dims=0, max_side=4))
)
parts = st.builds(
    part,
    keys,
    st.dictionaries(keys, plain, max_size=3),
    st.dictionaries(keys, arrays, max_size=3),
)
whole = st.dictionaries(st.sampled_from(PARTS), parts, min_size=1).map(Checkpoint)


@settings(max_examples=60)
@given(checkpoint=whole)
def test_the_same_bits_again(
    tmp_path_factory: pytest.TempPathFactory, checkpoint: Checkpoint
) -> None:
    path = tmp_path_factory.mktemp("kept") / "x.policy.safetensors"
    write_checkpoint(path, checkpoint)
    again = read_checkpoint(path)
    assert again.parts.keys() == checkpoint.parts.keys()
    for name, one in checkpoint.parts.items():
        assert again.parts[name].same(one)
    assert is_checkpoint(path)


def test_tensors_of_torch(tmp_path: Path) -> None:
    weights = torch.nn.Linear(3, 2)
    made = part("mlp", {}, dict(weights.state_dict()))
    assert np.array_equal(made.tensors["weight"], weights.weight.detach().numpy())
    write_checkpoint(tmp_path / "x.safetensors", Checkpoint({"policy": made}))
    with pytest.raises(CheckpointError, match="bfloat16"):
        part("mlp", {}, {"w": torch.zeros(2, dtype=torch.bfloat16)})


@pytest.mark.parametrize(
    "wrong",
    [
        Checkpoint({}),
        Checkpoint({"brain": Part("mlp")}),
        Checkpoint({"policy": Part("")}),
        Checkpoint({"policy": Part("mlp", {}, {"w": np.array(["a"])})}),
        Checkpoint({"policy": Part("mlp", {}, {"w w": np.zeros(1)})}),
    ],
)
def test_not_written(tmp_path: Path, wrong: Checkpoint) -> None:
    with pytest.raises(CheckpointError) as told:
        write_checkpoint(tmp_path / "x.safetensors", wrong)
    assert "\n" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    write_checkpoint(path, recurrent())
    before = path.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        write_checkpoint(path, recurrent(1))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(IsoscopeError, match="no space left"):
        write_checkpoint(path, recurrent(1), overwrite=True)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.safetensors"]


# -- hostile files ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "x.safetensors"
    return write_checkpoint(path, layered()).read_bytes()


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ReadError) as told:
        read_checkpoint(path)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 600
    return str(told.value)


def test_cut_anywhere(tmp_path: Path, good: bytes) -> None:
    for stop in range(0, len(good), max(1, len(good) // 60)):
        refused(tmp_path / "x", good[:stop])
    refused(tmp_path / "x", good + b"more")


@given(at=st.integers(0, 10**6), bits=st.integers(1, 255))
def test_any_byte_of_the_header_changed(
    tmp_path_factory: pytest.TempPathFactory, good: bytes, at: int, bits: int
) -> None:
    """It is refused, or still a checkpoint of known parts; never anything else."""
    head = 8 + int.from_bytes(good[:8], "little")
    changed = bytearray(good)
    changed[at % head] ^= bits
    path = tmp_path_factory.mktemp("changed") / "x"
    path.write_bytes(changed)
    try:
        found = read_checkpoint(path)
    except IsoscopeError:
        return
    assert set(found.parts) <= set(PARTS)


@given(content=st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    refused(tmp_path_factory.mktemp("any") / "x", content)


class Bomb:
    def __reduce__(self) -> Any:
        return (print, ("run",))


def test_a_pickle_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = io.BytesIO()
    torch.save({"w": torch.zeros(2)}, saved)
    for content in (pickle.dumps(Bomb(), 4), saved.getvalue()):
        assert "can run code" in refused(tmp_path / "x.safetensors", content)
    assert "run" not in capsys.readouterr().out


def told_otherwise(good: bytes, change: Any) -> bytes:
    """The good file with another manifest."""
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    manifest = json.loads(header["__metadata__"][KEY])
    change(manifest)
    header["__metadata__"][KEY] = json.dumps(manifest)
    told = json.dumps(header).encode()
    return len(told).to_bytes(8, "little") + told + good[8 + length :]


def test_a_manifest_that_tells_otherwise(tmp_path: Path, good: bytes) -> None:
    policy = "policy"

    def another_shape(m: Any) -> None:
        m["parts"][policy]["tensors"]["one.bias"]["shape"] = [5]

    def another_dtype(m: Any) -> None:
        m["parts"][policy]["tensors"]["one.bias"]["dtype"] = "float32"

    def one_missing(m: Any) -> None:
        del m["parts"][policy]["tensors"]["one.bias"]

    def one_more(m: Any) -> None:
        m["parts"][policy]["tensors"]["x"] = {"dtype": "float32", "shape": [1]}

    def another_part(m: Any) -> None:
        m["parts"]["brain"] = {"kind": "mlp", "settings": {}, "tensors": {}}

    def another_schema(m: Any) -> None:
        m["schema"] = "isoscope.policy/2"

    def another_space(m: Any) -> None:
        m["action"] = {"size": 2, "low": [1.0], "high": None}

    changes = (another_shape, another_dtype, one_missing, one_more)
    for change in (*changes, another_part, another_schema, another_space):
        refused(tmp_path / "x", told_otherwise(good, change))


def test_other_safetensors(tmp_path: Path) -> None:
    content = save({"w": np.zeros(3, np.float32)})
    assert "no checkpoint" in refused(tmp_path / "x", content)
    assert not is_checkpoint(tmp_path / "x")
    with pytest.raises(ReadError):
        read_checkpoint(tmp_path / "nowhere")
    with pytest.raises(ReadError):
        read_checkpoint(tmp_path)
