"""What models that take ids have in common: their inputs by name, and Keras' compile and export."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import keras

from keras_transformer.models.config import ModelConfig
from keras_transformer.models.distributed import DistributedTraining

Tensor = Any


class TokenModel(DistributedTraining, keras.Model):
    """Base of models that take a dictionary of tensors with one entry a token.

    A subclass names its inputs, and builds all its weights in ``build()`` without a shape.
    """

    required: ClassVar[tuple[str, ...]] = ("token_ids",)
    """Names of the inputs that must be there; the first of them are the ids."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Names of the inputs that may be there."""
    exported: ClassVar[tuple[str, ...]] = ("token_ids",)
    """Names of the inputs of an exported model unless the caller gives a signature."""

    def read(self, inputs: Any) -> list[Tensor | None]:
        """The inputs in the order of `required` and `optional`; ``None`` where one is not there.

        Raises:
            ValueError: when the inputs are no dictionary, when one is missing or unknown, or when
                the ids are not ``[batch, length]``.
        """
        names = self.required + self.optional
        allowed = ", ".join(self.required + tuple(f"{name} (optional)" for name in self.optional))
        if not isinstance(inputs, Mapping):
            raise ValueError(
                f"{self.name} takes a dictionary of {allowed}, not a {type(inputs).__name__}."
            )
        missing = [name for name in self.required if name not in inputs]
        unknown = [name for name in inputs if name not in names]
        if missing or unknown:
            faults = [f"{name} is missing" for name in missing]
            faults += [f"{name} is not one of them" for name in unknown]
            raise ValueError(f"{self.name} takes {allowed}: {' and '.join(faults)}.")
        shape = inputs[self.required[0]].shape
        if len(shape) != 2:
            raise ValueError(
                f"{self.name}: {self.required[0]} must be [batch, length], "
                f"not of shape {tuple(shape)}."
            )
        return [inputs.get(name) for name in names]

    def make_train_function(self, force: bool = False) -> None:
        """Keras' own; the optimizer's variables are there before.

        Made in the first step, where Keras would make them, they have TensorFlow trace it twice.
        """
        strategy = getattr(self, "_distribute_strategy", None)  # under one, Keras builds before
        if strategy is None and self.optimizer is not None and not self.optimizer.built:
            if not self.built:
                self.build()
            self.optimizer.build(self.trainable_variables)
        super().make_train_function(force)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a loaded model as it was; Keras does so only where `compile` is its own."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def save(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Keras' `save`, which would write a model that was never called without weights."""
        if not self.built:
            self.build()
        super().save(filepath, *args, **kwargs)

    def export(self, filepath: Any, *args: Any, input_signature: Any = None, **kwargs: Any) -> Any:
        """Keras' `export`, by default for batches of any size and texts of any length.

        Left to itself Keras takes the lengths of the first call, and ids for float32.
        """
        if not self.built:
            self.build()
        if input_signature is None:
            ids = {
                name: keras.InputSpec(dtype="int32", shape=(None, None), name=name)
                for name in self.exported
            }
            input_signature = [ids]
        return super().export(filepath, *args, input_signature=input_signature, **kwargs)


class ConfiguredModel(TokenModel):
    """Base of models that their configuration makes, and nothing else."""

    config_class: ClassVar[type[ModelConfig]]
    """The class of `config`, the constructor's first argument."""

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        config = dict(config)
        return cls(cls.config_class.from_dict(config.pop("config")), **config)


def output_dtype(policy: Any) -> str:
    """The dtype of logits and vectors that leave a model: at least float32 whatever the policy.

    >>> output_dtype(keras.DTypePolicy("mixed_bfloat16"))
    'float32'
    """
    return keras.backend.result_type(policy.compute_dtype, "float32")
