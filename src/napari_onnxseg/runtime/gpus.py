"""NVIDIA GPUs as the driver reports them, asked directly and without any toolkit."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU.

    Parameters
    ----------
    number : int
        Its index, as in ``"cuda:1"``.
    name : str
        What it is called.
    memory_bytes : int
        Its memory.
    """

    number: int
    name: str
    memory_bytes: int


@lru_cache(maxsize=1)
def nvidia_gpus() -> tuple[Gpu, ...]:
    """List the NVIDIA GPUs that the driver offers.

    Returns
    -------
    tuple of Gpu
        Empty without a driver or without a GPU.
    """
    driver = _driver()
    if driver is None or driver.cuInit(0) != 0:
        return ()
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return tuple(_gpu(driver, number) for number in range(count.value))


def driver_version() -> str:
    """Return the newest CUDA version the driver can run, such as ``"13.0"``, or nothing."""
    driver = _driver()
    version = ctypes.c_int()
    if driver is None or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return ""
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _driver() -> ctypes.CDLL | None:
    """Load the driver's library where there is one."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _gpu(driver: ctypes.CDLL, number: int) -> Gpu:
    handle, size = ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(handle), number)
    driver.cuDeviceGetName(name, len(name), handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
    return Gpu(number, name.value.decode(errors="replace"), size.value)
