"""What went wrong, in napari's notifications."""

from __future__ import annotations

from napari.utils.notifications import ErrorNotification, notification_manager, show_error

from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.plugin.words import error_words


def announce(error: BaseException) -> None:
    """Say once what went wrong; a fault of ours comes with its trace.

    Parameters
    ----------
    error : BaseException
        Any.
    """
    if isinstance(error, OnnxSegError):
        show_error(error_words(error))
        return
    notification = ErrorNotification(error)
    notification.message = error_words(error)
    notification_manager.dispatch(notification)
