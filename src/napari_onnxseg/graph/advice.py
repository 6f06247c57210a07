"""How to export again: short recipes for PyTorch and Keras, by what they cure."""

from __future__ import annotations

FREE_SIZE = """\
PyTorch:
    torch.onnx.export(net.eval(), image, "net.onnx", opset_version=17, dynamo=False,
                      input_names=["image"], output_names=["scores"],
                      dynamic_axes={name: {0: "batch", 2: "rows", 3: "columns"}
                                    for name in ("image", "scores")})
    # in the network: interpolate(x, scale_factor=2), not size=(64, 64)
Keras:
    free = keras.Input((None, None, channels))
    keras.Model(free, net(free)).export("net.onnx", format="onnx")"""

INFERENCE = """\
PyTorch:
    net.eval()  # before the export
    torch.onnx.export(net, image, "net.onnx", training=torch.onnx.TrainingMode.EVAL, dynamo=False)
Keras:
    keras.Model(x, net(x, training=False)).export("net.onnx", format="onnx")"""

VERSION = """\
PyTorch:
    torch.onnx.export(net.eval(), image, "net.onnx", opset_version=17, dynamo=False)
Keras:
    tf2onnx.convert.from_keras(net, opset=17, output_path="net.onnx")"""

LOGITS = """\
PyTorch:
    class Logits(torch.nn.Module):  # the network without its own softmax or sigmoid
        def forward(self, image):
            return self.net.head(self.net.body(image))
Keras:
    keras.Model(net.input, net.layers[-2].output).export("net.onnx", format="onnx")"""

CHANNEL_SOFTMAX = """\
PyTorch:
    scores = torch.softmax(logits, dim=1)  # over classes, once, and opset_version=13 or newer
Keras:
    scores = keras.layers.Softmax(axis=-1)(logits)"""

ONE_OUTPUT = """\
PyTorch:
    class Main(torch.nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net
        def forward(self, image):
            return self.net(image)[0]
    torch.onnx.export(Main(net).eval(), image, "net.onnx", output_names=["scores"], dynamo=False)
Keras:
    keras.Model(net.input, net.outputs[0]).export("net.onnx", format="onnx")"""

HALF_PIXEL = """\
PyTorch:
    torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    # a network trained with other corners wants a few epochs of training after the change
Keras:
    keras.layers.UpSampling2D(2, interpolation="bilinear")"""

FLOAT32 = """\
PyTorch:
    torch.onnx.export(net.float().eval(), image.float(), "net.onnx", dynamo=False)
Keras:
    keras.backend.set_floatx("float32")  # before the network is built"""

ONE_FILE = """\
PyTorch:
    torch.onnx.export(net.eval(), (image,), "net.onnx", external_data=False, dynamo=True)
Any:
    onnx.save(onnx.load("net.onnx"), "whole.onnx")  # where the side files still are"""

STANDARD = """\
PyTorch:
    torch.onnx.export(net.eval(), image, "net.onnx", opset_version=17, dynamo=False,
                      operator_export_type=torch.onnx.OperatorExportTypes.ONNX)
    # replace layers of your own by standard ones: Conv2d, BatchNorm2d, ReLU, interpolate"""

LOCAL_NORM = """\
PyTorch:
    torch.nn.BatchNorm2d(channels)  # in place of InstanceNorm2d or GroupNorm, then train again
Keras:
    keras.layers.BatchNormalization()"""

SAME_GRID = """\
PyTorch:
    side = 512  # a multiple of the total downsampling
    torch.onnx.export(net.eval(), torch.zeros(1, channels, side, side), "net.onnx", dynamo=False)
Keras:
    keras.Input((512, 512, channels))"""

SCORES = """\
PyTorch:
    class Scores(torch.nn.Module):  # leave argmax to the plugin
        def forward(self, image):
            return self.net(image)
Keras:
    keras.Model(net.input, scores_before_argmax).export("net.onnx", format="onnx")"""
