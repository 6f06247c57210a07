"""Pictures drawn for the tests of files."""

import struct
import zlib

import numpy as np
import tifffile


def mark(height=300, width=400):
    """Return uint8 (Y, X, 3): grey with a bright rectangle near the top left corner only."""
    picture = np.full((height, width, 3), 40, np.uint8)
    picture[20:60, 30:150] = (250, 200, 10)
    return picture


def stored_turned(picture, orientation):
    """Return the picture as a camera stores it that asks for this EXIF orientation."""
    flips = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1),
        6: lambda a: a.swapaxes(0, 1)[::-1],
        7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
        8: lambda a: a.swapaxes(0, 1)[:, ::-1],
    }
    return np.ascontiguousarray(flips[orientation](picture))


def raw_png(values, colour_type):
    """Return the bytes of a PNG of big-endian uint16 values, which Pillow cannot all write."""
    height, width = values.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def write_pyramid(path, data, levels=3, **stored):
    """Write a TIFF with coarser levels: in sub-files for OME, as further pages for others."""
    ome = path.name.endswith(".ome.tif")
    choices = {"tile": (64, 64), "compression": "zlib", **stored}
    with tifffile.TiffWriter(path, ome=ome) as tif:
        tif.write(data, **choices, **({"subifds": levels - 1} if ome else {}))
        for n in range(1, levels):
            tif.write(data[:: 2**n, :: 2**n], subfiletype=1, **choices)
