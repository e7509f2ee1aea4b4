"""Dynamics of articulated bodies, by code made for each tree."""
