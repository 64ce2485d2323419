// The forward passes of the explorers, as the layers of keras_attnpool compute them: plain arrays,
// a text is a list of rows, one a word. tests/browser/test_explorers.py compares them with Keras.
(function () {
  "use strict";

  // --- arithmetic ------------------------------------------------------------------------------

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const dot = (a, b) => sum(a.map((value, i) => value * b[i]));
  const sigmoid = (value) => 1 / (1 + Math.exp(-value));
  const relu = (value) => Math.max(0, value);
  const zeros = (size) => new Array(size).fill(0);
  const column = (rows, i) => rows.map((row) => row[i]);
  // x W + b, for one row x.
  const dense = (x, kernel, bias) =>
    kernel[0].map((_, j) => dot(x, column(kernel, j)) + (bias ? bias[j] : 0));

  // Weights over the kept steps; a text without any has weights of 0.
  function softmax(scores, mask, temperature = 1) {
    const kept = scores.filter((_, t) => mask[t]).map((score) => score / temperature);
    if (!kept.length) return zeros(scores.length);
    const highest = Math.max(...kept);
    const terms = scores.map((s, t) => (mask[t] ? Math.exp(s / temperature - highest) : 0));
    const total = sum(terms);
    return terms.map((term) => term / total);
  }

  const meanOf = (rows, mask) => {
    const kept = rows.filter((_, t) => mask[t]);
    return rows[0].map((_, i) => (kept.length ? sum(column(kept, i)) / kept.length : 0));
  };
  const maxOf = (rows, mask) => {
    const kept = rows.filter((_, t) => mask[t]);
    return rows[0].map((_, i) => (kept.length ? Math.max(...column(kept, i)) : 0));
  };
  // What is padded has weight 0, whatever it holds: 0 * NaN would be NaN.
  const weighted = (weights, rows) =>
    rows[0].map((_, i) => sum(rows.map((row, t) => (weights[t] ? weights[t] * row[i] : 0))));

  // --- the trained model -------------------------------------------------------------------------

  // The arrays of model.js by name, as nested lists.
  function unpack(content) {
    const bytes = Int8Array.from(atob(content.numbers), (letter) => letter.charCodeAt(0));
    const arrays = {};
    let start = 0;
    const nested = (shape, scale) => {
      if (!shape.length) return bytes[start++] * scale;
      return Array.from({ length: shape[0] }, () => nested(shape.slice(1), scale));
    };
    for (const [name, [shape, scale]] of Object.entries(content.weights)) {
      arrays[name] = nested(shape, scale);
    }
    return arrays;
  }

  // A GRU in one direction: a state passes padded steps unchanged, the output there is 0.
  function gru(words, mask, kernel, recurrent, [bias, stateBias]) {
    const units = recurrent.length;
    let state = zeros(units);
    return words.map((word, t) => {
      if (!mask[t]) return zeros(units);
      const x = dense(word, kernel, bias);
      const h = dense(state, recurrent, stateBias);
      state = state.map((old, i) => {
        const update = sigmoid(x[i] + h[i]);
        const reset = sigmoid(x[units + i] + h[units + i]);
        const fresh = Math.tanh(x[2 * units + i] + reset * h[2 * units + i]);
        return update * old + (1 - update) * fresh;
      });
      return state;
    });
  }

  // The vectors of the words: their embeddings, or in "context" a GRU's states in both directions.
  function encode(arrays, reader, ids, mask) {
    const embedding = arrays[`${reader}/embedding`];
    // What stands at a padded step must not matter: there it is NaN.
    const words = ids.map((id) => (id ? embedding[id] : embedding[0].map(() => NaN)));
    if (reader === "words") return words;
    const read = (direction, rows, kept) =>
      gru(rows, kept, ...["kernel", "recurrent", "bias"].map((n) => arrays[`${reader}/${direction}/${n}`]));
    const forward = read("forward", words, mask);
    const backward = read("backward", [...words].reverse(), [...mask].reverse()).reverse();
    return forward.map((row, t) => [...row, ...backward[t]]);
  }

  // --- poolings: each gives the weights, rows of them where there are several, and the vector ----

  function mean({ states, mask }) {
    const kept = mask.filter(Boolean).length;
    return { weights: [mask.map((keep) => (keep ? 1 / kept : 0))], vector: meanOf(states, mask) };
  }

  function max({ states, mask }) {
    const vector = maxOf(states, mask);
    const won = zeros(states.length);
    vector.forEach((highest, i) => {
      const winner = states.findIndex((row, t) => mask[t] && row[i] === highest);
      if (winner >= 0) won[winner] += 1 / vector.length;
    });
    return { weights: [won], vector };
  }

  function attention({ states, mask, array, temperature }) {
    const scores = states.map((row) => {
      const hidden = dense(row, array("hidden/kernel"), array("hidden/bias")).map(Math.tanh);
      return dot(hidden, array("context"));
    });
    const weights = softmax(scores, mask, temperature);
    return { weights: [weights], vector: weighted(weights, states) };
  }

  function lama({ states, mask, array, temperature, heads, rank }) {
    const query = dense(meanOf(states, mask), array("context_kernel"));
    const scores = states.map((row) => {
      const hidden = dense(row, array("hidden/kernel"), array("hidden/bias")).map(Math.tanh);
      const products = dense(hidden, array("token_kernel")).map((value, i) => value * query[i]);
      const each = Array.from({ length: heads }, (_, head) =>
        Math.tanh(sum(products.slice(head * rank, (head + 1) * rank))),
      );
      if (heads === 1) return each;
      const length = Math.sqrt(Math.max(sum(each.map((value) => value * value)), 1e-8));
      return each.map((value) => value / length);
    });
    const weights = Array.from({ length: heads }, (_, head) =>
      softmax(column(scores, head), mask, temperature),
    );
    return { weights, vector: weights.flatMap((row) => weighted(row, states)) };
  }

  function generalized({ states, mask, array, temperature, heads }) {
    const features = states[0].length;
    const byFeature = Array.from({ length: heads }, (_, head) => {
      const scores = states.map((row) => {
        const hidden = dense(row, array("hidden_kernel")[head], array("hidden_bias")[head]);
        return dense(hidden.map(relu), array("score_kernel")[head], array("score_bias")[head]);
      });
      return Array.from({ length: features }, (_, i) =>
        softmax(column(scores, i), mask, temperature),
      );
    });
    return {
      weights: byFeature.map((rows) => mask.map((_, t) => sum(column(rows, t)) / features)),
      byFeature,
      vector: byFeature.flatMap((rows) => rows.map((row, i) => weighted(row, states.map((s) => [s[i]]))[0])),
    };
  }

  function sam({ states, mask, array, temperature, threshold }) {
    const network = (part, x) => {
      const hidden = dense(x, array(`${part}/hidden/kernel`), array(`${part}/hidden/bias`));
      return dense(hidden.map(relu), array(`${part}/score_kernel`), array(`${part}/score_bias`));
    };
    const [highest, average] = [maxOf, meanOf].map((of) => network("feature", of(states, mask)));
    const some = mask.some(Boolean);
    const gate = highest.map((value, i) =>
      some ? relu(sigmoid(value + average[i]) - threshold) : 0,
    );
    const gated = states.map((row) => row.map((value, i) => value * gate[i]));
    const scores = gated.map(
      (row) => network("token", [Math.max(...row)])[0] + network("token", [sum(row) / row.length])[0],
    );
    const weights = softmax(scores, mask, temperature);
    return { weights: [weights], gate, vector: weighted(weights, gated) };
  }

  const POOLINGS = { mean, max, attention, lama, generalized, sam };

  // The name under which model.js holds the weights of a pooling with these options.
  function variant(pooling, { heads, rank }) {
    if (pooling === "lama") return `lama-${heads}-${rank}`;
    return pooling === "generalized" ? `generalized-${heads}` : pooling;
  }

  // From words to stars. `ids`: 0 is padding. `mask`: True keeps a word.
  function classify(arrays, ids, mask, pooling, options) {
    const settings = { reader: "words", temperature: 1, heads: 1, rank: 1, threshold: 0, ...options };
    const name = variant(pooling, settings);
    const array = (weight) => arrays[`${settings.reader}/${name}/${weight}`];
    const states = encode(arrays, settings.reader, ids, mask);
    const pooled = POOLINGS[pooling]({ states, mask, array, ...settings });
    const logits = dense(pooled.vector, array("kernel"), array("bias"));
    return { ...pooled, name, probabilities: softmax(logits, logits.map(() => true)) };
  }

  // Words and punctuation, as WordTokenizer splits them.
  const tokenize = (text) =>
    text.normalize("NFC").toLowerCase().match(/[\p{L}\p{M}\p{N}_]+|[^\p{L}\p{M}\p{N}_\s]+/gu) || [];

  // --- position masks ------------------------------------------------------------------------------

  // What the masks leave of equal scores, query by key: window of 0 is none.
  function positionWeights(time, { window = 0, direction = "", cost = "" }) {
    return Array.from({ length: time }, (_, query) => {
      const offsets = Array.from({ length: time }, (_, key) => key - query);
      const allowed = offsets.map(
        (o) =>
          (!window || (o !== 0 && Math.abs(o) <= window)) &&
          (!direction || (direction === "earlier" ? o < 0 : o > 0)),
      );
      const costs = { "": () => 0, distance: Math.abs, scaled_distance: (o) => Math.log(Math.max(Math.abs(o), 1)) };
      return softmax(offsets.map((o) => -costs[cost](o)), allowed);
    });
  }

  globalThis.explorerForward = { unpack, classify, tokenize, softmax, positionWeights };
})();
