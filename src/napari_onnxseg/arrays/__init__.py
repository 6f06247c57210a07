"""Images in and results out: arrays, stacks and files."""
