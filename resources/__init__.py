"""What the assets are handed: the store, model files, and one folder a role."""
