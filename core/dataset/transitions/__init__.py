"""Transitions out of recordings: of episodes, by the rule of whoever recorded them."""
