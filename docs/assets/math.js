// Sets the formulas: Markdown pages mark them with class "arithmatex", notebooks with dollars.
const marked = [
  { left: "\\[", right: "\\]", display: true },
  { left: "\\(", right: "\\)", display: false },
];
document$.subscribe(function (event) {
  event.body.querySelectorAll(".arithmatex").forEach(function (element) {
    renderMathInElement(element, { delimiters: marked });
  });
  event.body.querySelectorAll(".jp-RenderedMarkdown").forEach(function (element) {
    renderMathInElement(element, {
      delimiters: [
        { left: "$$", right: "$$", display: true },
        { left: "$", right: "$", display: false },
      ],
    });
  });
});
// Results of the search are texts that the theme writes when it has found them.
const results = document.querySelector("[data-md-component=search-result] .md-search-result__list");
const written = new MutationObserver(setResults);
function setResults() {
  written.disconnect(); // formulas are changes too
  renderMathInElement(results, { delimiters: marked, throwOnError: false });
  written.observe(results, { childList: true });
}
setResults();
