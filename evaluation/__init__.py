"""Benchmarks, ablations and the confidence intervals of what they report."""
