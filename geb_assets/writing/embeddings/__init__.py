"""Identity and text vectors of encounters (paper 3.3; spec 9.12)."""
