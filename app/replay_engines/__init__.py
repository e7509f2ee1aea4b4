"""The engines that recordings can be stepped again on; `choosing` has the one door."""

from isoscope.app.replay_engines.choosing import EngineOptions, engine_maker

__all__ = ["EngineOptions", "engine_maker"]
