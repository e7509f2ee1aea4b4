"""The ledger of copies: each is booked once, under its cause and in its step."""

from __future__ import annotations

import json
import threading

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu import transfer
from isoscope.gpu.errors import TransferError
from isoscope.gpu.traffic import Traffic
from isoscope.gpu.transfer import MAX_CAUSES, Ledger

CPU = torch.device("cpu")


def test_to_host_is_an_owned_copy() -> None:
    ledger = Ledger()
    tensor = torch.arange(6, dtype=torch.float64).view(2, 3)
    array = ledger.to_host(tensor.t(), "observation")
    tensor.zero_()
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert ledger.totals() == Traffic(d2h_bytes=48, d2h_copies=1, syncs=1)


def test_to_host_of_a_tensor_in_a_graph() -> None:
    tensor = torch.ones(2, requires_grad=True) * 3
    assert Ledger().to_host(tensor, "view").tolist() == [3.0, 3.0]


def test_to_device_is_an_owned_copy_of_what_crosses() -> None:
    ledger = Ledger()
    array = np.array([1.0, 2.0])
    tensor = ledger.to_device(array, CPU, torch.float32, "action")
    array[:] = 0
    assert tensor.tolist() == [1.0, 2.0]
    assert tensor.dtype == torch.float32
    kept = ledger.to_device(array, CPU, None, "action")
    array[:] = 9
    assert kept.tolist() == [0.0, 0.0]
    assert ledger.totals() == Traffic(h2d_bytes=8 + 16, h2d_copies=2)


def test_to_device_of_a_reversed_or_read_only_array() -> None:
    array = np.arange(3.0)[::-1]
    array.flags.writeable = False
    assert Ledger().to_device(array, CPU, None, "action").tolist() == [2.0, 1.0, 0.0]


def test_large_copies_to_the_device_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PINNED_LIMIT_BYTES", 8)
    ledger = Ledger()
    ledger.to_device([1.0, 2.0], CPU, torch.float32, "action")
    assert ledger.totals().syncs == 0
    ledger.to_device([1.0, 2.0], CPU, torch.float64, "action")
    assert ledger.totals() == Traffic(h2d_bytes=24, h2d_copies=2, syncs=1)


def test_copies_within_the_device() -> None:
    ledger = Ledger()
    target = torch.zeros(3, dtype=torch.float64)
    ledger.copy(target, torch.arange(3, dtype=torch.float64), "snapshot")
    assert target.tolist() == [0.0, 1.0, 2.0]
    assert ledger.totals() == Traffic(d2d_bytes=24, d2d_copies=1)


def test_waits_are_booked() -> None:
    ledger = Ledger()
    ledger.synchronize(CPU, "timing")
    assert ledger.read_flag(torch.tensor([1.0]).any(), "solver-status")
    assert ledger.by_cause() == {
        "timing": Traffic(syncs=1),
        "solver-status": Traffic(d2h_bytes=1, d2h_copies=1, syncs=1),
    }


def test_a_nested_copy_is_booked_once() -> None:
    ledger = Ledger()
    with ledger.copying("d2h", 100, "snapshot", syncs=1):
        ledger.to_host(torch.zeros(4), "view")
        with ledger.copying("d2d", 5, "other copy"):
            ledger.synchronize(CPU, "timing")
    assert ledger.by_cause() == {
        "snapshot": Traffic(d2h_bytes=100, d2h_copies=1, syncs=1)
    }
    ledger.to_host(torch.zeros(1), "view")
    assert ledger.by_cause()["view"].d2h_bytes == 4


def test_the_outermost_scope_names_the_cause() -> None:
    ledger = Ledger()
    with ledger.scope("snapshot"):
        ledger.to_host(torch.zeros(1), "view")
        with ledger.scope("observation"):
            ledger.to_device([1.0], CPU, torch.float32, "action")
    ledger.to_host(torch.zeros(2), "view")
    assert ledger.by_cause() == {
        "snapshot": Traffic(
            h2d_bytes=4, h2d_copies=1, d2h_bytes=4, d2h_copies=1, syncs=1
        ),
        "view": Traffic(d2h_bytes=8, d2h_copies=1, syncs=1),
    }


def test_what_fails_is_not_booked() -> None:
    ledger = Ledger()
    with pytest.raises(TransferError, match=r"copying snapshot: .*\[2\].*\[3\]"):
        ledger.copy(torch.zeros(3), torch.zeros(2), "snapshot")
    with pytest.raises(TransferError, match="copying view to the host"):
        ledger.to_host(torch.zeros(2, dtype=torch.bfloat16), "view")
    for bad in (["a", "b"], [[1.0], [2.0, 3.0]], [None]):
        with pytest.raises(TransferError, match="copying action to cpu"):
            ledger.to_device(bad, CPU, torch.float32, "action")
    with pytest.raises(ValueError, match="inside"), ledger.copying("d2h", 1, "view"):
        raise ValueError("inside")
    assert ledger.totals() == Traffic()
    ledger.to_host(torch.zeros(1), "view")
    assert ledger.totals().d2h_copies == 1


def test_steps_have_their_own_sums() -> None:
    ledger = Ledger()
    assert ledger.last_step() is None
    with ledger.step():
        ledger.to_device([0.0], CPU, torch.float32, "action")
    ledger.to_host(torch.zeros(8), "view")
    first = ledger.last_step()
    with ledger.step():
        pass
    last = ledger.last_step()
    assert first is not None
    assert last is not None
    assert (first.index, last.index, ledger.steps) == (0, 1, 2)
    assert first.by_cause == {"action": Traffic(h2d_bytes=4, h2d_copies=1)}
    assert first.total == first.by_cause["action"]
    assert last.total == Traffic()
    assert last.by_cause == {}
    assert ledger.totals().d2h_bytes == 32


def test_steps_in_disorder() -> None:
    ledger = Ledger()
    with pytest.raises(TransferError, match="ends that never began"):
        ledger.end_step()
    ledger.begin_step()
    with pytest.raises(TransferError, match="native step 0 has not ended"):
        ledger.begin_step()
    assert ledger.end_step().index == 0


def test_the_report_has_the_keys_of_the_schema() -> None:
    ledger = Ledger()
    ledger.to_host(torch.zeros(1), "view")
    report = json.loads(msgspec.json.encode(ledger.report()))
    by_cause = report.pop("by_cause")
    assert report == {"h2d_bytes": 0, "d2h_bytes": 4, "d2d_bytes": 0, "syncs": 1}
    assert by_cause["view"]["d2h_copies"] == 1


def test_memory_is_bounded_and_nothing_is_lost() -> None:
    ledger = Ledger()
    with ledger.step():
        for k in range(MAX_CAUSES + 100):
            ledger.synchronize(CPU, f"cause {k}")
    by_cause = ledger.by_cause()
    assert len(by_cause) == MAX_CAUSES
    assert by_cause["other"].syncs == 101
    assert ledger.totals().syncs == MAX_CAUSES + 100
    last = ledger.last_step()
    assert last is not None
    assert len(last.by_cause) == MAX_CAUSES


def test_threads_book_side_by_side() -> None:
    ledger = Ledger()

    def work(cause: str) -> None:
        for _ in range(200):
            with ledger.scope(cause):
                ledger.to_host(torch.zeros(1), "inner")

    threads = [threading.Thread(target=work, args=(f"t{k}",)) for k in range(4)]
    with ledger.step():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert ledger.by_cause() == {
        f"t{k}": Traffic(d2h_bytes=800, d2h_copies=200, syncs=200) for k in range(4)
    }
    last = ledger.last_step()
    assert last is not None
    assert last.total == ledger.totals()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["in", "out", "within", "wait", "step"]),
            st.integers(0, 20),
            st.sampled_from(["view", "action"]),
        )
    )
)
def test_totals_are_the_sums_of_causes_and_copies(
    jobs: list[tuple[str, int, str]],
) -> None:
    ledger = Ledger()
    expected = Traffic()
    for kind, size, cause in jobs:
        tensor = torch.zeros(size)
        if kind == "in":
            ledger.to_device(np.zeros(size), CPU, torch.float32, cause)
            expected += Traffic(h2d_bytes=4 * size, h2d_copies=1)
        elif kind == "out":
            ledger.to_host(tensor, cause)
            expected += Traffic(d2h_bytes=4 * size, d2h_copies=1, syncs=1)
        elif kind == "within":
            ledger.copy(tensor, tensor.clone(), cause)
            expected += Traffic(d2d_bytes=4 * size, d2d_copies=1)
        elif kind == "wait":
            ledger.synchronize(CPU, cause)
            expected += Traffic(syncs=1)
        else:
            with ledger.step():
                pass
    assert ledger.totals() == expected
    assert sum(ledger.by_cause().values(), Traffic()) == expected


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_books_what_a_cpu_books() -> None:
    books = []
    for device in (CPU, torch.device("cuda", 0)):
        ledger = Ledger()
        tensor = ledger.to_device(np.arange(5.0), device, torch.float32, "action")
        ledger.copy(tensor, tensor + 1, "snapshot")
        assert ledger.to_host(tensor, "view").tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert ledger.read_flag(tensor.any(), "solver-status")
        ledger.synchronize(device, "timing")
        books.append(ledger.by_cause())
    assert books[0] == books[1]
