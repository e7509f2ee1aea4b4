"""The parts behind :mod:`isoscope.gpu.linear_solver`."""
