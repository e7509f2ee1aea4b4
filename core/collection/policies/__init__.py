"""Policies that come with the program; `base` says what one has to do."""
