"""One cycle of training on the CPU, reproducibly; shared by the recipes."""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

BATCH = 8
WEIGHT_DECAY = 1e-3
EMA_DECAY = 0.998
FROZEN_SHARE = 0.4
Batch = tuple[Tensor, ...]
Loss = Callable[..., Tensor]
"""From logits float32 (N, K, Y, X) and the other tensors of a batch to a scalar."""


def crop_batches(crops: Dataset) -> Iterator[Batch]:
    """Yield the crops in order, prepared ahead by one other process."""
    loader = DataLoader(crops, batch_size=BATCH, shuffle=False, num_workers=1, prefetch_factor=4)
    return iter(loader)


def one_step(
    net: nn.Module,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    loss_of: Loss,
    largest_norm: float = 2.0,
) -> float:
    """Do one step of gradient descent and return the loss."""
    image, *targets = batch
    with torch.autocast("cpu", torch.bfloat16):
        logits = net(image.contiguous(memory_format=torch.channels_last))
    loss = loss_of(logits.float(), *targets)
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

    A batch mixes images that differ much, so its own statistics are not those of
    any single image.
    """
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.eval()


def train(
    net: nn.Module,
    crops: Dataset,
    loss_of: Loss,
    peak: float,
    report: Callable[[int, float, nn.Module], bool],
) -> nn.Module:
    """Train on the crops, one cycle of the learning rate.

    Parameters
    ----------
    net
        The network to start from.
    crops
        The crops, in the order of training.
    loss_of
        The loss of a batch.
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
        loss = one_step(net, optimiser, batch, loss_of)
        schedule.step()
        update_average(average, net, step)
        if step == round((1 - FROZEN_SHARE) * steps):
            freeze_statistics(net)
        if not report(step, loss, average):
            break
    return average


@dataclass(frozen=True, slots=True)
class Cycle:
    """What the command line says about a cycle.

    Attributes
    ----------
    checkpoint, log
        Files to write and to append to.
    start
        Checkpoint to start from, or None.
    steps, stop
        Length of the cycle, and the step after which to leave it (0: never).
    peak
        Highest learning rate.
    every
        Steps between log lines; validation is measured at every second one.
    """

    checkpoint: Path
    log: Path
    start: Path | None
    steps: int
    stop: int
    peak: float
    seed: int
    threads: int
    every: int

    def prepare(self, net: nn.Module) -> None:
        """Make torch deterministic and load the weights to start from."""
        torch.set_num_threads(self.threads)
        torch.use_deterministic_algorithms(True)
        if self.start:
            net.load_state_dict(torch.load(self.start, weights_only=True))


def add_cycle_options(parser: argparse.ArgumentParser, log: str) -> None:
    """Add the options of a cycle to a command line."""
    parser.add_argument("checkpoint", type=Path, help="file to write")
    parser.add_argument("--start", type=Path, help="checkpoint to start from, else random weights")
    parser.add_argument("--log", type=Path, default=Path(log), help="appended to")
    parser.add_argument("--steps", type=int, default=8000, help="length of the cycle")
    parser.add_argument("--stop", type=int, default=0, help="leave the cycle after this step")
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=500, help="steps between log lines")


def read_cycle(arguments: argparse.Namespace) -> Cycle:
    """Return the options of a cycle that were given."""
    return Cycle(**{name: getattr(arguments, name) for name in Cycle.__slots__})


class Reporter:
    """Writes the log and the checkpoint, and says when to stop.

    Parameters
    ----------
    cycle
        The command line.
    measure
        From the averaged network to the validation figures, in words.
    """

    def __init__(self, cycle: Cycle, measure: Callable[[nn.Module], str]) -> None:
        self.cycle = cycle
        self.measure = measure
        self.start = time.monotonic()
        self.losses: list[float] = []
        self.last = cycle.stop or cycle.steps

    def __call__(self, step: int, loss: float, average: nn.Module) -> bool:
        """Take note of one step and return whether to go on."""
        self.losses.append(loss)
        if step % self.cycle.every == 0 or step == self.last:
            torch.save(average.state_dict(), self.cycle.checkpoint)
            mean = sum(self.losses) / len(self.losses)
            self.losses.clear()
            self.write(f"step {step} loss {mean:.4f} seconds {time.monotonic() - self.start:.0f}")
            if step % (2 * self.cycle.every) == 0 or step == self.last:
                self.write("  validation: " + self.measure(average))
        return step < self.last

    def write(self, line: str) -> None:
        """Append a line to the log."""
        with self.cycle.log.open("a", encoding="utf-8") as stream:
            print(line, file=stream)
