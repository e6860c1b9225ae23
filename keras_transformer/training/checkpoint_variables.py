"""A checkpoint's numbers back in a model and its optimizer."""

import keras

from keras_transformer.training.checkpoint_files import Checkpoint, plain_name

# What an optimizer has or not by its settings: a constant rate is a variable, a schedule is none,
# and only float16 needs its loss scaled.
_RATE, _LOSS_SCALE = "learning_rate", "loss_scale_optimizer"


def restore_variables(saved: Checkpoint, model: keras.Model) -> None:
    """Gives model and optimizer the values of a checkpoint.

    Where the saved and the present optimizer differ in whether the rate is constant or the loss is
    scaled, the present one keeps its own: a run may go on with another rate or precision.

    Raises:
        ValueError: when the file does not fit; then nothing is changed.
    """
    present = list(model.optimizer.variables)
    optional = [
        {path for path in map(plain_name, paths) if _is_optional(path)}
        for paths in (saved.names["optimizer"], [variable.path for variable in present])
    ]
    ignored = optional[0] ^ optional[1]
    kept = [i for i, path in enumerate(saved.names["optimizer"]) if plain_name(path) not in ignored]
    for parts in (saved.names, saved.arrays):
        parts["optimizer"][:] = [parts["optimizer"][i] for i in kept]
    present = [variable for variable in present if plain_name(variable.path) not in ignored]
    # Both are read before either is assigned.
    values = saved.variables("model", model.variables) + saved.variables("optimizer", present)
    for variable, value in zip([*model.variables, *present], values, strict=True):
        variable.assign(value)


def _is_optional(path: str) -> bool:
    owner, name = path.split("/")[-2:]
    return name == _RATE or owner == _LOSS_SCALE
