"""What Isoscope knows: recordings, clocks, attribution; no Qt, no OpenGL."""
