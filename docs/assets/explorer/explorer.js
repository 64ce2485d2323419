// The explorers of the site: places of class "explorer" are filled, by what `data-explorer` says.
(function () {
  "use strict";
  const { unpack, classify, tokenize, softmax, positionWeights } = globalThis.explorerForward;

  // --- pieces of a page --------------------------------------------------------------------------

  // An element; attributes that are functions are listeners, children are elements or texts.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }
  let made = 0;
  const unique = (stem) => `explorer-${stem}-${++made}`;
  const percent = (share) => `${Math.round(100 * share)} %`;
  const named = (stars) => (stars === 1 ? "1 star" : `${stars} stars`);
  const twoDigits = (share) => share.toFixed(2);

  // One choice of several, as radio buttons in a row.
  function choice(legend, entries, chosen, changed) {
    const name = unique("choice");
    const buttons = entries.map(([value, label]) =>
      make("label", {},
        make("input", { type: "radio", name, value, checked: value === chosen, change: () => changed(value) }),
        make("span", {}, label)),
    );
    return make("fieldset", { class: "explorer-choice" }, make("legend", {}, legend), ...buttons);
  }

  // A slider with its value beside it.
  function slider(label, { min, max, step, value }, shown, changed) {
    const id = unique("slider");
    const output = make("output", { for: id }, shown(value));
    const input = make("input", {
      id, type: "range", min, max, step, value, "aria-valuetext": shown(value),
      input: () => {
        output.textContent = shown(Number(input.value));
        input.setAttribute("aria-valuetext", output.textContent);
        changed(Number(input.value));
      },
    });
    return make("div", { class: "explorer-slider" }, make("label", { for: id }, label), input, output);
  }

  // How strongly a weight is coloured: an equal share of the words is a third, three of them full.
  const tint = (weight, count) => Math.min(1, (weight * Math.max(count, 1)) / 3);
  const cell = (weight, count, title) =>
    make("td", { style: `--tint: ${tint(weight, count).toFixed(3)}`, title, "data-weight": weight.toFixed(6) });

  // A table of weights: a row for each name, a column for each word.
  function heatMap(caption, words, names, rows, count) {
    const head = make("tr", {}, make("td"), ...words.map((w) => make("th", { scope: "col" }, make("span", {}, w))));
    const body = rows.map((row, i) =>
      make("tr", {}, make("th", { scope: "row" }, names[i]),
        ...row.map((weight, t) => cell(weight, count, `${names[i]}, ${words[t]}: ${twoDigits(weight)}`))),
    );
    return make("div", { class: "explorer-scroll", tabindex: 0, role: "region", "aria-label": caption },
      make("table", { class: "explorer-map" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body)));
  }

  // --- the poolings ------------------------------------------------------------------------------

  const TEMPERATURE = { min: -1, max: 1, step: 0.05, value: 0 };
  const POOLINGS = {
    mean: {
      title: "Mean", page: "masked-average-pooling1d", controls: [],
      text: "Every word has the same weight, and nothing is learned: “the” counts as much as “awful”.",
    },
    max: {
      title: "Max", page: "masked-max-pooling1d", controls: [],
      text: "Each feature of the vector takes its largest value, from whichever word has it. A word's number is the share of features that it wins.",
    },
    attention: {
      title: "Attention", page: "attention-pooling", controls: ["temperature"],
      text: "A learned vector is compared with every word. The softmax turns these scores into weights that sum to 1.",
    },
    lama: {
      title: "LAMA", page: "low-rank-attention-pooling", controls: ["temperature", "heads", "rank"],
      text: "The mean of the text is the question, and each head compares it with the words in its own way. With several heads no weight is more than 7.4 times another, until you lower the temperature.",
    },
    generalized: {
      title: "Generalized", page: "generalized-pooling", controls: ["temperature", "heads"],
      text: "Each feature has weights of its own, so that different features can listen to different words. A word's number is the mean over the features.",
    },
    sam: {
      title: "SAM", page: "sequential-attention", controls: ["temperature", "threshold"],
      text: "Features first: a gate between 0 and 1 weighs each of them, less the threshold. Then the words, by what is left of their features.",
    },
  };

  function poolingExplorer(place) {
    const content = globalThis.explorerModel;
    const arrays = unpack(content);
    const idOf = new Map(content.words.map((word, id) => [word, id]));
    // The sentences of assets/sentences.tsv, with the stars that are right.
    const stars = new Map(content.sentences.map(([right, text]) => [text, right]));
    const [first] = stars.keys();
    const state = { reader: "context", pooling: "attention", temperature: 1, heads: 4, rank: 1, threshold: 0, padding: 0, text: first, left: new Set() };
    const base = place.dataset.layers;

    const field = make("textarea", {
      id: unique("text"), rows: 2, maxlength: 400, spellcheck: "false",
      input: () => write(field.value),
    });
    function write(text) {
      state.text = text;
      state.left.clear();
      if (field.value !== text) field.value = text;
      show();
    }
    const examples = make("div", { class: "explorer-examples", role: "group", "aria-label": "Examples", tabindex: 0 },
      ...[...stars.keys()].map((text) => make("button", { type: "button", click: () => write(text) }, text)));

    const set = (name) => (value) => { state[name] = value; show(); };
    const READERS = { context: "the words around it, by a GRU", words: "the word itself" };
    // How many new reviews each pooling gets right, behind each reader: every number chooses its model.
    const group = unique("model");
    const rightOf = (pooling, reader) => content.right[reader][sized(pooling)];
    const models = make("table", { class: "explorer-models" },
      make("caption", {}, "Share of 4,000 new reviews that get the right stars. Press a share to choose its model."),
      make("thead", {}, make("tr", {}, make("td"),
        ...Object.values(READERS).map((label) => make("th", { scope: "col" }, `A word's vector knows ${label}`)))),
      make("tbody", {}, ...Object.entries(POOLINGS).map(([pooling, { title }]) =>
        make("tr", {}, make("th", { scope: "row" }, title), ...Object.entries(READERS).map(([reader, label]) =>
          make("td", {}, make("label", {},
            make("input", { type: "radio", name: group, value: `${reader}/${pooling}`, "aria-label": `${title}, a word's vector knows ${label}`,
              change: () => { Object.assign(state, { reader, pooling }); show(); } }),
            make("span"))))))));
    const step = make("button", {
      type: "button", class: "explorer-step",
      click: () => { state.reader = state.reader === "words" ? "context" : "words"; show(); },
    });
    const sizes = [1, 2, 4].map((size) => [size, String(size)]);
    const controls = {
      temperature: slider("Temperature", TEMPERATURE, (v) => twoDigits(10 ** v), (v) => set("temperature")(10 ** v)),
      heads: choice("Heads", sizes, state.heads, set("heads")),
      rank: choice("Rank", sizes, state.rank, set("rank")),
      threshold: slider("Threshold", { min: 0, max: 1, step: 0.05, value: 0 }, twoDigits, set("threshold")),
    };
    const padding = slider("Padding", { min: 0, max: 8, step: 1, value: 0 }, String, set("padding"));

    const about = make("p", { class: "explorer-about" });
    const words = make("div", { class: "explorer-words", role: "group", "aria-label": "Words and their weights; press a word to mask it" });
    const details = make("div", { class: "explorer-details" });
    const bars = make("div", { class: "explorer-stars" });
    const verdict = make("p", { class: "explorer-verdict", role: "status" });
    const lesson = make("p", { class: "explorer-note" });
    const sized = (pooling) => ({ lama: `lama-${state.heads}-${state.rank}`, generalized: `generalized-${state.heads}` })[pooling] ?? pooling;

    function show() {
      const tokens = tokenize(state.text);
      const ids = [...tokens.map((word) => idOf.get(word) ?? 1), ...new Array(state.padding).fill(0)];
      const mask = ids.map((id, t) => id > 0 && !state.left.has(t));
      const chosen = POOLINGS[state.pooling];
      for (const [name, control] of Object.entries(controls)) control.hidden = !chosen.controls.includes(name);
      showModels();
      about.replaceChildren(chosen.text, " ", make("a", { href: `${base}${chosen.page}.html` }, `${chosen.title}: the layer`));
      if (!ids.length) {
        for (const part of [words, details, bars]) part.replaceChildren();
        verdict.textContent = "Type a review, or take one of the examples.";
        return;
      }
      const found = classify(arrays, ids, mask, state.pooling, state);
      const kept = mask.filter(Boolean).length;
      const shown = ids.map((id, t) => (id ? tokens[t] : "padding"));
      showWords(shown, ids, mask, found, kept);
      showDetails(shown, found, kept);
      showStars(found, kept);
    }

    function showModels() {
      for (const input of models.querySelectorAll("input")) {
        const [reader, pooling] = input.value.split("/");
        input.checked = reader === state.reader && pooling === state.pooling;
        input.nextSibling.textContent = percent(rightOf(pooling, reader));
        input.nextSibling.dataset.right = rightOf(pooling, reader);
      }
      const alone = state.reader === "words";
      step.textContent = alone ? "Let each word know the words around it" : "Let each word stand alone";
      lesson.textContent = alone
        ? "Now each word brings the same vector wherever it stands. “not” and “good” are weighed, but neither can change the other: none of these models turns them round."
        : "A GRU has read the review, so that each word's vector knows the words around it: “good” knows of a “not” before it.";
    }

    function showWords(shown, ids, mask, found, kept) {
      const heads = found.weights.length;
      const buttons = shown.map((word, t) => {
        const weight = found.weights.reduce((total, row) => total + row[t], 0) / heads;
        const label = !ids[t] ? "padding" : ids[t] === 1 ? `${word} (unknown to the model)` : word;
        const button = make("button", {
          type: "button", disabled: !ids[t], "aria-pressed": ids[t] ? String(!mask[t]) : false,
          class: [!mask[t] && "masked", ids[t] === 1 && "unknown"].filter(Boolean).join(" "),
          style: `--tint: ${tint(weight, kept).toFixed(3)}; --bar: ${weight.toFixed(4)}`,
          "data-weight": weight.toFixed(6), title: label, "aria-label": `${label}, weight ${twoDigits(weight)}`,
          click: () => {
            state.left.has(t) ? state.left.delete(t) : state.left.add(t);
            show();
            words.children[t].focus();
          },
        }, make("i", { class: "explorer-bar" }), make("span", {}, ids[t] ? word : "·"), make("small", {}, twoDigits(weight)));
        return button;
      });
      words.replaceChildren(...buttons);
    }

    function showDetails(shown, found, kept) {
      const parts = [];
      if (found.weights.length > 1) {
        const names = found.weights.map((_, head) => `head ${head + 1}`);
        parts.push(heatMap("Weights of each head", shown, names, found.weights, kept));
      }
      if (found.byFeature) {
        const [rows] = found.byFeature;
        const names = rows.map((_, i) => `feature ${i + 1}`);
        const map = heatMap("Weights of each feature, first head", shown, names, rows, kept);
        map.querySelector("table").classList.add("dense");
        parts.push(map);
      }
      if (found.gate) {
        const bars = found.gate.map((gate, i) => make("i", { style: `--bar: ${gate.toFixed(4)}`, title: `feature ${i + 1}: ${twoDigits(gate)}` }));
        const open = found.gate.filter((gate) => gate > 0).length;
        parts.push(make("figure", {}, make("div", { class: "explorer-gate", role: "img", "aria-label": `The gate: ${open} of ${bars.length} features pass` }, ...bars),
          make("figcaption", {}, `The gate: ${open} of ${bars.length} features pass`)));
      }
      details.replaceChildren(...parts);
    }

    function showStars({ probabilities }, kept) {
      bars.replaceChildren(...probabilities.map((share, i) =>
        make("div", { "data-share": share.toFixed(6) }, make("span", {}, `${i + 1} ★`), make("i", { style: `--bar: ${share.toFixed(4)}` }), make("small", {}, percent(share)))));
      const likeliest = probabilities.indexOf(Math.max(...probabilities)) + 1;
      const right = state.left.size ? undefined : stars.get(state.text);
      const judged = right === undefined ? "" : right === likeliest ? " Right." : ` Wrong: ${named(right)} would be right.`;
      verdict.textContent = kept
        ? `The model says ${named(likeliest)}.${judged}`
        : "All words are masked: the vector is zero, and what you see is the classifier's bias.";
    }

    place.replaceChildren(
      make("div", { class: "explorer-row" }, make("label", { for: field.id }, "A review, in your words"), field),
      make("div", { class: "explorer-columns" }, make("div", { class: "explorer-weights" }, words, verdict, step, lesson), make("div", {}, bars)),
      examples,
      make("div", { class: "explorer-columns" }, make("div", { class: "explorer-scroll" }, models),
        make("div", {}, about, make("div", { class: "explorer-controls" }, ...Object.values(controls), padding))),
      details,
    );
    field.value = state.text;
    show();
  }

  // --- the masks of MPSAN --------------------------------------------------------------------------

  function maskExplorer(place) {
    const words = ["which", "harbour", "did", "the", "king", "describe", "before", "the", "year"];
    const state = { window: 0, direction: "", cost: "", time: words.length };
    const set = (name) => (value) => { state[name] = value; show(); };
    const map = make("div");
    const verdict = make("p", { class: "explorer-verdict", role: "status" });
    function show() {
      const chosen = words.slice(0, state.time);
      map.replaceChildren(heatMap("Row: the word that attends. Column: the word attended to.", chosen, chosen, positionWeights(state.time, state), state.time));
      const names = [state.window && `faraway_${state.window}`, state.direction, state.cost].filter(Boolean);
      const list = names.map((name) => `"${name}"`).join(", ");
      verdict.textContent = `positions=(${list}${names.length === 1 ? "," : ""})`;
    }
    place.replaceChildren(
      make("div", { class: "explorer-controls" },
        slider("Window", { min: 0, max: 4, step: 1, value: 0 }, (v) => (v ? String(v) : "none"), set("window")),
        choice("Direction", [["", "both"], ["earlier", "earlier"], ["later", "later"]], "", set("direction")),
        choice("Distance", [["", "free"], ["scaled_distance", "scaled"], ["distance", "full"]], "", set("cost")),
        slider("Words", { min: 1, max: words.length, step: 1, value: words.length }, String, set("time"))),
      map, verdict,
    );
    show();
  }

  // --- the temperature of the softmax --------------------------------------------------------------

  function temperatureExplorer(place) {
    const scores = { awful: 1, breakfast: 0.5, was: -0.5, the: -1 };
    const state = { temperature: 1, others: 0 };
    const set = (name) => (value) => { state[name] = value; show(); };
    const bars = make("div", { class: "explorer-words" });
    const verdict = make("p", { class: "explorer-verdict", role: "status" });
    function show() {
      const names = [...Object.keys(scores), ...new Array(state.others).fill("the")];
      const values = [...Object.values(scores), ...new Array(state.others).fill(-1)];
      const weights = softmax(values, values.map(() => true), state.temperature);
      bars.replaceChildren(...names.slice(0, 4).map((word, t) =>
        make("div", { style: `--tint: ${tint(weights[t], weights.length).toFixed(3)}; --bar: ${weights[t].toFixed(4)}`, "data-weight": weights[t].toFixed(6) },
          make("i", { class: "explorer-bar" }), make("span", {}, word), make("small", {}, twoDigits(weights[t])))));
      const ratio = weights[0] / weights[3];
      const entropy = -weights.reduce((total, w) => total + (w > 0 ? w * Math.log(w) : 0), 0);
      verdict.textContent = `“awful” weighs ${ratio < 1000 ? ratio.toPrecision(2) : "over 1,000"} times “the”. The weights spread like ${Math.exp(entropy).toFixed(1)} of ${weights.length} words.`;
    }
    const fields = Object.entries(scores).map(([word, value]) =>
      slider(`Score of “${word}”`, { min: -1, max: 1, step: 0.1, value }, (v) => v.toFixed(1), (v) => { scores[word] = v; show(); }));
    place.replaceChildren(bars, verdict, make("div", { class: "explorer-controls" },
      slider("Temperature", TEMPERATURE, (v) => twoDigits(10 ** v), (v) => set("temperature")(10 ** v)),
      slider("More words with a score of −1", { min: 0, max: 200, step: 1, value: 0 }, String, set("others")),
      ...fields));
    show();
  }

  const EXPLORERS = { pooling: poolingExplorer, masks: maskExplorer, temperature: temperatureExplorer };
  for (const place of document.querySelectorAll(".explorer")) EXPLORERS[place.dataset.explorer](place);
})();
