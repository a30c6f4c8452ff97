"""What the assets are handed: the Delta store, model files, and one folder a role."""
