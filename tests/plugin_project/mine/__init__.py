"""A pass and a kernel of one's own."""
