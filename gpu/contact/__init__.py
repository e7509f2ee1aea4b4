"""Contact of planes, spheres, boxes and capsules: points, forces, wrenches on links."""
