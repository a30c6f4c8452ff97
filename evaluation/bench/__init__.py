"""Speed benchmarks, each against a plain implementation in the same run."""
