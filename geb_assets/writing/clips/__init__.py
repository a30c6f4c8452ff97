"""Video units: clips on the clock's grid and their sampled frames (paper 3.1, appendix A)."""
