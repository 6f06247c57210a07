"""The faults a user can meet, each also the fitting built-in exception.

Messages are one sentence for the person at the microscope: what is wrong, what was
given, what is allowed, what to do.
"""


class OnnxSegError(Exception):
    """Any fault that this package raises on purpose."""


class ImageError(OnnxSegError, ValueError):
    """The image cannot be used: axes, channels, dtype or size."""


class ModelError(OnnxSegError, ValueError):
    """The model file or its card cannot be used."""


class ModelNotFoundError(ModelError, FileNotFoundError):
    """No model of that name or path exists."""


class TileError(OnnxSegError, ValueError):
    """Tile, halo or overlap do not fit the model or the image."""


class ChoiceError(OnnxSegError, ValueError):
    """A choice of the user is outside what is allowed."""


class DeviceError(OnnxSegError, RuntimeError):
    """The device asked for cannot run the model."""


class RunError(OnnxSegError, RuntimeError):
    """The model failed while running."""


class OutOfMemoryError(RunError, MemoryError):
    """The device ran out of memory; a smaller tile or batch is needed."""


class CancelledError(OnnxSegError):
    """The run was cancelled by the user."""


class DownloadError(OnnxSegError, OSError):
    """A model cannot be fetched, or what came is not the published file."""


class FileFormatError(OnnxSegError, OSError):
    """A file cannot be read or written in that format."""
