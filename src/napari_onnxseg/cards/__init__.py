"""What a model is: one card, whoever described it."""
