r"""Train the aerial U-Net on the CPU, reproducibly.

Run from ``models/recipes``::

    python -m unet_aerial.train AERIAL/train checkpoint.pt --steps 4000 --threads 1 --every 100
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn
from training import BATCH, Reporter, add_cycle_options, read_cycle, train

from .augment import CROP, RandomCrops
from .data import Scene, read_scenes, split_by_tile
from .loss import aerial_loss
from .net import AerialUNet
from .score import measure, network_predictor


def validate(net: nn.Module, scenes: list[Scene]) -> str:
    """Return the validation figures in words."""
    found = measure(scenes, network_predictor(net))
    parts = [f"{name} {value:.3f}" for name, value in found["iou"].items()]
    return f"mean IoU {found['mean_iou']:.4f} ({', '.join(parts)})"


def main() -> None:
    """Train, log and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/ and labels/")
    add_cycle_options(parser, "unet-aerial.log")
    arguments = parser.parse_args()
    cycle = read_cycle(arguments)
    torch.manual_seed(cycle.seed)
    training, validation = split_by_tile(read_scenes(arguments.train))
    net = AerialUNet()
    cycle.prepare(net)
    reporter = Reporter(cycle, lambda average: validate(average, validation))
    reporter.write(
        f"torch {torch.__version__}, {cycle.threads} threads, seed {cycle.seed}, "
        f"peak {cycle.peak}, {cycle.steps} steps of {BATCH} x {CROP} px, "
        f"{len(training)} training and {len(validation)} validation scenes"
    )
    crops = RandomCrops(training, cycle.steps * BATCH, cycle.seed)
    train(net, crops, aerial_loss, cycle.peak, reporter)


if __name__ == "__main__":
    main()
