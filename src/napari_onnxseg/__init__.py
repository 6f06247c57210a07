"""Run ONNX segmentation and background-removal models on images of any size."""
