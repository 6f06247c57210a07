"""Commands on the widget used last, and the keys that call them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from napari_onnxseg.plugin.ties import Ties

if TYPE_CHECKING:
    import napari

KEYS = {"run": "Control-Alt-R", "preview": "Control-Alt-V", "cancel": "Control-Alt-X"}
"""Keys of the commands; they work wherever the viewer has the focus."""


class Runs(Protocol):
    """A widget that the commands act on."""

    viewer: Any

    @property
    def is_running(self) -> bool:
        """Whether a run of it is in progress."""
        ...

    def run(self) -> None:
        """Start a run."""
        ...

    def preview(self) -> None:
        """Start a run on the slice that is shown."""
        ...

    def cancel(self) -> None:
        """Ask the run to stop."""
        ...


_used: list[ref[Runs]] = []


def run(viewer: napari.Viewer) -> None:
    """Run the widget used last, opening the segmentation when there is none.

    Parameters
    ----------
    viewer : napari.Viewer
        Where it is docked.
    """
    _last_or_new(viewer).run()


def preview(viewer: napari.Viewer) -> None:
    """Run on the slice that is shown only.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the widget is docked.
    """
    _last_or_new(viewer).preview()


def cancel(viewer: napari.Viewer) -> None:
    """Cancel the run in progress; without one, nothing happens.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the widget is docked.
    """
    for panel in widgets(viewer):
        panel.cancel()


def widgets(viewer: Any) -> list[Runs]:
    """List the widgets of a viewer.

    Parameters
    ----------
    viewer : napari.Viewer
        Or a proxy of it.

    Returns
    -------
    list of Panel
        The one used last at the end.
    """
    own = getattr(viewer, "__wrapped__", viewer)
    alive = [panel for panel in (known() for known in _used) if panel is not None]
    return [panel for panel in alive if panel.viewer is own]


def use(panel: Runs) -> None:
    """Make a widget the one that the commands act on.

    Parameters
    ----------
    panel : Panel
        One that was shown, entered or run.
    """
    drop(panel)
    _used.append(ref(panel))


def drop(panel: Runs) -> None:
    """Forget a widget that is gone.

    Parameters
    ----------
    panel : Panel
        One that may be known.
    """
    _used[:] = [known for known in _used if known() not in (None, panel)]


def bind_keys(viewer: Any, ties: Ties) -> None:
    """Bind the keys in a viewer until its last widget is gone.

    Parameters
    ----------
    viewer : napari.components.ViewerModel
        Not a proxy.
    ties : Ties
        Undone when the widget goes.
    """
    commands = {"run": run, "preview": preview, "cancel": cancel}
    for name, command in commands.items():
        viewer.bind_key(KEYS[name], command, overwrite=True)
    ties.on_undo(partial(_unbind, viewer))


def key_words(name: str) -> str:
    """Write the key of a command as people do.

    Parameters
    ----------
    name : str
        ``"run"``, ``"preview"`` or ``"cancel"``.

    Returns
    -------
    str
        Such as ``"Ctrl+Alt+R"``.
    """
    return KEYS[name].replace("Control", "Ctrl").replace("-", "+")


def _unbind(viewer: Any) -> None:
    """Free the keys when no widget of the viewer is left."""
    if not widgets(viewer):
        for key in KEYS.values():
            viewer.bind_key(key, None)


def _last_or_new(viewer: Any) -> Any:
    """Return the widget used last, or dock the segmentation."""
    known = widgets(viewer)
    if known:
        return known[-1]
    _dock, widget = viewer.window.add_plugin_dock_widget("napari-onnxseg", "Segment (U-Net)")
    return widget
