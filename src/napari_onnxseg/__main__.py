"""``python -m napari_onnxseg``: the command line."""

from napari_onnxseg.cli import app

if __name__ == "__main__":
    app(prog_name="onnxseg")
