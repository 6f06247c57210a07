"""Train the nucleus U-Net on the CPU, reproducibly.

Run from ``models/recipes``::

    python -m unet_nuclei.train NUCLEI/train checkpoint.pt --log unet-nuclei.log
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader

from .augment import CROP, RandomCrops
from .data import read_samples, split_by_group
from .evaluate import mean_scores, predict_all, score_all
from .loss import nucleus_loss
from .net import NucleusUNet

SEED = 7
THREADS = 2
BATCH = 8
PEAK_RATE = 4e-3
WEIGHT_DECAY = 1e-3
EMA_DECAY = 0.998
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


def train(
    crops: RandomCrops, report: Callable[[int, float, nn.Module], None], every: int
) -> nn.Module:
    """Train on all the crops and return the averaged network.

    Parameters
    ----------
    crops
        The crops, in the order of training.
    report
        Called with the step, the mean loss since the last call and the averaged
        network.
    every
        Number of steps between two reports.

    Returns
    -------
    torch.nn.Module
        The exponential moving average of the weights, batch statistics included.
    """
    steps = len(crops) // BATCH
    net = NucleusUNet().to(memory_format=torch.channels_last).train()
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(EMA_DECAY), use_buffers=True)
    optimiser = torch.optim.AdamW(net.parameters(), PEAK_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, PEAK_RATE, total_steps=steps, pct_start=0.1, final_div_factor=1000
    )
    losses: list[float] = []
    for step, batch in zip(range(1, steps + 1), crop_batches(crops), strict=True):
        losses.append(one_step(net, optimiser, batch))
        schedule.step()
        average.update_parameters(net)
        if step % every == 0 or step == steps:
            report(step, sum(losses) / len(losses), average.module)
            losses.clear()
    return average.module


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="folder with images/, labels/ and manifest.csv")
    parser.add_argument("checkpoint", type=Path, help="file to write")
    parser.add_argument("--log", type=Path, default=Path("unet-nuclei.log"))
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--every", type=int, default=250, help="steps between log lines")
    return parser.parse_args()


def main() -> None:
    """Train, log and save."""
    arguments = parse_arguments()
    torch.manual_seed(SEED)
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True)
    training, validation = split_by_group(read_samples(arguments.train))
    crops = RandomCrops(training, arguments.steps * BATCH, SEED)
    start = time.monotonic()
    log = arguments.log.open("w", buffering=1)
    print(
        f"torch {torch.__version__}, {THREADS} threads, seed {SEED}, batch {BATCH} x {CROP} px, "
        f"{len(training)} training and {len(validation)} validation images",
        file=log,
    )

    def report(step: int, loss: float, net: nn.Module) -> None:
        torch.save(net.state_dict(), arguments.checkpoint)
        line = f"step {step} loss {loss:.4f} seconds {time.monotonic() - start:.0f}"
        if step % (4 * arguments.every) == 0 or step == arguments.steps:
            scores = mean_scores(score_all(validation, predict_all(net, validation)))
            line += " validation " + " ".join(
                f"{m}: IoU {s['iou']:.3f} AP50 {s['ap50']:.3f}" for m, s in scores.items()
            )
        print(line, file=log)

    train(crops, report, arguments.every)


if __name__ == "__main__":
    main()
