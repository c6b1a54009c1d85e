"""Settings and their defaults, read once at the edge and passed down as values."""
