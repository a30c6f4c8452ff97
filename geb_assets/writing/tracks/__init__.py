"""One subject inside one clip (paper appendix A; spec 7)."""
