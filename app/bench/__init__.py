"""What ``isoscope bench`` measures, one benchmark a file."""
