"""Scores to meaning: labels, confidence, objects, alpha mattes."""
