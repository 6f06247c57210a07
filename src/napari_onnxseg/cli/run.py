"""One verb over many images: the pipeline's folder, shown on a terminal."""

from __future__ import annotations

from contextlib import closing

import typer

from napari_onnxseg.cli.bar import Bar
from napari_onnxseg.cli.files import Files
from napari_onnxseg.cli.interrupt import ctrl_c_sets
from napari_onnxseg.cli.outcome import Tally, Teller
from napari_onnxseg.pipeline.cancel import Cancel
from napari_onnxseg.pipeline.folder import prepare
from napari_onnxseg.pipeline.folder_task import Task


def run(task: Task, files: Files) -> None:
    """Run a verb over every image and exit with the code of the whole.

    Parameters
    ----------
    task : Segmenting or CuttingOut
        What to do with each image.
    files : Files
        Images in, results out.

    Raises
    ------
    ChoiceError
        Before anything runs, when files and choices do not fit together.
    typer.Exit
        Always, with the exit code.
    """
    folder = prepare(files.job(), task, only_plan=files.plan)
    cancel, teller = Cancel(), Teller(silent=files.as_json)
    steps = folder.steps(cancel, only_plan=files.plan)
    with (
        ctrl_c_sets(cancel),
        closing(steps),
        Tally(task.name, files.as_json) as tally,
        Bar(shown=not files.as_json) as bar,
    ):
        for step in steps:
            bar.show(step)
            if step.total == 1 and not files.plan:
                teller.announce(step.plan)
            if step.outcome is not None:
                teller.tell(step.outcome)
                tally.add(step.outcome)
        bar.close()
        tally.tell()
        raise typer.Exit(tally.code)
