"""What callbacks remember between epochs, so that a resumed training decides as the first did."""

from typing import Any, Protocol, runtime_checkable

import keras


@runtime_checkable
class Resumable(Protocol):
    """A callback whose memory a `TrainingCheckpoint` can keep."""

    def training_state(self) -> dict[str, Any]:
        """What to remember: plain values (as JSON has them) and NumPy arrays."""

    def set_training_state(self, state: dict[str, Any]) -> None:
        """Take up what `training_state` gave; called after `on_train_begin`."""


# Keras' own callbacks have no such methods: the attributes that carry over.
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    keras.callbacks.EarlyStopping: ("wait", "best", "best_epoch", "best_weights", "stopped_epoch"),
    keras.callbacks.ReduceLROnPlateau: ("wait", "best", "cooldown_counter"),
    keras.callbacks.ModelCheckpoint: ("best",),
    keras.callbacks.History: ("epoch", "history"),
}


def check_resumable(callback: keras.callbacks.Callback) -> None:
    """Refuse a callback whose memory is out of reach.

    Raises:
        ValueError: when it is neither `Resumable` nor one of the Keras callbacks known here.
    """
    if not isinstance(callback, (Resumable, *_ATTRIBUTES)):
        raise ValueError(
            f"track: {type(callback).__name__} cannot be kept in a checkpoint; give it the methods "
            "training_state() and set_training_state(state), or leave it out."
        )


def get_state(callback: keras.callbacks.Callback) -> dict[str, Any]:
    """The memory of a callback."""
    if isinstance(callback, Resumable):
        return callback.training_state()
    return {name: getattr(callback, name) for name in _attributes(callback)}


def set_state(callback: keras.callbacks.Callback, state: dict[str, Any]) -> None:
    """Give a callback its memory back."""
    if isinstance(callback, Resumable):
        callback.set_training_state(state)
        return
    for name in _attributes(callback):
        setattr(callback, name, state[name])


def _attributes(callback: keras.callbacks.Callback) -> tuple[str, ...]:
    return next(names for kind, names in _ATTRIBUTES.items() if isinstance(callback, kind))
