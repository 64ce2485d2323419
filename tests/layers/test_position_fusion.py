"""The fusion of several attentions and the tokens."""

import keras
import numpy as np
import pytest
from backend_functions import numpy
from layer_contract import DIM, SeededContract, SequenceContract, batch
from reference import position_fusion as reference

from keras_attnpool.layers import PositionFusion

pytestmark = pytest.mark.every_backend


@keras.saving.register_keras_serializable(package="test_position_fusion")
class OfItsInputs(PositionFusion):
    """The layer on two attentions that follow from the tokens, so that one tensor goes in."""

    def build(self, input_shape):
        super().build([input_shape, input_shape], input_shape)

    def call(self, inputs, mask=None, training=None, return_attention_scores=False):
        attentions = [2 * inputs, keras.ops.flip(inputs, axis=-1)]
        return super().call(attentions, inputs, mask, training, return_attention_scores)

    def compute_mask(self, inputs, mask=None):
        return mask

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def compute_output_spec(self, inputs, mask=None, training=None, return_attention_scores=False):
        return super().compute_output_spec(
            [inputs, inputs], inputs, mask, training, return_attention_scores
        )


class TestPositionFusion(SeededContract, SequenceContract):
    def make(self, **kwargs):
        return OfItsInputs(**kwargs)

    def calls(self):
        return [{}, {"return_attention_scores": True}]

    def reference(self, weights, x, mask):
        return reference.fuse([2 * x, x[..., ::-1]], x, mask, weights["kernel"], weights["bias"])

    @pytest.mark.torch_first("the reference has the same equations")
    def test_one_step_of_two_features_by_hand(self):
        """Scores log 3 and 0 for the first feature: 3/4 of the attention, 1/4 of the token."""
        layer = PositionFusion()
        layer.build([(None, None, 2)], (None, None, 2))
        layer.set_weights([np.zeros((2, 4)), np.array([np.log(3.0), 0.0, 0.0, 0.0])])
        attention, token = np.array([[[8.0, 2.0]]]), np.array([[[4.0, 6.0]]])
        output, scores = layer([attention], token, return_attention_scores=True)
        np.testing.assert_allclose(numpy(output), [[[7.0, 4.0]]], rtol=1e-6)
        np.testing.assert_allclose(numpy(scores), [[[[0.75, 0.5], [0.25, 0.5]]]], rtol=1e-6)

    def test_weights_sum_to_one_over_the_sources(self):
        x, mask = batch()
        _, scores = self.outputs(self.built(), x * 50, mask, return_attention_scores=True)
        assert scores.shape == (4, 5, 3, DIM) and (scores >= 0).all()
        np.testing.assert_allclose(scores[mask].sum(axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(scores[~mask], 0)

    def test_dropout_changes_the_weights_alone(self):
        """With sources that are all the same, the mixture is that source whatever the weights."""
        x, _ = batch()
        layer = PositionFusion(dropout=0.5, seed=1)
        output, scores = layer([x, x], x, training=True, return_attention_scores=True)
        np.testing.assert_allclose(numpy(output), x, atol=1e-5)
        _, still = layer([x, x], x, return_attention_scores=True)
        assert np.abs(numpy(scores) - numpy(still)).max() > 1e-2

    @pytest.mark.parametrize("masked", ["attentions", "tokens", "both"])
    def test_the_mask_comes_with_the_tensors(self, masked):
        ids = np.array([[1, 2, 0], [3, 0, 4], [0, 0, 0]])
        with_mask = keras.layers.Embedding(9, DIM, mask_zero=True)(ids)
        without = numpy(with_mask)
        attentions = [without, with_mask if masked != "tokens" else without]
        tokens = with_mask if masked != "attentions" else without
        layer = PositionFusion(seed=0)
        output = layer(attentions, tokens)
        np.testing.assert_array_equal(numpy(output)[ids == 0], 0)
        explicit = layer([without, without], without, mask=ids != 0)
        np.testing.assert_array_equal(numpy(output), numpy(explicit))
        np.testing.assert_array_equal(numpy(output._keras_mask), ids != 0)
        output, _ = layer(attentions, tokens, return_attention_scores=True)
        np.testing.assert_array_equal(numpy(output._keras_mask), ids != 0)

    def test_tensors_that_do_not_fit_are_errors_with_their_shapes(self):
        x, _ = batch()
        for attentions in ([], [x[..., :4]], [x[:, :3]], [x[0]], x):
            with pytest.raises(ValueError, match=r"'the_name' \(PositionFusion\).*\(4, 5, 6\)"):
                PositionFusion(name="the_name")(attentions, x)
        built = PositionFusion(name="the_name")
        built([x, x], x)
        with pytest.raises(ValueError, match="as built: 2 attentions of dim 6"):
            built([x], x)
