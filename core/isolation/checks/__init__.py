"""The checks, one module each; `isoscope.core.isolation.registry` lists them."""
