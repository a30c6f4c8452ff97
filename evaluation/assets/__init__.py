"""The assets of the benchmarks: what was answered, and what it is worth."""
