// Sets the formulas: Markdown pages mark them with class "arithmatex", notebooks with dollars.
document$.subscribe(function (event) {
  event.body.querySelectorAll(".arithmatex").forEach(function (element) {
    renderMathInElement(element, {
      delimiters: [
        { left: "\\[", right: "\\]", display: true },
        { left: "\\(", right: "\\)", display: false },
      ],
    });
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
