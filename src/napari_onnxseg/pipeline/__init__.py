"""The story in order: from an image and a job to a result."""
