r"""Train the nucleus U-Net on the CPU, reproducibly.

Run from ``models/recipes``::

    python -m unet_nuclei.train NUCLEI/train first.pt --steps 8000 --stop 2000
    python -m unet_nuclei.train NUCLEI/train second.pt --start first.pt \
        --steps 2300 --peak 0.0015 --seed 8 --threads 1 --every 250
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn
from training import BATCH, Reporter, add_cycle_options, read_cycle, train

from .augment import CROP, RandomCrops
from .data import Sample, read_samples, split_by_group
from .evaluate import mean_scores, predict_all, score_all
from .loss import nucleus_loss
from .net import NucleusUNet


def validate(net: nn.Module, samples: list[Sample]) -> str:
    """Return the validation figures with untuned thresholds, in words."""
    scores = score_all(samples, predict_all(net, samples))
    parts = [
        f"{name} IoU {figures['iou']:.3f} AP50 {figures['ap50']:.3f}"
        for name, figures in mean_scores(scores).items()
    ]
    return ", ".join(parts)


def main() -> None:
    """Train, log and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/, labels/ and manifest.csv")
    add_cycle_options(parser, "unet-nuclei.log")
    arguments = parser.parse_args()
    cycle = read_cycle(arguments)
    torch.manual_seed(cycle.seed)
    training, validation = split_by_group(read_samples(arguments.train))
    net = NucleusUNet()
    cycle.prepare(net)
    reporter = Reporter(cycle, lambda average: validate(average, validation))
    reporter.write(
        f"torch {torch.__version__}, {cycle.threads} threads, seed {cycle.seed}, "
        f"peak {cycle.peak}, {cycle.steps} steps of {BATCH} x {CROP} px, "
        f"{len(training)} training and {len(validation)} validation images"
    )
    crops = RandomCrops(training, cycle.steps * BATCH, cycle.seed)
    train(net, crops, nucleus_loss, cycle.peak, reporter)


if __name__ == "__main__":
    main()
