"""Topics and events followed through the captions (spec 3; MAGIC's narrative memory chain)."""
