"""Where a viewer looks, in napari before and since 0.9."""


def camera_of(viewer):
    """Return the camera."""
    return viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera


def set_canvas_size(viewer, size):
    """Give a viewer without a window a canvas of (rows, columns) screen pixels."""
    if hasattr(viewer, "canvas"):
        viewer.canvas.size = size
    else:
        viewer._canvas_size = size
