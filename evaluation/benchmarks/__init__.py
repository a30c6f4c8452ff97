"""Loaders of the benchmarks' released files. Nothing is fetched; the files are the user's."""
