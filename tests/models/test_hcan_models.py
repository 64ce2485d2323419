"""HCAN and HAN: the rows of table 2, sizes, ragged documents, both levels' attention."""

import keras
import numpy as np
import pytest
from backend_functions import everywhere, numpy, predict, trained_and_read_again

from keras_attnpool import analysis, models

pytestmark = pytest.mark.every_backend

VOCABULARY = 30
# Three sentences with an empty one between, one sentence, none at all.
DOCUMENTS = [[[5, 8, 2], [], [9, 4, 7, 3]], [[6, 1]], []]
SMALL = {"embedding_dim": 4, "filters": 6, "num_heads": 2}
ROWS = {
    (levels, attentions, pooling): {
        "hierarchical": levels == 2,
        "parallel": attentions == 2,
        "pooling": pooling,
    }
    for levels in (1, 2)
    for attentions in (1, 2)
    for pooling in ("max", "target")
}
BUILDERS = {
    "HCAN": lambda **options: models.HCAN(VOCABULARY, 3, **{**SMALL, **options}),
    "HAN": lambda **options: models.HAN(
        VOCABULARY, 3, embedding_dim=4, gru_units=3, hidden_dim=5, **options
    ),
}


def padded(documents, sentences=None, words=None):
    """Ids `(batch, sentences, words)`."""
    sentences = sentences or max([len(d) for d in documents] + [1])
    words = words or max([len(s) for d in documents for s in d] + [1])
    ids = np.zeros((len(documents), sentences, words), "int32")
    for i, document in enumerate(documents):
        for j, sentence in enumerate(document):
            ids[i, j, : len(sentence)] = sentence
    return ids


def size(model):
    """Parameters without the embeddings of words."""
    return sum(
        int(np.prod(v.shape)) for v in model.weights if not v.path.endswith("embedding/embeddings")
    )


# With all parts, and with the fewest: the layers hold their own promises under every backend.
ROWS_EVERYWHERE = ((2, 2, "target"), (1, 1, "max"))
once = pytest.mark.one_backend("has the parts of a row that runs everywhere")


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=() if row in ROWS_EVERYWHERE else once) for row in ROWS],
    ids=str,
)
def test_every_row_of_table_2_trains_saves_and_reloads(row, tmp_path):
    model = BUILDERS["HCAN"](**ROWS[row])
    ids = padded(DOCUMENTS)
    ids = ids if row[0] == 2 else ids.reshape(3, -1)
    trained_and_read_again(model, ids, np.array([0, 1, 2]), tmp_path)


@pytest.mark.one_backend("counts parameters")
def test_parameters():
    """Two levels of 6,297,088, or 5,510,144 as in the published code, at 512 filters; HAN."""
    places = (512 + 128) * 512
    classifier = 512 * 5 + 5
    rest = places + classifier
    assert size(models.HCAN(2, 5)) == 2 * 6_297_088 + rest
    assert size(models.HCAN(2, 5, value_conv=False)) == 2 * 5_510_144 + rest
    one_less = 3 * (3 * 512 * 512 + 512)
    assert size(models.HCAN(2, 5, parallel=False)) == 2 * (6_297_088 - one_less) + rest
    target = 2 * (3 * 512 * 512 + 512) + 512
    assert size(models.HCAN(2, 5, pooling="max")) == 2 * (6_297_088 - target) + rest
    flat = models.HCAN(2, 5, hierarchical=False)
    assert size(flat) == 6_297_088 + 512 * 512 + classifier
    assert size(models.HAN(2, 5)) == 255_600 + 100 * 5 + 5


@pytest.mark.parametrize("name", everywhere(BUILDERS, "HCAN", reason="HCAN has the longer way"))
def test_a_padded_batch_is_each_document_alone(name):
    model = BUILDERS[name]()
    together = predict(model, padded(DOCUMENTS))
    wider = predict(model, padded(DOCUMENTS, sentences=5, words=6))
    np.testing.assert_allclose(wider, together, atol=1e-5)
    for document, scores in zip(DOCUMENTS, together, strict=True):
        np.testing.assert_allclose(predict(model, padded([document]))[0], scores, atol=1e-5)


@pytest.mark.parametrize("name", everywhere(BUILDERS, "HCAN", reason="read as HCAN is"))
def test_attention_of_both_levels(name):
    """Sums to one over the words of each sentence, and over the sentences that have words."""
    model, ids = BUILDERS[name](), padded(DOCUMENTS)
    scores, predictions = analysis.attention_scores(model, ids, return_predictions=True)
    np.testing.assert_allclose(predictions, model.predict(ids, verbose=0), atol=1e-6)
    words, sentences = scores["sentences/word_pooling"], scores["pooling"]
    if name == "HAN":
        words, sentences = words[:, :, None], sentences[:, None]
    real = np.broadcast_to((ids != 0)[:, :, None], words.shape)
    np.testing.assert_array_equal(words > 0, real)
    np.testing.assert_allclose(words.sum(-1), real.any(-1), atol=1e-5)
    np.testing.assert_allclose(
        sentences.sum(-1), np.broadcast_to([[1], [1], [0]], sentences.shape[:2]), atol=1e-5
    )
    only = analysis.attention_scores(model, ids, "sentences/word_pooling")
    np.testing.assert_allclose(only, scores["sentences/word_pooling"], atol=1e-6)
    # By hand: the encoder's own pooling on one sentence.
    encoder = model.get_layer("sentences").encoder
    alone = analysis.attention_scores(encoder, ids[:1, 2], "word_pooling")
    np.testing.assert_allclose(alone[0], only[0, 2], atol=1e-5)


@pytest.mark.one_backend("counts parameters")
def test_embeddings_are_set_in_the_sentences():
    matrix = np.random.default_rng(0).normal(size=(VOCABULARY, 7)).astype("float32")
    for build in BUILDERS.values():
        options = {"embeddings": matrix, "trainable_embeddings": False}
        options |= {"embedding_dim": 7} if build is not BUILDERS["HAN"] else {}
        if build is BUILDERS["HAN"]:
            model = models.HAN(VOCABULARY, 3, **options)
        else:
            model = build(**options)
        (embeddings,) = [v for v in model.weights if v.path.endswith("embedding/embeddings")]
        np.testing.assert_array_equal(numpy(embeddings), matrix)
        assert not embeddings.trainable


def test_longer_documents_than_positions_are_errors():
    model = models.HCAN(VOCABULARY, 3, max_words=3, max_sentences=2, **SMALL)
    with pytest.raises(ValueError, match="max_length=3"):
        model(padded([[[1, 2, 3, 4]]]))
    with pytest.raises(ValueError, match="max_length=2"):
        model(padded([[[1], [2], [3]]]))


@pytest.mark.parametrize("name", everywhere(BUILDERS, reason="a trap of PyTorch's gradients"))
def test_training_steps_do_not_add_up(name):
    """Three steps on one batch at rate 0 and one at rate 1 make what the last one makes alone."""
    trained = []
    for idle in (0, 3):
        keras.utils.set_random_seed(0)
        model = BUILDERS[name](**({"dropout": 0.0} if name == "HCAN" else {}))
        model.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
        for _ in range(idle):
            model.train_on_batch(padded(DOCUMENTS), np.array([0, 1, 2]))
        model.optimizer.learning_rate = 1.0
        model.train_on_batch(padded(DOCUMENTS), np.array([0, 1, 2]))
        trained.append([numpy(v) for v in model.trainable_variables])
    for alone, behind in zip(*trained, strict=True):
        np.testing.assert_allclose(behind, alone, atol=1e-5)
