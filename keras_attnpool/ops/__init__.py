"""Pure functions on `keras.ops` that the layers share; custom layers may use them."""

from keras_attnpool.ops._devices import need_gradients as need_gradients
from keras_attnpool.ops._rows import empty_batch_safe as empty_batch_safe
from keras_attnpool.ops.graded import expected_score as expected_score
from keras_attnpool.ops.graded import score_distribution as score_distribution
from keras_attnpool.ops.masking import as_bool_mask as as_bool_mask
from keras_attnpool.ops.masking import at_least_float32 as at_least_float32
from keras_attnpool.ops.masking import check_mask_shape as check_mask_shape
from keras_attnpool.ops.masking import lengths_to_mask as lengths_to_mask
from keras_attnpool.ops.masking import masked_max as masked_max
from keras_attnpool.ops.masking import masked_mean as masked_mean
from keras_attnpool.ops.masking import masked_softmax as masked_softmax
from keras_attnpool.ops.masking import masked_sum as masked_sum
from keras_attnpool.ops.masking import zero_masked as zero_masked
from keras_attnpool.ops.masking import zero_masked_rows as zero_masked_rows
from keras_attnpool.ops.normalization import l2_normalize as l2_normalize
from keras_attnpool.ops.positions import distance as distance
from keras_attnpool.ops.positions import earlier as earlier
from keras_attnpool.ops.positions import faraway as faraway
from keras_attnpool.ops.positions import later as later
from keras_attnpool.ops.positions import scaled_distance as scaled_distance
from keras_attnpool.ops.sparse import masked_entmax15 as masked_entmax15
from keras_attnpool.ops.sparse import masked_sparsemax as masked_sparsemax
