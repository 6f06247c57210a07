"""The command line ``onnxseg``; ``app`` is its entry point."""

from napari_onnxseg.cli.main import app

__all__ = ["app"]
