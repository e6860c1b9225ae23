"""What a decoder-only model remembers between the steps of a generation."""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer.layers.ancestry import (
    ancestry_mask,
    grow_ancestors,
    record_step,
    reorder_ancestors,
)
from keras_transformer.layers.cache import KeyValueCache

Tensor = Any


class GptState(NamedTuple):
    """The prompts and all steps so far; every shape stays the same from step to step.

    The cache first holds the prompt, which all beams share: its tokens stand side by side in the
    places of all beams, so that it takes ``slots = ceil(prompt_length / beams)`` of the cache's
    times and is attended to once for all of them.
    """

    index: Tensor  # int32 scalar: number of steps so far
    lengths: Tensor  # int32 [batch]: tokens before a row's first step, which is its position
    prompt_mask: Tensor  # bool [batch, slots * beams]: which of those places hold real tokens
    ancestors: Tensor  # int32 [time, batch, beams]: which beam wrote each step of a beam's past
    caches: tuple[KeyValueCache, ...]  # for each layer, [batch, kv_heads, slots + time, beams, dim]

    @property
    def beams(self) -> int:
        """Hypotheses for each prompt."""
        return self.ancestors.shape[2]

    @property
    def slots(self) -> Tensor | int:
        """How many of the cache's times the prompt takes."""
        return ops.shape(self.prompt_mask)[1] // self.beams

    def positions(self) -> Tensor:
        """The position of the next token of each hypothesis: int32 ``[batch, beams]``."""
        positions = (self.lengths + self.index)[:, None]  # [batch, 1]
        return ops.broadcast_to(positions, (ops.shape(positions)[0], self.beams))

    def with_step(self) -> "GptState":
        """The state in which each beam has written the next position itself."""
        return self._replace(
            index=self.index + 1, ancestors=record_step(self.ancestors, self.index)
        )

    def attention_mask(self) -> Tensor:
        """What each beam may see: the prompt, and its own steps.

        Returns:
            Boolean ``[batch, 1, beams, (slots + time) * beams]``.
        """
        batch, places = ops.shape(self.prompt_mask)
        prompt = self.prompt_mask[:, None, None, :]  # [batch, 1, 1, slots * beams]
        prompt = ops.broadcast_to(prompt, (batch, 1, self.beams, places))
        steps = ancestry_mask(self.ancestors, self.index)  # [batch, 1, beams, time * beams]
        return ops.concatenate([prompt, steps], axis=-1)

    def grow(self, max_length: Tensor | int) -> "GptState":
        """The state with room for ``max_length`` steps, at least as many as it had room for."""
        return self._replace(
            ancestors=grow_ancestors(self.ancestors, max_length),
            caches=tuple(cache.grow(self.slots + max_length) for cache in self.caches),
        )

    def reorder(self, rows: Tensor) -> "GptState":
        """The state in which hypothesis ``i`` goes on from what was ``rows[i]``."""
        return self._replace(ancestors=reorder_ancestors(self.ancestors, rows))
