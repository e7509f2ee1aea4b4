"""Snapshots as bytes: back and forth, and nothing else gets in."""

from __future__ import annotations

import hashlib
import struct

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.model.spec import Model
from isoscope.gpu.scene import snapshot_bytes
from isoscope.gpu.scene.errors import SnapshotError
from tests.gpu.scene.models import (
    H,
    bits,
    cartpole,
    crate,
    everything,
    scatter,
    scene_of,
)

SCENE = scene_of(cartpole(), 3)
scatter(SCENE)
SCENE.step(H)
HANDLE = SCENE.capture()
WHOLE = SCENE.state_to_bytes(HANDLE)


def refused(data: object, problem: str) -> None:
    before = SCENE.capture()
    with pytest.raises(SnapshotError, match=problem):
        SCENE.state_from_bytes(data)  # type: ignore[arg-type]
    assert SCENE.is_equal(before, SCENE.capture())


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_they_come_back_as_they_went_also_into_another_scene(precision: str) -> None:
    scene = scene_of(everything(), 5, precision=precision)
    other = scene_of(everything(), 5, precision=precision)
    scatter(scene)
    scene.set_link_wrenches(1, np.ones((5, 1, 6)))
    scene.set_dof_forces(0, np.ones((5, 2)))
    scene.step(H)
    handle = scene.capture()
    data = scene.state_to_bytes(handle)
    assert scene.state_to_bytes(scene.state_from_bytes(data)) == data
    assert scene.is_equal(handle, scene.state_from_bytes(data))
    other.restore(other.state_from_bytes(bytearray(data)))
    for _ in range(3):
        scene.step(H)
        other.step(H)
    assert bits(scene) == bits(other)
    assert scene.time_s.tobytes() == other.time_s.tobytes()


def test_nan_survives() -> None:
    scene = scene_of(cartpole())
    scene.set_state(0, np.array([[np.nan, -np.inf]]), np.array([[-0.0, 1e-42]]))
    handle = scene.capture()
    assert scene.is_equal(handle, scene.state_from_bytes(scene.state_to_bytes(handle)))


@given(st.integers(0, len(WHOLE) - 1))
def test_cut_ones_are_refused(length: int) -> None:
    refused(WHOLE[:length], "is cut|no snapshot of Isoscope")


@given(st.binary(min_size=1, max_size=100))
def test_over_long_ones_are_refused(more: bytes) -> None:
    refused(WHOLE + more, f"{len(more)} bytes follow its end")


def test_two_in_one_are_refused() -> None:
    refused(WHOLE + WHOLE, "pass exactly one")


@settings(max_examples=200)
@given(st.integers(0, 8 * len(WHOLE) - 1))
def test_no_flipped_bit_gets_in(place: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[place // 8] ^= 1 << place % 8
    refused(bytes(damaged), "reading a snapshot into scene cartpole")


@given(st.binary(max_size=300))
def test_anything_else_is_refused(data: bytes) -> None:
    refused(data, "no snapshot of Isoscope|is cut")


@pytest.mark.parametrize("data", [None, "text", 5, [1, 2]])
def test_what_is_no_bytes_is_refused(data: object) -> None:
    refused(data, "are no bytes")


@given(st.binary(max_size=300))
def test_a_sealed_body_of_nonsense_is_refused(data: bytes) -> None:
    prefix = struct.pack("<8sIIQ", b"ISOSTATE", 1, len(data), 0)
    refused(sealed(prefix + data), "its header can't be read|of another|gives another")


def test_foreign_ones_are_refused_with_what_is_foreign() -> None:
    other_build = msgspec.structs.replace(SCENE._header, engine="isoscope 0 (torch 1)")
    state = SCENE.ledger.to_host(SCENE._state.storage, "test").tobytes()
    engine = snapshot_bytes.encode(other_build, state)
    refused(engine, "another engine or build: isoscope 0")
    for scene, problem in (
        (scene_of(cartpole(), 3, precision="float64"), "another precision: float64"),
        (scene_of(cartpole(), 4), "another number of worlds: 4, here 3"),
        (scene_of(everything(), 3), "another topology"),
        (scene_of(Model(name="cartpole", actors=(crate(),)), 3), "another topology"),
    ):
        refused(scene.state_to_bytes(scene.capture()), problem)


def test_another_mass_is_no_other_topology() -> None:
    scene = scene_of(cartpole(), 3)
    scene.configure("mass", np.array([1.0, 2.0]))
    scene.restore(scene.state_from_bytes(WHOLE))
    assert bits(scene) == bits(SCENE)


def test_another_version_of_the_form_is_refused() -> None:
    changed = bytearray(WHOLE[:-32])
    changed[8] = 9
    refused(sealed(bytes(changed)), "its form is version 9")


def test_a_truth_value_that_is_none_is_refused() -> None:
    header = SCENE._header
    state = bytearray(SCENE.ledger.to_host(SCENE._state.storage, "test").tobytes())
    section = next(s for s in SCENE._layout.sections if s.dtype is torch.bool)
    state[section.start] = 2
    refused(snapshot_bytes.encode(header, bytes(state)), "neither 0 nor 1")


def test_what_lies_between_the_arrays_does_not_count() -> None:
    header, layout = SCENE._header, SCENE._layout
    state = bytearray(SCENE.ledger.to_host(SCENE._state.storage, "test").tobytes())
    gaps = [
        place
        for place in range(layout.total_bytes)
        if not any(s.start <= place < s.end for s in layout.sections)
    ]
    assert gaps
    for place in gaps:
        state[place] = 7
    handle = SCENE.state_from_bytes(snapshot_bytes.encode(header, bytes(state)))
    assert SCENE.is_equal(HANDLE, handle)
