"""What `DocumentBatches` serves, read by the encoder of documents and by the models of them."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy

from keras_attnpool import layers, models
from keras_attnpool.workbench import text

pytestmark = pytest.mark.every_backend

DOCUMENTS = [[[5, 8, 2], [], [9, 4, 7, 3]], [[6, 1]], []]
BUILDERS = {
    "HCAN": lambda **options: models.HCAN(
        30, 3, embedding_dim=4, filters=6, num_heads=2, **options
    ),
    "HAN": lambda **options: models.HAN(
        30, 3, embedding_dim=4, gru_units=3, hidden_dim=5, **options
    ),
}


def mean_of_ids():
    """An encoder of sentences."""
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(10, 2, mask_zero=True)(ids)
    return keras.Model(ids, layers.MaskedAveragePooling1D()(vectors))


@pytest.mark.parametrize("packed", [1, 2])
def test_it_reads_what_document_batches_serve(packed):
    documents = [[[1, 2, 3, 4], [5, 0, 6]], [[7, 3], [], [2, 9, 8, 1]], []]
    layer = layers.HierarchicalEncoder(mean_of_ids())
    served = {}
    for groups in (0, packed):
        batches = text.DocumentBatches(
            documents, batch_size=3, num_buckets=1, packed=groups, shuffle=False
        )
        output = layer(batches[0])
        served[groups] = numpy(output)
        np.testing.assert_array_equal(numpy(output._keras_mask), np.any(served[groups], axis=2))
    assert served[0].shape == (3, 3, 2) and not served[0][2].any()
    np.testing.assert_allclose(served[packed], served[0], atol=1e-6)


@pytest.mark.parametrize("name", everywhere(BUILDERS, "HCAN", reason="packed as HCAN is"))
@pytest.mark.parametrize("packed", everywhere([1, 2], 2, reason="packed as two groups are"))
def test_packed_batches_have_the_same_weights_and_predictions(name, packed, tmp_path):
    model, other = BUILDERS[name](), BUILDERS[name](packed=packed)
    assert [v.path for v in other.weights] == [v.path for v in model.weights]
    other.set_weights(model.get_weights())
    batches = text.DocumentBatches(DOCUMENTS, packed=packed, num_buckets=1, shuffle=False)
    plain = text.DocumentBatches(DOCUMENTS, num_buckets=1, shuffle=False)[0]
    scores = batches.predict(other)
    np.testing.assert_allclose(scores, model.predict(plain, verbose=0), atol=1e-5)
    other.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict_on_batch(batches[0]), scores, atol=1e-6)
