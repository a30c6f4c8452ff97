"""Episodes: captions of 30 s, 3 min, 10 min and 1 h on the recording clock."""
