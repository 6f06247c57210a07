"""The running model: devices and ONNX Runtime sessions."""
