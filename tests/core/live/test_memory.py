"""How much of a watched run is in memory, in words that are true."""

from __future__ import annotations

from isoscope.core.live.memory import MIB, Memory
from isoscope.widgets.costs.words import memory_words


def test_a_half_that_is_full_explains_rows_in_the_file_below_the_cap() -> None:
    memory = Memory(89 * MIB, 128 * MIB, 4_000)
    assert memory.words == "89 of 128 MiB, a half of it full"
    assert memory_words(memory, "native step") == (
        "In memory: 89 of 128 MiB, a half of it full; native steps before 4,000 in the "
        "file"
    )


def test_nothing_is_said_of_halves_while_all_or_none_is_full() -> None:
    assert Memory(89 * MIB, 128 * MIB).words == "89 of 128 MiB"
    assert Memory(128 * MIB, 128 * MIB, 4_000).words == "128 of 128 MiB"
    assert Memory(3 * MIB // 2, 4 * MIB).words == "1.5 of 4 MiB"
