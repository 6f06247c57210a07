"""The napari door: dock widgets, worker and layers."""
