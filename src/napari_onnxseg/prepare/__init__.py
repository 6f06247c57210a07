"""Pixels to network input: channels, normalisation, statistics, resampling."""
