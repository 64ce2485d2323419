"""The built site in a browser, every page, on a wide and a narrow window, light and dark."""

import pathlib
import re

import pytest

pytestmark = [
    pytest.mark.one_backend("pages in a browser"),
    pytest.mark.browser,
    pytest.mark.timeout(300),
]

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SITE = REPOSITORY / "site"
WIDE, NARROW = 1280, 390
SOURCES = [
    # Reports on faults of others are no pages.
    *(
        path.relative_to(REPOSITORY / "docs")
        for path in (REPOSITORY / "docs").rglob("*.md")
        if path.parent.name != "upstream"
    ),
    *(path.relative_to(REPOSITORY) for path in (REPOSITORY / "notebooks").glob("*.ipynb")),
]
PAGES = sorted(path.with_suffix(".html").as_posix() for path in SOURCES)
# One of each kind, for what is the same on all.
KINDS = ["index.html", "layers/low-rank-attention-pooling.html", "notebooks/01_lama.html"]
# The page's text; the columns beside it are the theme's, and folded away on a phone.
CONTENT = ".md-content"


def test_the_site_has_these_pages_and_no_others(served):
    built = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")}
    assert built == {*PAGES, "404.html"}


@pytest.mark.parametrize("page", PAGES)
def test_page(browser, served, page):
    """From a server on a light screen, as a file on a dark one."""
    faults = []
    for base, widths, scheme in (
        (served, (WIDE, NARROW), "light"),
        (SITE.as_uri(), (NARROW, WIDE), "dark"),
    ):
        url = f"{base}/{page}"
        browser.open(url, widths[0], scheme)
        shown = "slate" if scheme == "dark" else "default"
        assert browser.run("return document.body.dataset.mdColorScheme") == shown
        for width in widths:
            browser.resize(width)
            found = browser.faults(url, CONTENT)
            faults += [f"{width} wide, {scheme}: {fault}" for fault in found]
    assert not faults, f"{page}:\n" + "\n".join(faults)


def test_a_page_that_is_not_there(browser, served):
    """The error page finds its style wherever it is shown."""
    url = f"{served}/no/such/page.html"
    browser.open(url, NARROW, "light")
    assert "404" in browser.run("return document.querySelector('h1').textContent")
    # The page itself is the one that is not found.
    missing = [fault for fault in browser.faults(url, CONTENT) if "/no/such/page.html" not in fault]
    assert missing == []


def loaded(browser, served):
    """The files of the site that the page asked for, with their sizes in bytes."""
    urls, _ = browser.requests()
    paths = {url.removeprefix(served).split("?")[0].strip("/") for url in urls}
    return {path: (SITE / path).stat().st_size for path in paths if (SITE / path).is_file()}


def test_a_first_visit_loads_little(browser, served):
    """Files as they are, without the compression of a server."""
    browser.open(f"{served}/index.html", WIDE, "light")
    files = loaded(browser, served)
    assert "index.html" in files and "assets/explorer/model.js" in files
    assert sum(files.values()) < 600_000, files
    assert not any("katex" in path or "search_index" in path for path in files)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_home_shows_its_text_and_its_picture_without_scripts(browser, served, width):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(f"{served}/index.html?{width}")
        browser.resize(width)
        image = browser.command("DOM.getDocument")["root"]["nodeId"]
        image = browser.command("DOM.querySelector", nodeId=image, selector=".explorer img")
        box = browser.command("DOM.getBoxModel", nodeId=image["nodeId"])["model"]
        title = browser.driver.find_element("css selector", "h1").text
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert title.startswith("keras_attnpool") and box["height"] > 100
    assert box["content"][1] < 900  # its upper edge is on the first screen


def test_the_code_of_formulas_and_the_index_of_the_search_come_when_needed(browser, served):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.open(f"{served}/layers/low-rank-attention-pooling.html", WIDE, "light")
    files = loaded(browser, served)
    assert "assets/katex/katex.min.js" in files and "search/search_index.json" not in files
    browser.driver.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]").click()
    found = set()

    def indexed(driver):
        found.update(loaded(browser, served))
        return "search/search_index.json" in found

    WebDriverWait(browser.driver, 10).until(indexed)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_header_can_be_read(browser, served, scheme):
    browser.open(f"{served}/{KINDS[1]}", WIDE, scheme)
    assert browser.faults(f"{served}/{KINDS[1]}", ".md-header") == []
    assert browser.faults(f"{served}/{KINDS[1]}", ".md-tabs") == []


@pytest.mark.parametrize("page", ["which-layer", "layers/index"])
def test_tables_are_shown_whole(browser, served, page):
    browser.open(f"{served}/{page}.html", WIDE, "light")
    wide = browser.run(
        "return [...document.querySelectorAll('.md-typeset__scrollwrap')]"
        ".filter((box) => box.scrollWidth > box.clientWidth + 1)"
        ".map((box) => box.textContent.slice(0, 80))"
    )
    assert wide == []


def test_on_a_phone_code_scrolls_and_names_stay_whole(browser, served):
    browser.open(f"{served}/guides/your-texts.html", NARROW, "light")
    styles = "return [...document.querySelectorAll('.highlight code')].map((code) => {0})"
    shown = browser.run(styles.replace("{0}", "getComputedStyle(code).whiteSpace"))
    assert shown and set(shown) == {"pre"}
    browser.open(f"{served}/layers/index.html", NARROW, "light")
    heights = browser.run(
        "return [...document.querySelectorAll('td:first-child code')]"
        ".map((code) => code.getBoundingClientRect().height)"
    )
    assert heights and max(heights) < 25  # of one line


def test_a_list_of_instances_keeps_its_words_whole(browser, served):
    browser.open(f"{served}/notebooks/06_bags_and_sets.html", WIDE, "light")
    heights = browser.run(
        "return [...document.querySelectorAll('.attn-map .ranked tr')]"
        ".map((row) => row.getBoundingClientRect().height)"
    )
    assert heights and max(heights) < 45  # of one line, or a picture


PLAIN = """
const words = [...document.querySelectorAll(arguments[0] + " :is(p, li, td) a:not(.headerlink)")];
return words.filter((link) => link.textContent.trim()
  && !getComputedStyle(link).textDecorationLine.includes("underline"))
  .map((link) => link.outerHTML);
"""


@pytest.mark.parametrize("page", KINDS)
def test_links_are_not_told_by_colour_alone(browser, served, page):
    browser.open(f"{served}/{page}", WIDE, "light")
    assert browser.run(PLAIN, CONTENT) == []


def test_every_page_has_a_description_of_its_own():
    """Pages of the same kind may begin alike; their titles do not."""
    pattern = re.compile(r'<meta name="description" content="([^"]{30,})"')
    texts = [(SITE / page).read_text(encoding="utf-8") for page in PAGES]
    found = [match[1] for match in map(pattern.search, texts) if match]
    assert len(found) == len(set(found)) == len(PAGES)


def test_pages_with_formulas_show_formulas(browser, served):
    browser.open(f"{served}/layers/low-rank-attention-pooling.html", WIDE, "light")
    assert browser.run("return document.querySelectorAll('.katex-display').length") > 0
    browser.open(f"{served}/notebooks/01_lama.html", WIDE, "light")
    assert browser.run("return document.querySelectorAll('.katex').length") > 20
    loaded = (
        "return [...document.fonts].some((f) => f.family == 'KaTeX_Math' && f.status == 'loaded')"
    )
    assert browser.run(loaded)


# --- keyboard ----------------------------------------------------------------------------------

FOCUSED = """
const element = document.activeElement;
// The theme hides radio buttons and draws the focus around their labels.
const next = element.nextElementSibling;
const labels = element.type != "radio" ? [] : next.localName == "label" ? [next] : element.labels;
const shown = [...labels].find((label) => label.getClientRects().length) || element;
const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
const label = element.labels && element.labels.length ? element.labels[0].textContent : "";
const names = [element.getAttribute("aria-label"), shown.title, shown.textContent, label];
return {
  name: names.map((name) => (name || "").trim()).find((name) => name) || "",
  tag: element.localName, kind: element.className, part: element.dataset.mdComponent || "",
  outlined: style.outlineStyle != "none" && parseFloat(style.outlineWidth) > 0,
  inside: box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
    && box.bottom > 0 && box.top < innerHeight,
};
"""


@pytest.mark.parametrize("page", KINDS)
def test_the_keyboard_reaches_everything(browser, served, page):
    from selenium.webdriver.common.keys import Keys

    browser.open(f"{served}/{page}", WIDE, "light")
    stops = []
    for _ in range(40):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        browser.settle()
        stops.append(browser.run(FOCUSED))
    assert "md-skip" in stops[0]["kind"] and stops[0]["inside"]
    assert any(stop["part"] == "search-query" for stop in stops)
    assert sum("md-nav__link" in stop["kind"] for stop in stops) > 3
    # The theme's arrows that unfold a section stand beside the link that names it.
    arrows = [stop for stop in stops if stop["tag"] == "label" and "md-nav__link" in stop["kind"]]
    for stop in stops:
        named = stop["name"] or stop["part"] or stop["tag"] == "body" or stop in arrows
        assert named, f"no name: {stop}"
    # Of the search's results there are none yet.
    stops = [stop for stop in stops if "md-search__scrollwrap" not in stop["kind"]]
    hidden = [stop for stop in stops if stop["tag"] != "body" and not stop["inside"]]
    assert hidden == [], "the focus is out of sight"
    # A caret shows the focus of a field.
    shown = [stop for stop in stops if stop["outlined"] or stop["part"] == "search-query"]
    plain = [stop for stop in stops if stop["tag"] != "body" and stop not in shown]
    assert plain == [], "the focus is not to be seen"


def test_the_first_stop_skips_to_the_text(browser, served):
    from selenium.webdriver.common.keys import Keys

    browser.open(f"{served}/{KINDS[1]}", WIDE, "light")
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.run("return decodeURIComponent(location.hash)") == "#lowrankattentionpooling"


# --- search and copies -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("base", ["server", "file"])
@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("MultiDimAttentionPooling", "layers/multi-dim-attention-pooling"),
        ("attention_scores", "layers/hierarchical-encoder"),  # it stands in brackets there
    ],
)
def test_search(browser, served, query, page, base, width):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    url = f"{served if base == 'server' else SITE.as_uri()}/index.html"
    browser.open(url, width, "light")
    if width == NARROW:
        browser.driver.find_element(
            By.CSS_SELECTOR, "label.md-header__button[for=__search]"
        ).click()
    field = browser.driver.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]")
    WebDriverWait(browser.driver, 10).until(lambda _: field.is_displayed())
    field.click()
    field.send_keys(query)
    links = WebDriverWait(browser.driver, 20).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )
    targets = [link.get_attribute("href") for link in links]
    assert any(f"/{page}.html" in target for target in targets)
    assert browser.faults(url, CONTENT) == []


def test_code_can_be_copied(browser, served):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.open(f"{served}/index.html", WIDE, "light")
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.command("Browser.grantPermissions", permissions=permissions, origin=served)
    block = next(
        each
        for each in browser.driver.find_elements(By.CSS_SELECTOR, ".highlight")
        if "import keras" in each.text
    )
    button = block.find_element(By.CSS_SELECTOR, "[data-md-type=copy], .md-clipboard")
    assert button.get_attribute("title") or button.get_attribute("aria-label")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", block)
    button.click()
    read = "navigator.clipboard.readText().then(arguments[arguments.length - 1])"

    def copied(driver):
        return driver.execute_async_script(read)

    text = WebDriverWait(browser.driver, 5).until(copied)
    assert (
        text.startswith("import ")
        and "import keras\nimport numpy as np\n" in text
        and "model.fit(" in text
    )
