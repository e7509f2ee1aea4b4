"""The Transport: playing, stepping, speed, loop, which time, and where we are.

`panel` has the bar, `ticker` the timer that drives the clock, `readout` the numbers.
"""
