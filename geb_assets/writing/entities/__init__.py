"""Entities: which observations are encounters with one physical instance."""
