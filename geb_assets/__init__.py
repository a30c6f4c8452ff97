"""Grounded Entity Biographies: a long-video memory organised by physical identity."""
