"""How many numbers each layer learns, as its paper or its formula says."""

import pytest

from keras_attnpool import layers

pytestmark = pytest.mark.one_backend("counts parameters")

LSTMS = {"kernel_initializer": "zeros", "recurrent_initializer": "zeros"}
STACKED = (5, 5 + 2 * 3, 5 + 2 * 3), (5, 5 + 3, 5 + 3), (5, 2 * 3, 2 * 3)
CONV = 3 * 512**2 + 512
HEADS = {"num_heads": 8, "filters": 512}

# The layer, its arguments, the features of its inputs or their shapes, and the count.
COUNTS = [
    ("AttentionPooling", {}, 6, 6),
    ("AttentionPooling", {"hidden_dim": 200}, 100, 100 * 200 + 200 + 200),  # HAN
    ("AttentiveStatisticsPooling", {"hidden_dim": 64}, 1500, 1500 * 64 + 64 + 64 + 1),
    # LAMA, sections 4 and 5.1; Lin et al., section 4.
    ("BidirectionalGRU", {"units": 50}, 100, 45_600),
    ("BidirectionalGRU", {"units": 256}, 100, 549_888),
    ("BidirectionalLSTM", {"units": 300}, 100, 2 * 4 * 300 * (100 + 300 + 1)),
    # Bi-BloSAN: two of these, and the pooling of both directions.
    ("BlockSelfAttention", {"units": 240}, 300, (2_223_360 - 461_760) // 2),
    ("MultiDimAttentionPooling", {}, 480, 461_760),
    # The generalized pooling paper, section 4.2.
    ("CharacterEmbedding", {"num_characters": 70}, [(None, None, None)], 70 * 15 + 13_500),
    (
        "CharacterEmbedding",
        {"num_characters": 70, "use_bias": True},
        [(None, None, None)],
        70 * 15 + 13_800,
    ),
    # A level of HCAN: 6,297,088 in the paper, 5,510,144 in the code.
    ("ConvMultiHeadAttention", HEADS, 512, 6_297_088 - 2 * CONV - 512),
    ("ConvMultiHeadAttention", {**HEADS, "parallel": False}, 512, 3 * CONV + 2 * 512),
    ("ConvAttentionPooling", HEADS, 512, 2 * CONV + 512),
    ("ConvAttentionPooling", {**HEADS, "value_conv": False}, 512, 5_510_144 - 6 * CONV - 2 * 512),
    ("DirectionalSelfAttention", {"units": 300}, 300, 451_500),
    ("DirectionalSelfAttention", {"units": 300}, 200, 421_500),
    ("FeatureWiseAttention", {"reduction": 16}, 512, 33_312),
    ("FeatureWiseAttention", {"reduction": 16, "use_bias": False}, 512, 32_768),
    ("FeatureWiseAttention", {"reduction": 16}, 3, 10),
    ("FirstPooling1D", {}, 6, 0),
    # 2 d^2 + 3 d: the released code's two dense layers with biases, and one more bias.
    ("FusionGate", {}, [(None, None, 300)] * 2, 180_900),
    ("FusionGate", {}, [(None, None, 600)] * 2, 721_800),
    ("GeneralizedMeanPooling1D", {}, 300, 1),
    ("GeneralizedMeanPooling1D", {"per_feature": True}, 300, 300),
    # I (2d d_a + d_a + d_a 2d + 2d) with five heads.
    ("GeneralizedPooling", {"num_heads": 5, "hidden_dim": 600}, 1200, 7_209_000),
    ("GeneralizedPooling", {"num_heads": 5, "hidden_dim": 300}, 600, 1_804_500),
    ("LastPooling1D", {}, 6, 0),
    # SigLIP B/16's probe and attention; the key's 768 biases are cancelled, and left out.
    ("LearnedQueryPooling", {"num_heads": 12}, 768, 768 + 4 * 768 * 768 + 3 * 768),
    # d_c m k + D m k, D^2 + D for the hidden layer, D for a learned context.
    ("LowRankAttentionPooling", {"num_heads": 10, "rank": 2}, 100, 2 * 100 * 20 + 10_100),
    (
        "LowRankAttentionPooling",
        {"num_heads": 10, "use_hidden": False},
        [(None, None, 100), (None, 60)],
        (100 + 60) * 10,
    ),
    (
        "LowRankAttentionPooling",
        {"num_heads": 10, "context": "learned"},
        100,
        2 * 100 * 10 + 10_100 + 100,
    ),
    ("MaskedAveragePooling1D", {}, 6, 0),
    ("MaskedMaxPooling1D", {}, 6, 0),
    ("MultiDimAttentionPooling", {}, 300, 180_600),
    ("MultiDimAttentionPooling", {}, 600, 721_200),
    # d (k + 1) d + (k + 1) d of k attentions.
    ("PositionFusion", {}, [[(None, None, 300)] * 4, (None, None, 300)], 451_500),
    ("PositionFusion", {}, [[(None, None, 300)] * 2, (None, None, 300)], 270_900),
    # d^2 + d of the hidden layer, and 2 d + 1 or 2 d^2 + d of the scores.
    ("PositionalSelfAttention", {"units": 300}, 300, 90_901),
    ("PositionalSelfAttention", {"units": 300, "per_feature": True}, 300, 270_600),
    ("SequentialAttention", {}, [(None, 128, 512)], 33_312 + 2_184),
    # SNLI, MultiNLI, Age and Yelp, on embeddings of 600.
    ("ShortcutStackedBiLSTM", {"units": 600, "num_layers": 3, **LSTMS}, 600, 28_814_400),
    ("ShortcutStackedBiLSTM", {"units": 300, "num_layers": 3, **LSTMS}, 600, 9_367_200),
    ("ShortcutStackedBiLSTM", {"units": 300, "num_layers": 1, **LSTMS}, 600, 2_162_400),
    *(
        (
            "ShortcutStackedBiLSTM",
            {"units": 3, "shortcut": shortcut},
            5,
            2 * 4 * sum(3 * (d + 3) + 3 for d in reads),
        )
        for shortcut, reads in zip(("full", "per_direction", "none"), STACKED, strict=True)
    ),
    (
        "StructuredSelfAttentionPooling",
        {"num_heads": 30, "hidden_dim": 350},
        600,
        600 * 350 + 350 * 30,
    ),
    ("TokenWiseAttention", {}, [(None, 128, 512)], 2_184),
    ("TokenWiseAttention", {"hidden_dim": 8}, [(None, 128, 512)], 2_184),
    ("TokenWiseAttention", {"use_bias": False}, [(None, 128, 512)], 2_048),
    ("TokenWiseAttention", {}, [(None, 10, 512)], 31),
    ("TokenWiseAttention", {"mode": "pointwise"}, 512, 25),
    ("TokenWiseAttention", {"mode": "pointwise", "hidden_dim": 4}, 512, 13),
]


@pytest.mark.parametrize(("name", "arguments", "features", "count"), COUNTS)
def test_parameters(name, arguments, features, count):
    layer = getattr(layers, name)(**arguments)
    shapes = features if isinstance(features, list) else [(None, None, features)]
    layer.build(*shapes)
    assert layer.count_params() == count
