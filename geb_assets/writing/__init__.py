"""Writing the memory: from video and lines to entities and the graph."""
