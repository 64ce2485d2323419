"""The layers that are probed: ours, Keras's, KerasHub's, PyTorch's, keras-self-attention's."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras

from keras_attnpool import layers

DIM = 8


class Subject(NamedTuple):
    """A layer and how it is called.

    Attributes:
        make: Called with a dtype policy's name, makes the layer.
        call: Called with layer, inputs and mask, gives the output.
        scores: The same, gives the attention weights; None if the layer cannot give them.
        pools: Whether the output is one vector a text rather than one a word.
        is_keras: Whether the layer takes Keras's masks and files.
        words: The length of the long text.
    """

    make: Callable[[str], Any]
    call: Callable[[Any, Any, Any], Any]
    scores: Callable[[Any, Any, Any], Any] | None = None
    pools: bool = True
    is_keras: bool = True
    words: int = 2000


def _masked(layer: Any, x: Any, mask: Any) -> Any:
    return layer(x, mask=mask)


def _own_scores(layer: Any, x: Any, mask: Any) -> Any:
    return layer(x, mask=mask, return_attention_scores=True)[1]


def _ours(make: Callable[..., Any], pools: bool = True, scores: bool = True) -> Subject:
    return Subject(lambda dtype: make(dtype), _masked, _own_scores if scores else None, pools)


OURS: dict[str, Subject] = {
    "LowRankAttentionPooling": _ours(lambda d: layers.LowRankAttentionPooling(2, dtype=d)),
    "StructuredSelfAttentionPooling": _ours(
        lambda d: layers.StructuredSelfAttentionPooling(2, 4, dtype=d)
    ),
    "GeneralizedPooling": _ours(lambda d: layers.GeneralizedPooling(2, 4, dtype=d)),
    "AttentionPooling": _ours(lambda d: layers.AttentionPooling(4, dtype=d)),
    "MultiDimAttentionPooling": _ours(lambda d: layers.MultiDimAttentionPooling(dtype=d)),
    "ConvAttentionPooling": _ours(lambda d: layers.ConvAttentionPooling(2, DIM, dtype=d)),
    "LearnedQueryPooling": _ours(lambda d: layers.LearnedQueryPooling(1, 2, dtype=d)),
    "AttentiveStatisticsPooling": _ours(lambda d: layers.AttentiveStatisticsPooling(4, dtype=d)),
    "TokenWiseAttention": _ours(lambda d: layers.TokenWiseAttention(mode="pointwise", dtype=d)),
    "SequentialAttention": _ours(lambda d: layers.SequentialAttention(mode="pointwise", dtype=d)),
    "MaskedAveragePooling1D": _ours(lambda d: layers.MaskedAveragePooling1D(dtype=d), scores=False),
    "MaskedMaxPooling1D": _ours(lambda d: layers.MaskedMaxPooling1D(dtype=d), scores=False),
    "FirstPooling1D": _ours(lambda d: layers.FirstPooling1D(dtype=d), scores=False),
    "LastPooling1D": _ours(lambda d: layers.LastPooling1D(dtype=d), scores=False),
    "StatisticsPooling1D": _ours(lambda d: layers.StatisticsPooling1D(dtype=d), scores=False),
    "ConvMultiHeadAttention": _ours(
        lambda d: layers.ConvMultiHeadAttention(2, DIM, parallel=False, dtype=d), pools=False
    ),
    "PositionalSelfAttention": _ours(
        lambda d: layers.PositionalSelfAttention(DIM, dtype=d), pools=False
    ),
    "DirectionalSelfAttention": _ours(
        lambda d: layers.DirectionalSelfAttention(DIM, direction="forward", dtype=d), pools=False
    )._replace(words=250),  # it scores every feature of every pair of words
}


def _twice(layer: Any, x: Any, mask: Any) -> Any:
    return layer([x, x], mask=[mask, mask])


def _twice_scores(layer: Any, x: Any, mask: Any) -> Any:
    return layer([x, x], mask=[mask, mask], return_attention_scores=True)[1]


def _heads(layer: Any, x: Any, mask: Any, **options: Any) -> Any:
    return layer(x, x, query_mask=mask, value_mask=mask, key_mask=mask, **options)


def _pad(layer: Any, x: Any, mask: Any, **options: Any) -> Any:
    return layer(x, padding_mask=mask, **options)


def peers() -> dict[str, Subject]:
    """The layers of others that the installed packages offer on this backend."""
    import keras_hub

    of = keras.layers
    subjects = {
        "keras GlobalAveragePooling1D": Subject(
            lambda d: of.GlobalAveragePooling1D(dtype=d), _masked
        ),
        "keras GlobalMaxPooling1D": Subject(
            # It takes no mask.
            lambda d: of.GlobalMaxPooling1D(dtype=d),
            lambda layer, x, mask: layer(x),
        ),
        "keras Attention": Subject(lambda d: of.Attention(dtype=d), _twice, _twice_scores, False),
        "keras AdditiveAttention": Subject(
            lambda d: of.AdditiveAttention(dtype=d), _twice, _twice_scores, False
        ),
        "keras MultiHeadAttention": Subject(
            lambda d: of.MultiHeadAttention(2, 4, dtype=d),
            _heads,
            lambda *given: _heads(*given, return_attention_scores=True)[1],
            False,
        ),
        "keras_hub TransformerEncoder": Subject(
            lambda d: keras_hub.layers.TransformerEncoder(16, 2, dtype=d),
            _pad,
            lambda *given: _pad(*given, return_attention_scores=True)[1],
            False,
        ),
        "keras_hub FNetEncoder": Subject(
            # It takes no mask.
            lambda d: keras_hub.layers.FNetEncoder(16, dtype=d),
            lambda layer, x, mask: layer(x),
            None,
            False,
        ),
    }
    if keras.backend.backend() == "torch":
        subjects["torch.nn MultiheadAttention"] = _torch_attention()
    subjects["keras-self-attention SeqSelfAttention"] = Subject(
        _self_attention,
        _masked,
        lambda layer, x, mask: type(layer)(return_attention=True)(x, mask=mask)[1],
        pools=False,
    )
    return subjects


def _torch_attention() -> Subject:
    import torch

    def make(dtype: str) -> Any:
        layer = torch.nn.MultiheadAttention(DIM, 2, batch_first=True)
        return layer.to(torch.float16) if dtype == "mixed_float16" else layer

    def both(layer: Any, x: Any, mask: Any) -> Any:
        x = x.to(layer.in_proj_weight.dtype)
        return layer(x, x, x, key_padding_mask=~mask)

    return Subject(
        make,
        lambda *given: both(*given)[0],
        lambda *given: both(*given)[1],
        pools=False,
        is_keras=False,
    )


def _self_attention(dtype: str) -> Any:
    # Not among the packages that the project installs.
    from keras_self_attention import SeqSelfAttention

    return SeqSelfAttention(dtype=dtype)
