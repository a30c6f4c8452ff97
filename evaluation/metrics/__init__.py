"""Scores of predictions against truth."""
