"""The 3D view: what is where at the cursor (pure), and how it is drawn (OpenGL).

From the recording and the cursor's row to the picture::

    shapes    what never changes: meshes, kinds, creation transforms  (once an actor)
    resolve   where all of it is in one row, as a frozen SceneState     (each seek)
    draw/     the state's numbers to the graphics card, and the frame   (each frame)
    panel     the widget around it: toolbar, caption, camera, picking

`shapes`, `resolve` and what they use need neither Qt nor OpenGL.
Axis order: transforms are [n, 3, 4], row-major, ``world = m[:, :3] @ local + m[:, 3]``;
positions are [n, 3] in metres; colours are sRGB in 0..1.
"""
