"""What a timeline shows, worked out without any drawing: lanes, bins, ticks, words."""
