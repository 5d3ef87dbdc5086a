"""The proof for every K: see `certificate` for the theorem."""
