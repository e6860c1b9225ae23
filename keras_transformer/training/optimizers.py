"""AdamW as the field uses it for Transformers."""

import re
from typing import Any

import keras
import tensorflow as tf

# Norm scales and offsets, biases, and tables of positions: nothing there gains from being small.
# The variable's own name says so, or for a table the name of its layer; what stands further up in
# the path is what users call their models.
_NO_DECAY = re.compile(
    r"(^|/)(\w+_)?((bias|beta|gamma|scale|position)\w*|(bias|position)\w*/embeddings?)$"
)


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerAdamW(keras.optimizers.AdamW):
    """AdamW (Loshchilov and Hutter 2019) that leaves biases, norm scales and positions undecayed.

    The choice is made when the optimizer is built, from the variables' paths, and so survives
    saving and loading. Variables of fewer than two axes are never decayed. The arguments are those
    of `keras.optimizers.AdamW`.

    The update of a variable is one operation, where Keras makes a dozen passes over its memory.

    >>> optimizer = TransformerAdamW(learning_rate=1e-3, weight_decay=0.01)
    """

    def build(self, variables) -> None:
        """Create the slots and fix which variables are decayed."""
        if not self.built:
            kept = [variable for variable in variables if not decays(variable)]
            self.exclude_from_weight_decay(var_list=kept)
        super().build(variables)

    def apply(self, grads: list, trainable_variables: list | None = None) -> None:
        """Keras' `apply`, with whole gradients: of all replicas, and of look-ups in tables.

        Keras adds up the replicas' gradients after clipping each by itself, and gives look-ups as
        rows, of which an id that was looked up twice has two. The norms of such parts are others,
        and so is what is clipped by them.
        """
        whole = [None if grad is None else tf.convert_to_tensor(grad) for grad in grads]
        replica = tf.distribute.get_replica_context()
        if replica is not None and replica.num_replicas_in_sync > 1:
            present = [grad for grad in whole if grad is not None]
            sums = iter(replica.all_reduce(tf.distribute.ReduceOp.SUM, present))
            whole = [None if grad is None else next(sums) for grad in whole]
        super().apply(whole, trainable_variables)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> list:
        # What Keras does between clipping and the update is done before in `apply`. (Where Keras
        # calls it otherwise one day, replicas train with sums of sums: tests would tell.)
        return list(grads_and_vars)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Adam's update (Kingma and Ba 2015, end of section 2) of one variable and its slots."""
        if self.amsgrad:
            return super().update_step(gradient, variable, learning_rate)
        index, dtype = self._get_variable_index(variable), variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = tf.constant(self.beta_1, dtype), tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=tf.pow(beta_1, step),
            beta2_power=tf.pow(beta_2, step),
            lr=tf.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=tf.cast(gradient, dtype),
        )


def _handle(variable: Any) -> tf.Tensor:
    """Where TensorFlow keeps a variable's value; under a strategy that of this replica."""
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle


def decays(variable: keras.Variable) -> bool:
    """Whether weight decay applies to a model's variable."""
    return len(variable.shape) >= 2 and not _NO_DECAY.search(variable.path.lower())


def updates_made(model: keras.Model) -> int:
    """How many updates a compiled model has had, whatever its devices.

    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(adamw(1e-3))
    >>> updates_made(model)
    0
    """
    return int(keras.ops.convert_to_numpy(model.optimizer.iterations))


def adamw(
    learning_rate: float | keras.optimizers.schedules.LearningRateSchedule,
    weight_decay: float = 0.01,
    beta_1: float = 0.9,
    beta_2: float = 0.98,
    epsilon: float = 1e-9,
    clip_norm: float | None = 1.0,
    ema: float | None = None,
) -> TransformerAdamW:
    """The optimizer for training a Transformer from scratch.

    `beta_2` and `epsilon` are those of "Attention Is All You Need" (Vaswani et al. 2017, section
    5.3), whose Adam has no decay: `weight_decay=0`.

    Args:
        learning_rate: a constant, or a schedule over updates.
        weight_decay: share of a matrix that an update takes off it, times the learning rate.
        beta_1: decay of the gradient's mean.
        beta_2: decay of the squared gradient's mean.
        epsilon: added to the root of the latter.
        clip_norm: longest gradient over all variables together; None for any.
        ema: decay of a running mean of the weights (0.999, say), or None. `averaged_weights` puts
            the mean in place for a while; after `fit` the model has it for good.

    Raises:
        ValueError: for a decay of the mean outside [0, 1).

    >>> from keras_transformer.training import InverseSquareRootSchedule
    >>> adamw(InverseSquareRootSchedule(1e-3, 4000), weight_decay=0.0).global_clipnorm
    1.0
    """
    if ema is not None and not 0.0 <= ema < 1.0:
        raise ValueError(f"ema must be in [0, 1) or None, got {ema}.")
    return TransformerAdamW(
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        global_clipnorm=clip_norm,
        use_ema=ema is not None,
        ema_momentum=0.99 if ema is None else ema,
    )
