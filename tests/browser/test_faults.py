"""What the check of a page sees: it says nothing about a sound page and names what is wrong."""

import pytest

pytestmark = [
    pytest.mark.one_backend("pages in a browser"),
    pytest.mark.browser,
    pytest.mark.timeout(300),
]

HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"></head><body>'
)
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAC"
    "hwGA60e6kgAAAABJRU5ErkJggg=="
)


def faults_of(browser, folder, body):
    page = folder / "page.html"
    page.write_text(HEAD + body, encoding="utf-8")
    browser.open(page.as_uri(), 390, "light")
    return browser.faults(page.as_uri(), "body", 4.5)


def test_a_sound_page(browser, tmp_path):
    wide = "<table style='width: 900px'><tr><td>wide, in a box of its own</table>"
    body = f"<p>text</p><img src='{DOT}' alt='dot'><div style='overflow-x: auto'>{wide}</div>"
    body += "<p><code>\\(a code\\) $$</code></p><svg role=img aria-label='a picture'></svg>"
    assert faults_of(browser, tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<div style='width: 900px'>wide</div>", "the page is"),
        ("<div style='width: 900px; overflow: hidden'>wide</div>", "past the edge"),
        ("<img src='nowhere.png' alt='lost'>", "picture not loaded"),
        (f"<img src='{DOT}'>", "without a description"),
        ("<svg role=img></svg>", "without a description"),
        ("<a href='#nowhere'>there</a>", "no place for the link #nowhere"),
        ("<p>so \\(x^2\\) is</p>", "raw formula"),
        ("<div class=arithmatex>x</div>", "formula not set"),
        ("<span class=katex-error title='ParseError'>x</span>", "ParseError"),
        ("<p style='color: #999'>pale</p>", "contrast 2.85"),
        ("<p style='opacity: .4'>pale</p>", "contrast"),
        ("<svg><text y='20' fill='#aaa'>pale</text></svg>", "contrast"),
        ("<script>throw new Error('a fault')</script>", "a fault"),
        ("<script src='http://elsewhere.test/x.js'></script>", "asks for http://elsewhere.test"),
    ],
)
def test_what_is_wrong_is_seen(browser, tmp_path, body, fault):
    found = faults_of(browser, tmp_path, body)
    assert any(fault in each for each in found), found
