"""The ONNX file: what it declares and what its operators imply."""
