"""Narration and dialogue: lines read from the files people have, on the recording clock."""
