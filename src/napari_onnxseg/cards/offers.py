"""Published models that can be downloaded by name, with their terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from napari_onnxseg.cards import rembg
from napari_onnxseg.cards.card import Task
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.pins import read_pin
from napari_onnxseg.errors import ModelNotFoundError

RELEASE = "https://github.com/danielgatis/rembg/releases/download/v0.0.0"
"""The release of the rembg project that holds the files as ONNX."""

NOT_STATED = "not stated by the publisher; check before use"
"""Terms of a model whose publisher says nothing about its weights."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A published model.

    Parameters
    ----------
    name : str
        What it is called here, and its file in the user's folder.
    title, description : str
        For people, as on a card.
    url : str
        Where its publisher keeps it.
    size_bytes : int or None
        Its size, when it is known before the download.
    licence : str
        Terms of the weights, as far as they are known.
    origin : str
        Who made it.
    md5, sha256 : str or None
        The hash that its publisher states; at least one is there. A file that hashes
        otherwise is not kept.
    non_commercial : bool
        Whether commercial use is forbidden; such a model is never a default and must be
        accepted explicitly.
    """

    name: str
    title: str
    description: str
    url: str
    size_bytes: int | None
    licence: str
    origin: str
    md5: str | None = None
    sha256: str | None = None
    non_commercial: bool = False

    @property
    def file(self) -> str:
        """Name of the published file."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def checksum(self) -> str:
        """The stated hash as ``algorithm:hexadecimal``."""
        return f"sha256:{self.sha256}" if self.sha256 else f"md5:{self.md5}"

    @property
    def task(self) -> Task:
        """What the model does."""
        return self.describe().task or "matting"

    def terms(self) -> str:
        """Return what a user must know before the first download.

        Returns
        -------
        str
            Three lines: size, licence and origin.
        """
        size = f"{self.size_bytes / 1e6:.0f} MB" if self.size_bytes else "size not known"
        forbidden = "NO COMMERCIAL USE, " if self.non_commercial else ""
        return f"{self.title}, {size}\nlicence: {forbidden}{self.licence}\nmade by: {self.origin}"

    def describe(self) -> Description:
        """Return what is known of the model, as its card would say it.

        Returns
        -------
        Description
            Texts, and what networks of its family are fed and give back.
        """
        return replace(
            rembg.describe(self.name, "card"),
            name=self.name,
            title=self.title,
            description=self.description,
            licence=self.licence,
            origin=self.origin,
        )


def known_by_name(path: Path) -> Description:
    """Say what the name of a file tells about the model in it.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.

    Returns
    -------
    Description
        What its publisher says of a model that was downloaded and checked by this package; a
        guess for every other file that is called like a published one; otherwise empty.
    """
    published = OFFERS.get(path.stem) if read_pin(path) else None
    return published.describe() if published else rembg.describe(path.stem)


def offer(name: str) -> Offer:
    """Return a published model.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Offer
        Where it is, how large, and its terms.

    Raises
    ------
    ModelNotFoundError
        For a name that is not on the list, with those that are.
    """
    if name in OFFERS:
        return OFFERS[name]
    raise ModelNotFoundError(
        f"'{name}' is not among the models that can be downloaded: {', '.join(OFFERS)}."
    )


_U2NET = (
    "Qin et al. (U²-Net, Pattern Recognition 106, 2020, 107404; github.com/xuebinqin/U-2-Net), "
    "as ONNX by the rembg project"
)
_DIS = "Qin et al. (IS-Net, ECCV 2022; github.com/xuebinqin/DIS), as ONNX by the rembg project"
_BIREFNET = (
    "Zheng et al. (BiRefNet, CAAI Artificial Intelligence Research 3, 2024, 9150038; "
    "github.com/ZhengPeng7/BiRefNet), as ONNX by the rembg project"
)
_BIREFNET_LICENCE = (
    "MIT; its author says that some of its training pictures carry stricter terms "
    "(github.com/ZhengPeng7/BiRefNet/issues/306)"
)
_LARGE_BYTES = 972_666_916


def _birefnet(name: str, purpose: str, file: str, md5: str, size: int | None = None) -> Offer:
    return Offer(
        name=name,
        title=f"BiRefNet ({purpose})",
        description=(
            f"Cuts out {purpose} at 1024 x 1024, with finer edges than U²-Net; large and slow "
            "without a graphics card."
        ),
        url=f"{RELEASE}/{file}",
        size_bytes=size,
        licence=_BIREFNET_LICENCE,
        origin=_BIREFNET,
        md5=md5,
    )


_ALL = (
    Offer(
        name="u2net",
        title="Salient object (U²-Net)",
        description="Cuts out the one object that stands out, at 320 x 320; the full-size "
        "sibling of the bundled 'u2netp'.",
        url=f"{RELEASE}/u2net.onnx",
        size_bytes=175_997_641,
        licence="Apache-2.0",
        origin=_U2NET,
        md5="60024c5c889badc19c04ad937298a77b",
    ),
    Offer(
        name="u2net_human_seg",
        title="People (U²-Net)",
        description="Cuts out people, at 320 x 320.",
        url=f"{RELEASE}/u2net_human_seg.onnx",
        size_bytes=175_997_641,
        licence="Apache-2.0",
        origin=_U2NET,
        md5="c09ddc2e0104f800e3e1bb4652583d1f",
    ),
    Offer(
        name="silueta",
        title="Salient object (Silueta)",
        description="U²-Net made smaller: cuts out the one object that stands out, at 320 x 320.",
        url=f"{RELEASE}/silueta.onnx",
        size_bytes=44_173_029,
        licence=NOT_STATED,
        origin="The rembg project, from U²-Net (github.com/xuebinqin/U-2-Net, Apache-2.0)",
        md5="55e59e0d8062d2f5d013f4725ee84782",
    ),
    Offer(
        name="isnet-general-use",
        title="Salient object (IS-Net)",
        description="Cuts out objects at 1024 x 1024, with finer detail than U²-Net.",
        url=f"{RELEASE}/isnet-general-use.onnx",
        size_bytes=178_648_008,
        licence=f"{NOT_STATED} (the code is Apache-2.0, the training pictures DIS5K are not for "
        "commercial use)",
        origin=_DIS,
        md5="fc16ebd8b0c10d971d3513d564d01e29",
    ),
    Offer(
        name="isnet-anime",
        title="Drawn characters (IS-Net)",
        description="Cuts characters out of drawings, at 1024 x 1024.",
        url=f"{RELEASE}/isnet-anime.onnx",
        size_bytes=176_069_933,
        licence="Apache-2.0",
        origin="SkyTNT (github.com/SkyTNT/anime-segmentation), as ONNX by the rembg project",
        md5="6f184e756bb3bd901c8849220a83e38e",
    ),
    _birefnet(
        "birefnet-general",
        "any subject",
        "BiRefNet-general-epoch_244.onnx",
        "7a35a0141cbbc80de11d9c9a28f52697",
        _LARGE_BYTES,
    ),
    _birefnet(
        "birefnet-general-lite",
        "any subject, small",
        "BiRefNet-general-bb_swin_v1_tiny-epoch_232.onnx",
        "4fab47adc4ff364be1713e97b7e66334",
        224_005_088,
    ),
    _birefnet(
        "birefnet-portrait",
        "people",
        "BiRefNet-portrait-epoch_150.onnx",
        "c3a64a6abf20250d090cd055f12a3b67",
        _LARGE_BYTES,
    ),
    _birefnet(
        "birefnet-dis",
        "objects with fine detail",
        "BiRefNet-DIS-epoch_590.onnx",
        "2d4d44102b446f33a4ebb2e56c051f2b",
    ),
    _birefnet(
        "birefnet-hrsod",
        "subjects of large pictures",
        "BiRefNet-HRSOD_DHU-epoch_115.onnx",
        "c017ade5de8a50ff0fd74d790d268dda",
    ),
    _birefnet(
        "birefnet-cod",
        "camouflaged objects",
        "BiRefNet-COD-epoch_125.onnx",
        "f6d0d21ca89d287f17e7afe9f5fd3b45",
    ),
    _birefnet(
        "birefnet-massive",
        "any subject, trained on most pictures",
        "BiRefNet-massive-TR_DIS5K_TR_TEs-epoch_420.onnx",
        "33e726a2136a3d59eb0fdf613e31e3e9",
    ),
    Offer(
        name="bria-rmbg",
        title="Any subject (BRIA RMBG 2.0)",
        description="Cuts out the subject at 1024 x 1024; not for commercial use.",
        url=f"{RELEASE}/bria-rmbg-2.0.onnx",
        size_bytes=1_024_331_469,
        licence="CC-BY-NC-4.0; commercial use needs an agreement with BRIA AI",
        origin="BRIA AI (RMBG-2.0, on the BiRefNet architecture), as ONNX by the rembg project",
        sha256="5b486f08200f513f460da46dd701db5fbb47d79b4be4b708a19444bcd4e79958",
        non_commercial=True,
    ),
)

OFFERS: Mapping[str, Offer] = {entry.name: entry for entry in _ALL}
"""By name, in the order in which they are shown."""
