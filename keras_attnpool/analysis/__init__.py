"""Tools that read attention weights from any model, draw them, measure them and test them.

The tools work on any layer whose call takes `return_attention_scores`. The tools take and return
NumPy arrays. Plots need the extra `plots`.
"""

from keras_attnpool.analysis.bounds import NormalizedAOPC as NormalizedAOPC
from keras_attnpool.analysis.bounds import normalized_aopc as normalized_aopc
from keras_attnpool.analysis.deletion import DeletionCurve as DeletionCurve
from keras_attnpool.analysis.deletion import deletion_curve as deletion_curve
from keras_attnpool.analysis.deletion import plot_deletion_curve as plot_deletion_curve
from keras_attnpool.analysis.erasure import Faithfulness as Faithfulness
from keras_attnpool.analysis.erasure import faithfulness as faithfulness
from keras_attnpool.analysis.erasure import leave_one_out as leave_one_out
from keras_attnpool.analysis.grading import grade_attributions as grade_attributions
from keras_attnpool.analysis.heads import head_redundancy as head_redundancy
from keras_attnpool.analysis.heads import head_similarity as head_similarity
from keras_attnpool.analysis.heads import plot_head_similarity as plot_head_similarity
from keras_attnpool.analysis.html_heatmaps import heatmap_html as heatmap_html
from keras_attnpool.analysis.html_heatmaps import heatmap_page as heatmap_page
from keras_attnpool.analysis.html_matrices import matrices_html as matrices_html
from keras_attnpool.analysis.independence import BatchIndependence as BatchIndependence
from keras_attnpool.analysis.independence import batch_independence as batch_independence
from keras_attnpool.analysis.pictures import grid_html as grid_html
from keras_attnpool.analysis.pictures import plot_grid as plot_grid
from keras_attnpool.analysis.pictures import plot_ranked as plot_ranked
from keras_attnpool.analysis.pictures import plot_series as plot_series
from keras_attnpool.analysis.pictures import ranked_html as ranked_html
from keras_attnpool.analysis.pictures import series_html as series_html
from keras_attnpool.analysis.plotted_heatmaps import plot_heatmap as plot_heatmap
from keras_attnpool.analysis.rationale_scores import RationaleScore as RationaleScore
from keras_attnpool.analysis.rationale_scores import rationale_auc as rationale_auc
from keras_attnpool.analysis.rationale_scores import rationale_auprc as rationale_auprc
from keras_attnpool.analysis.rationale_scores import rationale_iou_f1 as rationale_iou_f1
from keras_attnpool.analysis.rationale_scores import rationale_mass as rationale_mass
from keras_attnpool.analysis.rationale_scores import rationale_token_f1 as rationale_token_f1
from keras_attnpool.analysis.reduction import reduce_scores as reduce_scores
from keras_attnpool.analysis.report import AttentionReport as AttentionReport
from keras_attnpool.analysis.report import attention_report as attention_report
from keras_attnpool.analysis.saliency import gradient_saliency as gradient_saliency
from keras_attnpool.analysis.saliency import integrated_gradients as integrated_gradients
from keras_attnpool.analysis.score_table import ScoreTable as ScoreTable
from keras_attnpool.analysis.scores import attention_model as attention_model
from keras_attnpool.analysis.scores import attention_scores as attention_scores
from keras_attnpool.analysis.weight_measures import kendall_tau as kendall_tau
from keras_attnpool.analysis.weight_measures import weight_entropy as weight_entropy
from keras_attnpool.analysis.weight_measures import weight_gini as weight_gini
from keras_attnpool.analysis.word_statistics import (
    plot_weight_distribution as plot_weight_distribution,
)
from keras_attnpool.analysis.word_statistics import top_attended_words as top_attended_words
from keras_attnpool.analysis.word_statistics import weight_distribution as weight_distribution
