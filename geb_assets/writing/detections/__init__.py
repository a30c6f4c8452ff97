"""Boxes in sampled frames (paper appendix A, video units; spec 7)."""
