"""OpenGL through vispy's gloo: one program for all bodies, one for all strokes.

A visual a body would cost a draw call each: 300 boxes as vispy Mesh visuals took 0.4 s
a frame on a software renderer. Here every body's triangles lie in one buffer, each
corner knows its actor's number, and a small texture holds a transform and a colour an
actor. Moving the cursor uploads that texture and the deformable surfaces, nothing else.

Single precision begins here: positions are taken relative to an origin in the middle of
the scene before they are rounded, so that a scene far from the world's origin does not
jitter.
"""
