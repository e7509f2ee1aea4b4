"""MJCF, MuJoCo's model files: the common subset, with a clear word about the rest.

What the elements and attributes mean is in MuJoCo's documentation, "XML Reference" and
"Modeling".
"""
