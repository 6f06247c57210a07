"""Stand-ins for `onnxruntime.InferenceSession` on a GPU that this computer does not have."""

from __future__ import annotations

from typing import ClassVar

import onnxruntime as ort

from napari_onnxseg.runtime.providers import CPU, CUDA

REAL = ort.InferenceSession


class OnGpu:
    """Runs on the CPU and says it is a GPU; records how it was made."""

    made: ClassVar[list[dict]] = []

    def __init__(self, path, options, providers, **choices):
        self.asked = [name for name, _ in providers]
        self.options = dict(providers[0][1])
        type(self).made.append({"providers": providers, **choices})
        self.real = REAL(path, options, providers=[CPU])

    def get_providers(self):
        return self.asked

    def run(self, *arguments):
        return self.real.run(*arguments)


class Raising(OnGpu):
    """Cannot be made on a GPU."""

    def __init__(self, path, options, providers, **choices):
        if providers[0][0] == CUDA:
            raise ort.capi.onnxruntime_pybind11_state.Fail("CUDA_PATH is set but CUDA wasn't able")
        super().__init__(path, options, providers, **choices)


class Silent(OnGpu):
    """Takes the CPU instead, without a word."""

    def get_providers(self):
        return [CPU]


class NoCudnn(OnGpu):
    """Is made on a GPU, but fails at the first run there."""

    def run(self, *arguments):
        if self.asked[0] == CUDA:
            raise ort.capi.onnxruntime_pybind11_state.Fail("cuDNN is not available. Install cuDNN")
        return super().run(*arguments)


class OutOfMemory(OnGpu):
    """Runs out of memory at its third run."""

    count = 0

    def run(self, *arguments):
        type(self).count += 1
        if type(self).count == 3:
            raise ort.capi.onnxruntime_pybind11_state.Fail(
                "Non-zero status code returned while running Conv node. bfc_arena.cc:360 "
                "Failed to allocate memory for requested buffer of size 163840000000"
            )
        return super().run(*arguments)
