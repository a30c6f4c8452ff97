"""The graph: entities, observations, episodes and clips, joined by what they share."""
