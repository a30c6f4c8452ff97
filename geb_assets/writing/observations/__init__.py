"""Tracks become encounters (paper appendix A "Video units and tracks"; spec 6, 9.1-9.9)."""
