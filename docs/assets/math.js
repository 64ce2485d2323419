// Sets the formulas, which pages mark with class "arithmatex". KaTeX is loaded by the first page, or the
// first result of a search, that has one.
const marked = [
  { left: "\\[", right: "\\]", display: true },
  { left: "\\(", right: "\\)", display: false },
];
const folder = new URL("katex/", document.currentScript.src);
function add(tag, attributes) {
  return new Promise(function (resolve) {
    document.head.append(Object.assign(document.createElement(tag), attributes, { onload: resolve }));
  });
}
let katex;
function loadKatex() {
  katex ??= Promise.all([
    add("link", { rel: "stylesheet", href: new URL("katex.min.css", folder) }),
    add("script", { src: new URL("katex.min.js", folder) }).then(function () {
      return add("script", { src: new URL("auto-render.min.js", folder) });
    }),
  ]);
  return katex;
}
function setAll(elements, options) {
  return loadKatex().then(function () {
    elements.forEach(function (element) { renderMathInElement(element, options); });
  });
}

// Waits for nobody but the tests.
globalThis.formulasSet = Promise.resolve();
document$.subscribe(function (event) {
  const formulas = [...event.body.querySelectorAll(".arithmatex")];
  if (formulas.length === 0) return;
  globalThis.formulasSet = setAll(formulas, { delimiters: marked });
});

// Results of the search are texts that the theme writes when it has found them.
const results = document.querySelector("[data-md-component=search-result] .md-search-result__list");
const written = new MutationObserver(setResults);
function setResults() {
  if (!/\\[([]/.test(results.textContent)) return;
  written.disconnect(); // formulas are changes too
  setAll([results], { delimiters: marked, throwOnError: false }).then(watch);
}
function watch() { written.observe(results, { childList: true }); }
watch();
