"""Attention made visible: read it from any model, draw it, count it, put it to the test.

Works on any layer whose call takes `return_attention_scores`. NumPy in, NumPy out; plots need the
extra `plots`.
"""

from keras_attnpool.analysis.accuracy_against_parameters import plot_accuracy_against_parameters
from keras_attnpool.analysis.attention_scores import attention_model, attention_scores
from keras_attnpool.analysis.deletion_curve import (
    DeletionCurve,
    deletion_curve,
    plot_deletion_curve,
)
from keras_attnpool.analysis.gradient_saliency import gradient_saliency
from keras_attnpool.analysis.head_similarity import (
    head_redundancy,
    head_similarity,
    plot_head_similarity,
)
from keras_attnpool.analysis.heatmap_html import heatmap_html, heatmap_page
from keras_attnpool.analysis.learning_curves import plot_learning_curves
from keras_attnpool.analysis.mask_leaks import MaskLeak, mask_leaks
from keras_attnpool.analysis.plot_heatmap import plot_heatmap
from keras_attnpool.analysis.rationale_scores import (
    RationaleScore,
    rationale_auc,
    rationale_mass,
)
from keras_attnpool.analysis.reduce_scores import reduce_scores
from keras_attnpool.analysis.top_attended_words import top_attended_words
from keras_attnpool.analysis.weight_distribution import (
    plot_weight_distribution,
    weight_distribution,
)

__all__ = [
    "DeletionCurve",
    "MaskLeak",
    "RationaleScore",
    "attention_model",
    "attention_scores",
    "deletion_curve",
    "gradient_saliency",
    "head_redundancy",
    "head_similarity",
    "heatmap_html",
    "heatmap_page",
    "mask_leaks",
    "plot_accuracy_against_parameters",
    "plot_deletion_curve",
    "plot_head_similarity",
    "plot_heatmap",
    "plot_learning_curves",
    "plot_weight_distribution",
    "rationale_auc",
    "rationale_mass",
    "reduce_scores",
    "top_attended_words",
    "weight_distribution",
]
