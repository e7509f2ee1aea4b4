"""Exporters: each writes episodes in one dataset format, streamed, whole or not at all.

`run.export` is what to call; `registry` lists the formats.
"""
