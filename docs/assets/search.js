// The theme asks for the index of the search, much larger than a page, with every page. It waits
// here until somebody goes to the field of the search. (From a file the theme waits by itself.)
(function () {
  const { open, send } = XMLHttpRequest.prototype;
  const searched = new Promise(function (resolve) {
    document.addEventListener("focusin", function (event) {
      if (event.target.matches("[data-md-component=search-query]")) resolve();
    });
  });
  const waiting = new WeakSet();
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    if (String(url).endsWith("search/search_index.json")) waiting.add(this);
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (!waiting.has(this)) return send.apply(this, body);
    searched.then(() => send.apply(this, body));
  };
})();
