"""Where to look: regions, tiles and how their results are put together."""
