"""Settings and their defaults. Read once, at the edge, and passed down as values."""
