"""The base of the layers that attend to the steps of one direction."""

from typing import Any

from keras import ops

from keras_attnpool.layers._attention import Call, SequenceAttentionBase
from keras_attnpool.ops._additive_attention import additive_attention
from keras_attnpool.ops.positions import Relation
from keras_attnpool.types import Tensor

# The keys that a query may attend to.
DIRECTIONS = {
    "forward": Relation(highest=-1),
    "backward": Relation(lowest=1),
    None: Relation(itself=False),
}


class DirectionalAttentionBase(SequenceAttentionBase):
    """Base of the layers with DiSAN's masked attention; not public.

    A subclass calls `_values`, passes the values to `_directional_attention`, and mixes the values
    with the attention's output.
    """

    def _sublayer_arguments(self, name: str) -> dict[str, Any]:
        """Returns the common arguments for an inner layer, with a separate seed.

        Create the weights of this layer before the inner layer, because the seeds are given out in
        this order.
        """
        seed = None if self.seed is None else (self.seed + 1) % 2**31
        return self._sublayer_kwargs(name, dropout=self.dropout, seed=seed)

    def _directional_attention(self, hidden: Tensor, call: Call) -> tuple[Tensor, Tensor | None]:
        """Returns `s`, with any values at padding, and the weights `(..., query, key, units)`."""
        dropped = self._apply_dropout(hidden, call.training)
        source = self._product(dropped, self.source_kernel)
        target = self._product(dropped, self.target_kernel, self.score_bias)
        output, scores = additive_attention(
            # The terms are divided before they are added, because there are far more sums than
            # terms.
            source / self.scale,
            target / self.scale,
            hidden,
            lambda x: self.scale * ops.tanh(x),
            call.mask,
            DIRECTIONS[self.direction].tables(hidden)[0],
            return_attention_scores=call.with_scores,
            bounded=self.scale <= 10,
            zero_padding=False,
        )
        # With a single feature the scores have no axis of features, so this line adds the axis.
        if scores is not None and self.units == 1:
            scores = ops.expand_dims(scores, -1)
        return output, scores
