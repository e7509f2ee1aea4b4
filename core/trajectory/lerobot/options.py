"""How frames are recorded: strictly, or as RLinf does, each difference by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.settings import lookup

if TYPE_CHECKING:
    from collections.abc import Callable

UNKNOWN_TASK = "unknown task"
SECTION = "algorithm.dagger.online_lerobot"


class Pairing(StrEnum):
    """Which observation goes with which action.

    Attributes
    ----------
    PAIRS
        Frame t holds the observation that action t answered, (o_t, a_t). A frame keeps
        its own info: its flags, its success, and the expert action of its own slot.
    LEGACY
        What RLinf records for chunks without a mask: the observation *after* the
        action, except for the first frame of an episode that began by an automatic
        reset, which takes the reset's observation and info; (o_0, a_0), (o_2, a_1),
        (o_3, a_2) and so on.
    """

    PAIRS = "pairs"
    LEGACY = "legacy"


class Images(StrEnum):
    """What becomes of images that are not uint8, height x width x channels.

    Attributes
    ----------
    UINT8
        They are refused.
    SCALE
        Times 255 if no value is above 1, else as they are; truncated. Whether an image
        is on the unit scale is a guess: a dark one on the byte scale looks the same.
    """

    UINT8 = "uint8"
    SCALE = "scale"


class MissingState(StrEnum):
    """What becomes of an observation without a state: refused, or no frame."""

    REFUSE = "refuse"
    DROP = "drop"


class Frameless(StrEnum):
    """What a finishing step that gives no frame does to its episode.

    Attributes
    ----------
    CLOSE
        The episode ends with the frame before.
    LEAVE_OPEN
        The episode runs into the next one, as in RLinf.
    """

    CLOSE = "close"
    LEAVE_OPEN = "leave_open"


_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class LeRobotOptions:
    """The choices; the defaults never guess.

    Attributes
    ----------
    pairing
        Which observation goes with which action.
    missing_task
        The text to record where an observation names no task; None refuses it.
    images
        What becomes of images that are not uint8.
    missing_state
        What becomes of an observation without a state.
    frameless
        What a finishing step that gives no frame does to its episode.
    """

    pairing: Pairing = Pairing.PAIRS
    missing_task: str | None = None
    images: Images = Images.UINT8
    missing_state: MissingState = MissingState.REFUSE
    frameless: Frameless = Frameless.CLOSE

    @classmethod
    def rlinf(cls) -> LeRobotOptions:
        """Record what RLinf records."""
        return cls(
            pairing=Pairing.LEGACY,
            missing_task=UNKNOWN_TASK,
            images=Images.SCALE,
            missing_state=MissingState.DROP,
            frameless=Frameless.LEAVE_OPEN,
        )

    @classmethod
    def from_cfg(cls, cfg: Any) -> LeRobotOptions:
        """Read them from a run's configuration.

        The section ``algorithm.dagger.online_lerobot`` may hold ``compatibility:
        rlinf``, which sets all of them, and any attribute of this class by its name.

        Raises
        ------
        TrajectoryValueError
            If a choice is not one of those there are; the message lists them.
        """
        compatibility = lookup(cfg, f"{SECTION}.compatibility", None)
        if compatibility not in (None, "rlinf"):
            raise TrajectoryValueError(
                f"reading the run's configuration: {SECTION}.compatibility is "
                f"{compatibility!r}; leave it out or choose rlinf"
            )
        options = cls.rlinf() if compatibility else cls()
        readers: dict[str, Callable[[Any], Any]] = {
            "pairing": lambda value: _choice(Pairing, "pairing", value),
            "missing_task": str,
            "images": lambda value: _choice(Images, "images", value),
            "missing_state": lambda value: _choice(
                MissingState, "missing_state", value
            ),
            "frameless": lambda value: _choice(Frameless, "frameless", value),
        }
        for name, read in readers.items():
            value = lookup(cfg, f"{SECTION}.{name}", None)
            if value is not None:
                options = replace(options, **{name: read(value)})
        return options


def _choice(kind: type[_Choice], name: str, value: Any) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        raise TrajectoryValueError(
            f"reading the run's configuration: {SECTION}.{name} is {value!r}; "
            f"choose one of {', '.join(kind)}"
        ) from None
