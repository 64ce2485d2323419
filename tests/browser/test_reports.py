"""The HTML that the package writes, in a browser: heat maps and the report of a run."""

import pytest

from keras_attnpool import analysis
from keras_attnpool.workbench.cli import main

pytestmark = [
    pytest.mark.one_backend("pages in a browser"),
    pytest.mark.browser,
    pytest.mark.timeout(300),
]

# Each would run, load or leave its element if it were not shown as text.
HOSTILE = [
    "<script>document.title='run'</script>",
    "<img/src=x/onerror=document.title='run'>",
    "</i></figure></style><h1>broken out",
    "&lt;b&gt;",
    "\"onmouseover='document.title=1'",
    "javascript:document.title='run'",
    "x" * 300,
    "\u202eturned\u202c",
    "שלום",
]
VIEWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

# What stands between white space in a cell, if it is on more lines than one.
BROKEN = """
const broken = [];
for (const cell of document.querySelectorAll("th, td")) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map((each) => Math.round(each.top)));
      if (tops.size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


def check(browser, page, title, texts):
    """The page is sound in every view and shows these texts as texts."""
    for width, scheme in VIEWS:
        browser.open(page.as_uri(), width, scheme)
        faults = browser.faults(page.as_uri(), "body")
        assert not faults, f"{page.name}, {width} wide, {scheme}:\n" + "\n".join(faults)
        assert browser.driver.title == title
        # The policy of the page would stop them too: there is nothing for it to stop.
        assert browser.run("return document.querySelectorAll('script, [onerror]').length") == 0
        shown = browser.run("return document.body.innerText")
        for text in texts:
            assert text in shown, f"{text!r} is not shown"


def test_heat_maps(browser, tmp_path):
    weights = [(index + 1) / len(HOSTILE) for index in range(len(HOSTILE))]
    signed = [weight - 0.5 for weight in weights]
    pieces = [
        analysis.heatmap_html(HOSTILE, weights, title=HOSTILE[0], label=HOSTILE[1]),
        analysis.heatmap_html(HOSTILE, [weights, weights[::-1]], row_names=HOSTILE[:2]),
        analysis.heatmap_html(HOSTILE, signed, sentence_lengths=[4, 5]),
    ]
    page = analysis.heatmap_page(pieces, tmp_path / "attention.html", title=HOSTILE[2])
    check(browser, page, HOSTILE[2], HOSTILE[:6])


def test_a_heat_map_within_a_page_of_another_style(browser, tmp_path):
    """As in a notebook: no policy guards this page, only the heat map itself."""
    piece = analysis.heatmap_html(HOSTILE, [1.0] * len(HOSTILE), title=HOSTILE[0])
    page = tmp_path / "notebook.html"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>t</title>'
    )
    page.write_text(f"<!doctype html>{head}<body>{piece}", encoding="utf-8")
    check(browser, page, "t", HOSTILE[:6])


SMALL = [
    "--encoder",
    "none",
    "--pooling",
    "lama",
    "--heads",
    "2",
    "--epochs",
    "1",
    "--hidden-units",
    "0",
]
SMALL += ["--embedding-dim", "4", "--seed", "3"]


def test_the_report_of_a_run_on_generated_reviews(browser, tmp_path):
    sizes = ["--train-size", "40", "--test-size", "10"]
    assert main(["train", *SMALL, *sizes, "--out", str(tmp_path / "run")]) == 0
    title = "none + lama on generated reviews"
    page = tmp_path / "run" / "report.html"
    check(browser, page, title, ["Results on 10 test texts"])
    for width in (1280, 390):
        browser.open(page.as_uri(), width, "light")
        assert not browser.run(BROKEN)


def test_the_report_of_a_run_on_hostile_texts(browser, tmp_path):
    words = [word for word in HOSTILE if "\u202e" not in word]
    names = [HOSTILE[0], "a & b"]
    rows = [f"{names[i % 2]}\t{' '.join(words[i % 3 :])}" for i in range(60)]
    file = tmp_path / "<b>bold.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert main(["train", str(file), *SMALL, "--out", str(tmp_path / "run")]) == 0
    check(browser, tmp_path / "run" / "report.html", "none + lama on <b>bold.tsv", names)
