"""Reading the memory: from a question and a time to evidence and an answer."""
