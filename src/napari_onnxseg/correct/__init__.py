"""What people do with a prediction: look at it, mend it, measure it, learn from it."""
