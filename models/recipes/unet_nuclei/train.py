r"""Train the nucleus U-Net on the CPU, reproducibly.

Run from ``models/recipes``::

    python -m unet_nuclei.train NUCLEI/train first.pt --steps 8000 --stop 2000
    python -m unet_nuclei.train NUCLEI/train second.pt --start first.pt \
        --steps 2300 --peak 0.0015 --seed 8 --threads 1 --every 250
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from .augment import CROP, RandomCrops
from .data import Sample, read_samples, split_by_group
from .evaluate import mean_scores, predict_all, score_all
from .loss import nucleus_loss
from .net import NucleusUNet

BATCH = 8
WEIGHT_DECAY = 1e-3
EMA_DECAY = 0.998
FROZEN_SHARE = 0.4
Batch = tuple[Tensor, Tensor, Tensor]


def crop_batches(crops: RandomCrops) -> Iterator[Batch]:
    """Yield the crops in order, prepared one batch ahead by one other process."""
    loader = DataLoader(crops, batch_size=BATCH, shuffle=False, num_workers=1, prefetch_factor=4)
    return iter(loader)


def one_step(
    net: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch, largest_norm: float = 2.0
) -> float:
    """Do one step of gradient descent and return the loss."""
    image, classes, crowded = batch
    with torch.autocast("cpu", torch.bfloat16):
        logits = net(image.contiguous(memory_format=torch.channels_last))
    loss = nucleus_loss(logits.float(), classes, crowded)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), largest_norm)
    optimiser.step()
    return float(loss.detach())


@torch.no_grad()
def update_average(average: nn.Module, net: nn.Module, step: int) -> None:
    """Move the averaged weights and batch statistics towards the network's."""
    decay = min(EMA_DECAY, (1 + step) / (10 + step))
    current = net.state_dict()
    for name, mean in average.state_dict().items():
        if mean.is_floating_point():
            mean.lerp_(current[name], 1 - decay)


def freeze_statistics(net: nn.Module) -> None:
    """Use the running statistics from now on, as the exported network will.

    A batch mixes dark fluorescence with bright stained tissue, so its own
    statistics differ much from those of any single image.
    """
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.eval()


def train(
    net: nn.Module, crops: RandomCrops, peak: float, report: Callable[[int, float, nn.Module], bool]
) -> nn.Module:
    """Train on the crops, one cycle of the learning rate.

    Parameters
    ----------
    net
        The network to start from.
    crops
        The crops, in the order of training.
    peak
        The highest learning rate.
    report
        Called after each step with its number, its loss and the averaged network;
        returns whether to go on.

    Returns
    -------
    torch.nn.Module
        The exponential moving average of the weights, batch statistics included.
    """
    steps = len(crops) // BATCH
    net = net.to(memory_format=torch.channels_last).train()
    average = copy.deepcopy(net)
    optimiser = torch.optim.AdamW(net.parameters(), peak, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, peak, total_steps=steps, pct_start=0.1, final_div_factor=1000
    )
    for step, batch in zip(range(1, steps + 1), crop_batches(crops), strict=True):
        loss = one_step(net, optimiser, batch)
        schedule.step()
        update_average(average, net, step)
        if step == round((1 - FROZEN_SHARE) * steps):
            freeze_statistics(net)
        if not report(step, loss, average):
            break
    return average


class Reporter:
    """Writes the log and the checkpoint, and says when to stop.

    Parameters
    ----------
    arguments
        The command line.
    validation
        Images to measure on.
    """

    def __init__(self, arguments: argparse.Namespace, validation: list[Sample]) -> None:
        self.arguments = arguments
        self.validation = validation
        self.start = time.monotonic()
        self.losses: list[float] = []
        self.last = arguments.stop or arguments.steps

    def __call__(self, step: int, loss: float, average: nn.Module) -> bool:
        """Take note of one step and return whether to go on."""
        self.losses.append(loss)
        if step % self.arguments.every == 0 or step == self.last:
            torch.save(average.state_dict(), self.arguments.checkpoint)
            mean = sum(self.losses) / len(self.losses)
            self.losses.clear()
            self.write(f"step {step} loss {mean:.4f} seconds {time.monotonic() - self.start:.0f}")
            if step % (2 * self.arguments.every) == 0 or step == self.last:
                self.write(self.measure(average))
        return step < self.last

    def write(self, line: str) -> None:
        """Append a line to the log."""
        with self.arguments.log.open("a", encoding="utf-8") as stream:
            print(line, file=stream)

    def measure(self, average: nn.Module) -> str:
        """Return the validation figures with untuned thresholds."""
        scores = score_all(self.validation, predict_all(average, self.validation))
        parts = [
            f"{name} IoU {figures['iou']:.3f} AP50 {figures['ap50']:.3f}"
            for name, figures in mean_scores(scores).items()
        ]
        return "  validation: " + ", ".join(parts)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/, labels/ and manifest.csv")
    parser.add_argument("checkpoint", type=Path, help="file to write")
    parser.add_argument("--start", type=Path, help="checkpoint to start from, else random weights")
    parser.add_argument("--log", type=Path, default=Path("unet-nuclei.log"), help="appended to")
    parser.add_argument("--steps", type=int, default=8000, help="length of the cycle")
    parser.add_argument("--stop", type=int, help="leave the cycle after this step")
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=500, help="steps between log lines")
    return parser.parse_args()


def main() -> None:
    """Train, log and save."""
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    training, validation = split_by_group(read_samples(arguments.train))
    net = NucleusUNet()
    if arguments.start:
        net.load_state_dict(torch.load(arguments.start, weights_only=True))
    crops = RandomCrops(training, arguments.steps * BATCH, arguments.seed)
    reporter = Reporter(arguments, validation)
    reporter.write(
        f"torch {torch.__version__}, {arguments.threads} threads, seed {arguments.seed}, "
        f"peak {arguments.peak}, {arguments.steps} steps of {BATCH} x {CROP} px, "
        f"{len(training)} training and {len(validation)} validation images"
    )
    train(net, crops, arguments.peak, reporter)


if __name__ == "__main__":
    main()
