"""The timeline's colours as 32-bit pixels, made once a theme."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.chunks import ChunkLook
from isoscope.core.timeline.owners import OWNER_COLOURS
from isoscope.core.timeline.pieces import StepLook
from isoscope.widgets.look import blend
from isoscope.widgets.theme import Tokens, tokens

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

HELD = 0.3  # how far a waiting item's colour goes towards the background
PALE = 0.72


def argb(colour: str) -> int:
    """An opaque pixel, 0xAARRGGBB, of a colour ``"#rrggbb"``."""
    return 0xFF000000 | int(colour[1:7], 16)


def mix(colour: str, other: str, share: float) -> str:
    """Go from one colour towards the other by this share, 0 .. 1."""
    return blend(colour, other, share).name()


@dataclass(frozen=True, eq=False, slots=True)
class Fill:
    """Pixels of a lane's items: at work, waiting, pale, lines; and ink for numbers."""

    active: int
    held: int
    pale: int
    line: int
    ink_active: str
    ink_held: str


@dataclass(frozen=True, eq=False)
class Palette:
    """Pixels of one theme.

    Attributes
    ----------
    owners
        uint32 [OWNER_COLOURS + 1]: each environment colour, then the unknown owner's.
    steps
        uint32 [256], by the bits of `StepLook` that a column holds.
    chunks
        Colour of a chunk by how far it is; one whose halves differ has two.
    """

    theme: Tokens
    owners: Array
    steps: Array
    hatch: int
    taint: int
    residual: int
    chunks: dict[ChunkLook, str] = field(default_factory=dict)

    def chunk_ink(self, look: int) -> str:
        """Ink that can be read on a chunk of this look."""
        filled = self.chunks.get(ChunkLook(look)) if look in (1, 2) else None
        return self.theme.text if filled is None else _legible(filled, self.theme)

    def fill(self, env: int | None) -> Fill:
        """The pixels of an environment's items; None is a neutral lane."""
        return _fill(self.theme, None if env is None else self.theme.environment(env))


@lru_cache(maxsize=64)
def _fill(theme: Tokens, colour: str | None) -> Fill:
    colour = colour or mix(theme.dim, theme.accent, 0.35)
    held = mix(colour, theme.panel, HELD)
    return Fill(
        active=argb(colour),
        held=argb(held),
        pale=argb(mix(colour, theme.panel, PALE)),
        line=argb(colour),
        ink_active=_legible(colour, theme),
        ink_held=_legible(held, theme),
    )


def luminance(colour: str) -> float:
    """Relative luminance, 0 .. 1, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 .. 21, as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=256)
def _legible(ground: str, theme: Tokens) -> str:
    return max((theme.panel, theme.text), key=lambda ink: contrast(ink, ground))


@lru_cache(maxsize=4)
def palette(theme_name: str) -> Palette:
    """The pixels of the theme of this name."""
    theme = tokens(theme_name)
    owners = [argb(theme.environment(e)) for e in range(OWNER_COLOURS)]
    owners.append(argb(mix(theme.dim, theme.panel, 0.3)))
    looks = {
        0: theme.panel,
        StepLook.USUAL: mix(theme.dim, theme.panel, 0.45),
        StepLook.LONGER: theme.accent,
        StepLook.SHORTER: theme.accent,
        StepLook.TINY: theme.text,
        StepLook.ABSENT: theme.faint,
        StepLook.ZERO: theme.warning,
    }
    steps = np.zeros(256, np.uint32)
    for bits in range(256):
        # the highest look in the column; a bit beyond the known ones has no colour
        highest = 1 << (bits.bit_length() - 1) if bits else 0
        if highest in looks:
            steps[bits] = argb(looks[highest])
    return Palette(
        theme=theme,
        owners=np.array(owners, np.uint32),
        steps=steps,
        hatch=argb(theme.faint),
        taint=argb(theme.error),
        residual=argb(mix(theme.dim, theme.accent, 0.5)),
        chunks={
            ChunkLook.FLUSHED: mix(theme.ok, theme.panel, 0.5),
            ChunkLook.JOINED: theme.ok,
            ChunkLook.POLICY: theme.environment(3),
            ChunkLook.ENV: theme.environment(1),
            ChunkLook.FAILED: theme.error,
        },
    )
