"""What is simulated: links, joints, drives and shapes; from JSON and MJCF."""
