"""The demonstration recording: a rendered video with its truth, and the score against it."""
