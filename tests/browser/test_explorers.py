"""The explorers of the site compute what the Keras layers compute, and show it."""

import keras
import numpy as np
import pytest
from docs_hooks import REPOSITORY, hook

from keras_attnpool import layers, ops
from keras_attnpool.workbench.text import WordTokenizer

pytestmark = [
    pytest.mark.one_backend("pages in a browser"),
    pytest.mark.browser,
    pytest.mark.timeout(300),
]

TEXTS = [
    "The breakfast was not at all good.",
    "Nobody liked the submarine , but we LOVED it!",
    "hotel",
    "a masked text",
]
MASKED = [(), (1, 4), (), (0, 1, 2)]


def array(tensor):
    return keras.ops.convert_to_numpy(keras.ops.stop_gradient(tensor))


@pytest.fixture(scope="module")
def trained():
    """The words' ids as the package reads them, and the parts of the models by reader."""
    content, models = hook("explorer_model", REPOSITORY / "tools").load()
    return WordTokenizer(content["words"]), models


@pytest.fixture(scope="module")
def batch(trained):
    """Ids and mask of the texts; words are masked here and there."""
    ids = trained[0].encode(TEXTS)
    mask = ids > 0
    for row, places in enumerate(MASKED):
        mask[row, list(places)] = False
    return ids, mask


@pytest.fixture
def home(browser, served):
    browser.open(f"{served}/index.html", 1280, "light")
    return browser


COMPUTE = """
const {unpack, classify} = explorerForward;
const arrays = unpack(explorerModel), [ids, mask, pooling, options] = arguments;
return ids.map((row, i) => classify(arrays, row, mask[i], pooling, options));
"""


def colder(layer, name, factor):
    """Multiplies the weights of a layer that make its scores: a lower temperature."""
    (weight,) = (each for each in layer.weights if each.path.endswith(name))
    before = array(weight).copy()
    weight.assign(before * factor)
    return lambda: weight.assign(before)


def states_of(reader, model, ids, mask):
    """The vectors of the words, read under this mask."""
    embedded = keras.ops.take(model.get_layer("embedding").embeddings, ids, axis=0)
    return embedded if reader == "words" else model.get_layer("encoder")(embedded, mask=mask)


def expected(parts, states, mask, name, temperature, threshold):
    """Scores (None without attention) and probabilities of Keras, batch first."""
    *_, poolings, classifiers = parts
    layer = poolings[name]
    if name in ("mean", "max"):
        return None, array(classifiers[name](layer(states, mask=mask)))
    undo = None
    if name.startswith("lama"):
        scaled = type(layer)(layer.num_heads, layer.rank, learn_scale=True)
        scaled.build(states.shape)
        for weight in scaled.weights:
            end = weight.path.split("/", 1)[1]
            same = [each for each in layer.weights if each.path.endswith(f"/{end}")]
            weight.assign(same[0] if same else keras.ops.full(weight.shape, 1 / temperature))
        layer = scaled
    elif name == "sam":
        cut = type(layer).from_config({**layer.get_config(), "threshold": threshold})
        cut.build(states.shape)
        cut.set_weights(layer.get_weights())
        layer = cut
        undo = colder(layer, "token/score_kernel", 1 / temperature)
    else:
        weights = "context" if name == "attention" else "score_kernel"
        undo = colder(layer, weights, 1 / temperature)
    vector, scores = layer(states, mask=mask, return_attention_scores=True)
    found = keras.tree.map_structure(array, scores), array(classifiers[name](vector))
    if undo:
        undo()
    return found


CASES = [
    ("mean", {}),
    ("max", {}),
    ("attention", {"temperature": 0.25}),
    *(("lama", {"heads": m, "rank": k, "temperature": 0.5}) for m in (1, 2, 4) for k in (1, 2, 4)),
    *(("generalized", {"heads": heads, "temperature": 2.0}) for heads in (1, 2, 4)),
    ("sam", {"threshold": 0.0, "temperature": 0.7}),
    ("sam", {"threshold": 0.6}),
]


@pytest.mark.parametrize("reader", ["words", "context"])
def test_every_pooling_is_that_of_keras(home, trained, batch, reader):
    ids, mask = batch
    parts = trained[1][reader]
    states = states_of(reader, parts[0], ids, mask)
    for pooling, options in CASES:
        name = {"lama": "lama-{heads}-{rank}", "generalized": "generalized-{heads}"}.get(
            pooling, pooling
        )
        name = name.format(**options)
        found = home.run(
            COMPUTE, ids.tolist(), mask.tolist(), pooling, {**options, "reader": reader}
        )
        temperature, threshold = options.get("temperature", 1), options.get("threshold", 0)
        scores, shares = expected(parts, states, mask, name, temperature, threshold)

        def same(key, wanted, found=found, case=(pooling, options)):
            rows = np.array([each[key] for each in found])
            np.testing.assert_allclose(rows, wanted, atol=1e-4, err_msg=f"{case}: {key}")

        same("probabilities", shares)
        if pooling == "sam":
            same("gate", scores["feature"])
            same("weights", scores["token"][:, None])
        elif pooling == "generalized":
            same("byFeature", scores.transpose(0, 1, 3, 2))
            same("weights", scores.mean(-1))
        elif scores is not None:
            same("weights", scores if scores.ndim == 3 else scores[:, None])


def test_words_are_those_of_the_tokenizer(home, trained):
    tokenizer, _ = trained
    texts = [*TEXTS, "Café  déjà-vu?! 3.5 _x", "e\u0301te\u0301 … ", ""]
    found = home.run("return arguments[0].map(explorerForward.tokenize)", texts)
    assert found == [tokenizer.tokenize(text) for text in texts]


SHOWN = """
const numbers = (selector, key) =>
  [...document.querySelectorAll(selector)].map((each) => Number(each.dataset[key]));
return [numbers(".explorer-words > *", "weight"), numbers(".explorer-stars > *", "share")];
"""


def test_typed_by_keyboard_it_shows_these_numbers(home, trained):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    tokenizer, models = trained
    _, encoder, poolings, classifiers = models["words"]
    text = "the soup was superb , but the waiter was never friendly ."
    field = home.driver.find_element(By.CSS_SELECTOR, ".explorer textarea")
    field.clear()
    field.send_keys(text)
    chosen = home.driver.find_element(By.CSS_SELECTOR, ".explorer input[value='words/lama']")
    chosen.send_keys(Keys.SPACE)  # four heads
    ids = tokenizer.encode([text])
    mask = ids > 0
    vector, scores = poolings["lama-4-1"](encoder(ids), mask=mask, return_attention_scores=True)
    weights, shares = home.run(SHOWN)
    np.testing.assert_allclose(weights, array(scores)[0].mean(0), atol=1e-4)
    np.testing.assert_allclose(shares, array(classifiers["lama-4-1"](vector))[0], atol=1e-4)

    # Padding, though it holds NaN, changes nothing.
    sliders = home.driver.find_elements(By.CSS_SELECTOR, ".explorer input[type=range]")
    sliders[-1].send_keys(Keys.ARROW_RIGHT * 3)
    padded, same_shares = home.run(SHOWN)
    assert padded == [*weights, 0, 0, 0] and same_shares == shares

    # A word that is pressed has no weight, and the others share it.
    word = home.driver.find_elements(By.CSS_SELECTOR, ".explorer-words button")[3]
    word.send_keys(Keys.ENTER)
    masked, _ = home.run(SHOWN)
    assert masked[3] == 0 and sum(masked) == pytest.approx(1, abs=1e-4)
    assert home.run("return document.activeElement.getAttribute('aria-pressed')") == "true"


@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_on_right_answers_and_fails_as_the_lesson(browser, served, trained, width):
    from selenium.webdriver.common.by import By

    browser.open(f"{served}/index.html", width, "light")
    content, _ = hook("explorer_model", REPOSITORY / "tools").load()

    def find(selector):
        return browser.driver.find_element(By.CSS_SELECTOR, f".explorer {selector}")

    def likeliest():
        _, shares = browser.run(SHOWN)
        return 1 + int(np.argmax(shares))

    assert browser.run(SHOWN)[1][content["sentences"][0][0] - 1] > 0.8
    assert (
        browser.run(
            "return document.querySelector('.explorer-verdict').getBoundingClientRect().bottom"
        )
        < 900
    )
    numbers = browser.run(
        "return [...document.querySelectorAll('.explorer-models input')]"
        ".map((each) => [each.value, Number(each.nextSibling.dataset.right)])"
    )
    names = {"lama": "lama-4-1", "generalized": "generalized-4"}
    assert len(numbers) == 12
    for value, right in numbers:
        reader, pooling = value.split("/")
        assert right == content["right"][reader][names.get(pooling, pooling)]
    for (stars, _), button in zip(
        content["sentences"],
        browser.driver.find_elements(By.CSS_SELECTOR, ".explorer-examples button"),
        strict=True,
    ):
        browser.run("arguments[0].click()", button)
        assert likeliest() == stars and find(".explorer-verdict").text.endswith("Right.")
    browser.run("arguments[0].click()", find(".explorer-examples button:nth-child(2)"))
    find(".explorer-step").click()
    assert likeliest() == 5 and "Wrong: 1 star" in find(".explorer-verdict").text


def test_the_masks_are_those_of_the_layer(browser, served):
    browser.open(f"{served}/layers/positional-self-attention.html", 1280, "light")
    time = 6
    layer = layers.PositionalSelfAttention(2, positions=())
    for window, direction, cost in [
        (0, "", ""), (2, "", ""), (0, "earlier", "scaled_distance"), (3, "later", "distance"),
    ]:  # fmt: skip
        names = [f"faraway_{window}" if window else "", direction, cost]
        layer = layers.PositionalSelfAttention(
            2, positions=[name for name in names if name], kernel_initializer="zeros"
        )
        _, scores = layer(np.ones((1, time, 3), "float32"), return_attention_scores=True)
        options = {"window": window, "direction": direction, "cost": cost}
        script = "return explorerForward.positionWeights(arguments[0], arguments[1])"
        found = browser.run(script, time, options)
        np.testing.assert_allclose(found, array(scores)[0], atol=1e-6)


def test_the_temperature_is_that_of_the_softmax(browser, served):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.open(f"{served}/layers/low-rank-attention-pooling.html", 1280, "light")
    slider = browser.driver.find_element(By.CSS_SELECTOR, ".explorer input[type=range]")
    slider.send_keys(Keys.ARROW_LEFT * 10)
    weights, _ = browser.run(SHOWN)
    logits = np.array([[1, 0.5, -0.5, -1]], "float32") / 10**-0.5
    np.testing.assert_allclose(weights, array(ops.masked_softmax(logits))[0], atol=1e-5)
