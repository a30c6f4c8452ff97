"""Who of the recording's cast an entity is (appendix A, naming; spec 9.19)."""
