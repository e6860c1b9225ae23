"""What lets `fit` train a `keras.Model` under every `tf.distribute` strategy."""

from collections.abc import Callable
from typing import Any

import keras
from keras import tree

TrainStep = Callable[[keras.Model, Any], dict[str, Any]]


class DistributedTraining:
    """Mixed into a `keras.Model`, mends two faults of Keras 3.15 that show under strategies.

    - A model is built from its first batch, which Keras averages over the replicas. That fails when
      they have different numbers of rows, and always with several workers. Here the model is built
      from the shapes of one replica's rows.
    - With several workers (`tf.distribute.MultiWorkerMirroredStrategy`) the numbers of a step are
      averaged along their first axis, which they do not have. Here they get one.

    The models of this package have it. Models of your own that several workers are to train need
    it too, functional ones included; on one device, and on other backends than TensorFlow, it
    changes nothing but the default of ``jit_compile``.

    >>> class MyModel(DistributedTraining, keras.Model):
    ...     pass
    >>> ids = keras.Input([None], dtype="int32")
    >>> model = MyModel(ids, keras.layers.Embedding(10, 4)(ids))
    >>> model.compile("sgd", "mse")
    """

    def compile(
        self,
        *args: Any,
        jit_compile: bool | str = False,
        train_step: TrainStep | None = None,
        **kwargs: Any,
    ) -> None:
        """Keras' `compile`, without XLA unless asked for.

        Keras' "auto" would compile for each new shape of batch, and batches of texts have many.

        Args:
            jit_compile: as Keras'.
            train_step: called with the model and a batch in place of the method of that name, such
                as `training.AccumulatedGradients`. It is not saved with the model.

        Raises:
            ValueError: for several replicas in float16, whose loss scale Keras takes from the first
                replica's gradients alone.
        """
        strategy = getattr(self, "distribute_strategy", None)  # only Keras on TensorFlow has one
        replicas = 1 if strategy is None else strategy.num_replicas_in_sync
        if replicas > 1 and self.dtype_policy.name == "mixed_float16":
            raise ValueError(
                f"{self.name} cannot be trained in mixed_float16 by {replicas} replicas; take "
                "mixed_bfloat16, which needs no loss scale."
            )
        self._compiled_train_step = train_step
        super().compile(*args, jit_compile=jit_compile, **kwargs)

    def train_step(self, *args: Any) -> Any:
        """What `fit` does with a batch; gives the numbers of its log."""
        step = getattr(self, "_compiled_train_step", None)
        logs = super().train_step(*args) if step is None else step(self, *args)
        return self._with_axis(logs)

    def test_step(self, *args: Any) -> Any:
        """What `evaluate` does with a batch; gives the numbers of its log."""
        return self._with_axis(super().test_step(*args))

    def _with_axis(self, logs: Any) -> Any:
        if not has_other_workers(self):
            return logs
        return {name: keras.ops.reshape(value, (1,)) for name, value in logs.items()}

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        # The one private method of Keras that is overridden in this package: there is no other way
        # to have metrics made before the replicas are. tests/training/test_strategies.py says when
        # Keras needs it no longer.
        strategy = self._distribute_strategy
        if strategy is None:
            return
        if iterator is not None:
            # Not a batch: taking one would count as an epoch for data whose order changes by epoch.
            data_batch = iterator._distributed_dataset.element_spec

        def any_rows(value: Any) -> keras.KerasTensor | None:
            if value is None:
                return None
            local = strategy.experimental_local_results(value)[0]
            local = getattr(local, "_value_specs", [local])[0]  # of a PerReplicaSpec
            # Any number of rows: this replica may have got none of the first batch.
            return keras.KerasTensor((None, *local.shape[1:]), local.dtype)

        with strategy.scope():
            self._symbolic_build(data_batch=tree.map_structure(any_rows, data_batch))


def has_other_workers(model: keras.Model) -> bool:
    """Whether the model is trained by several processes, each with replicas of its own."""
    strategy = getattr(model, "distribute_strategy", None)  # only Keras on TensorFlow has one
    if strategy is None or strategy.num_replicas_in_sync == 1:
        return False
    return strategy.num_replicas_in_sync > len(strategy.extended.worker_devices)
