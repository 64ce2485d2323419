"""Draws the pictures of the pages as inline SVG, in the colours of the page, light or dark.

A line `<!-- picture: name -->` of a page becomes the picture that the function `name` draws.
"""

import html
import math
import re

MARKER = re.compile(r"^<!-- picture: (?P<name>\w+) -->$", re.M)

TOKENS = ("the", "staff", "was", "not", "friendly", "pad", "pad")
KEPT = 5
# Of what is left out: still to be read.
FAINT = 0.7


def text(x, y, content, size=14, anchor="middle", **attributes):
    """A line of text, centred on `x` unless told otherwise."""
    more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{more}>'
        f"{html.escape(content)}</text>"
    )


def box(x, y, width, height, fill=0.0, **attributes):
    """A rectangle, filled with the accent colour."""
    more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" '
        f'fill-opacity="{fill:.3f}"{more}/>'
    )


def arrow(x1, y1, x2, y2):
    """A line with a head at its end."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" marker-end="url(#tip)"/>'


def figure(width, height, label, caption, parts):
    """An SVG with its caption; without blank lines, which would end the HTML block."""
    body = "\n".join(parts)
    return (
        f'<figure class="drawn">\n'
        f'<svg viewBox="0 0 {width} {height}" style="max-width: {width}px" role="img" '
        f'aria-label="{html.escape(label)}">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f"{body}\n</svg>\n<figcaption>{html.escape(caption)}</figcaption>\n</figure>"
    )


def attention(heads, label, caption, asks):
    """Weights of some heads over the words of a padded text, and the vectors that they give.

    Args:
        heads: Pairs of a name and the weights of the kept words.
        label: The picture in words.
        caption: The line under the picture.
        asks: What scores the words, written over the heads' names.
    """
    left, step, top, height = 92, 52, 58, 34
    right = left + step * len(TOKENS)
    parts = [text(4, 22, asks, 13, "start")]
    for index, token in enumerate(TOKENS):
        faint = {} if index < KEPT else {"opacity": FAINT}
        parts.append(text(left + step * index + 24, top - 10, token, 13, **faint))
    for row, (name, weights) in enumerate(heads):
        y = top + row * (height + 8)
        parts.append(text(4, y + 22, name, 13, "start"))
        for index in range(len(TOKENS)):
            x = left + step * index
            kept = index < KEPT
            weight = weights[index] if kept else 0.0
            dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
            parts.append(box(x, y, step - 4, height, 0.85 * weight, **dash))
            number = f"{weight:.2f}" if kept else "0"
            parts.append(text(x + 24, y + 22, number, 13, **({} if kept else {"opacity": FAINT})))
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        for index in range(4):
            parts.append(box(right + 32 + 13 * index, y + 10, 13, 14, 0.15 + 0.2 * (index % 3)))
    total = top + len(heads) * (height + 8)
    parts.append(text(right + 58, top - 10, "Σ αₜ hₜ", 13))
    return figure(right + 92, total + 2, label, caption, parts)


def one_context():
    """AttentionPooling."""
    return attention(
        [("α", (0.04, 0.10, 0.03, 0.38, 0.45))],
        "One row of attention weights over the words 'the staff was not friendly' and two padded "
        "steps; most weight is on 'not friendly', none on the padding; their weighted sum is one "
        "vector.",
        "One context vector scores every word; padding gets nothing, whatever it holds.",
        "one learned context",
    )


def several_contexts():
    """StructuredSelfAttentionPooling."""
    return attention(
        [
            ("head 1", (0.03, 0.06, 0.03, 0.42, 0.46)),
            ("head 2", (0.12, 0.71, 0.08, 0.03, 0.06)),
            ("head 3", (0.20, 0.15, 0.45, 0.12, 0.08)),
        ],
        "Three rows of attention weights over the same words: the first head attends to 'not "
        "friendly', the second to 'staff', the third to 'was'; each gives a vector of its own.",
        "Each head has its own learned context and gives its own vector; the vectors are joined.",
        "num_heads learned contexts",
    )


def low_rank():
    """LowRankAttentionPooling."""
    return attention(
        [
            ("head 1", (0.12, 0.16, 0.13, 0.29, 0.30)),
            ("head 2", (0.17, 0.36, 0.18, 0.14, 0.15)),
            ("head 3", (0.22, 0.16, 0.30, 0.16, 0.16)),
        ],
        "Three rows of attention weights over the words of a text; the differences within a row "
        "are moderate; each row gives a vector of its own.",
        "The text's own mean asks, each head in its own projection. The l2 step keeps the weights "
        "of a row within a factor of 7.4.",
        "the mean of this text's words, projected for each head",
    )


def weights_of_features():
    """GeneralizedPooling: one head's weights, a row of them for each feature."""
    rows = (
        (0.06, 0.80, 0.06, 0.02, 0.06),
        (0.05, 0.05, 0.05, 0.80, 0.05),
        (0.02, 0.03, 0.05, 0.42, 0.48),
        (0.20, 0.20, 0.20, 0.20, 0.20),
    )
    left, step, top, height = 92, 52, 40, 30
    right = left + step * len(TOKENS)
    parts = []
    for index, token in enumerate(TOKENS):
        faint = {} if index < KEPT else {"opacity": FAINT}
        parts.append(text(left + step * index + 24, top - 10, token, 13, **faint))
    for row, weights in enumerate(rows):
        y = top + row * (height + 6)
        parts.append(text(4, y + 20, f"feature {row + 1}", 13, "start"))
        for index in range(len(TOKENS)):
            kept = index < KEPT
            weight = weights[index] if kept else 0.0
            dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
            x = left + step * index
            parts.append(box(x, y, step - 4, height, 0.85 * weight, **dash))
            number = f"{weight:.2f}" if kept else "0"
            parts.append(text(x + 24, y + 20, number, 13, **({} if kept else {"opacity": FAINT})))
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        parts.append(box(right + 32, y + 8, 14, 14, 0.3 + 0.15 * row))
    return figure(
        right + 60,
        top + len(rows) * (height + 6) + 2,
        "One head: four rows of attention weights, one for each feature, over the words 'the staff "
        "was not friendly' and two padded steps. The first feature attends to 'staff', the second "
        "to 'not', the third to 'not friendly', the fourth to all alike; each row gives one number "
        "of the head's vector.",
        "One head: each feature of the vector is a weighted mean over the words, with weights of "
        "its own. Equal rows would be scalar attention, rows like the last mean pooling.",
        parts,
    )


def weight_bound():
    """The largest weight that a word can get, against the length of the text."""
    width, height, left, top, bottom = 520, 270, 58, 14, 226
    right = width - 14

    def place(length, weight):
        x = left + (math.log10(length) - 1) / 2 * (right - left)
        y = top + -math.log10(weight) / 3 * (bottom - top)
        return x, y

    parts = []
    for length in (10, 30, 100, 300, 1000):
        x, _ = place(length, 1)
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" opacity="0.2"/>')
        parts.append(text(round(x, 1), bottom + 18, str(length), 13))
    for weight in (1, 0.1, 0.01, 0.001):
        _, y = place(10, weight)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" opacity="0.2"/>')
        parts.append(text(left - 8, round(y, 1) + 4, f"{weight:g}", 13, "end"))
    curves = (
        ("scale 3", lambda n: math.exp(6) / (n - 1 + math.exp(6)), 0.75, 60),
        ("the paper's scores", lambda n: math.exp(2) / (n - 1 + math.exp(2)), 1.0, 52),
        ("mean pooling", lambda n: 1 / n, 0.55, 34),
    )
    lengths = [10 ** (1 + step / 20) for step in range(41)]
    for name, bound, opacity, at in curves:
        points = " ".join("{:.1f},{:.1f}".format(*place(n, bound(n))) for n in lengths)
        accent = ' class="accent"' if opacity == 1.0 else ' stroke-dasharray="6 4"'
        parts.append(
            f'<polyline points="{points}" fill="none" stroke-width="2"{accent} '
            f'opacity="{opacity}"/>'
        )
        x, y = place(at, bound(at))
        parts.append(text(round(x, 1) + 6, round(y, 1) - 8, name, 13, "start"))
    parts.append(text((left + right) / 2, height - 6, "words in the text", 13))
    middle = (top + bottom) / 2
    parts.append(
        text(14, middle, "largest possible weight", 13, transform=f"rotate(-90 14 {middle:g})")
    )
    return figure(
        width,
        height,
        "Largest possible attention weight of a word against the number of words, both axes "
        "logarithmic: with the paper's scores it falls from 0.45 at 10 words to 0.007 at 1000, "
        "about seven times that of mean pooling; with a scale of 3 it is still 0.8 at "
        "a hundred words.",
        "What the l2 step allows: no word can stand out in a long text unless the scores are "
        "scaled.",
        parts,
    )


def masks():
    """PositionalSelfAttention: what each mask leaves of even scores, word by word."""
    kinds = (
        ("faraway_2", lambda apart: 1.0 if 0 < abs(apart) <= 2 else 0.0),
        ("backward", lambda apart: 1.0 if apart < 0 else 0.0),
        ("forward", lambda apart: 1.0 if apart > 0 else 0.0),
        ("distance", lambda apart: math.exp(-abs(apart))),
        ("scaled_distance", lambda apart: 1 / max(abs(apart), 1)),
    )
    size, cell, step, top, left = 5, 20, 128, 46, 52
    words = TOKENS[:size]
    parts = [text(4, 14, "attends", 12, "start"), text(4, 28, "↓", 12, "start")]
    for row, word in enumerate(words):
        parts.append(text(left - 6, top + cell * row + 15, word, 12, "end"))
    for number, (name, factor) in enumerate(kinds):
        x = left + step * number
        parts.append(text(x + cell * size / 2, top - 28, name, 13))
        parts.append(text(x + cell * size / 2, top - 10, "to: the … friendly", 11, opacity=0.7))
        for row in range(size):
            for column in range(size):
                share = factor(column - row)
                dash = {} if share else {"stroke_dasharray": "2 3", "opacity": FAINT}
                at = (x + cell * column, top + cell * row)
                parts.append(box(*at, cell - 2, cell - 2, 0.85 * share, **dash))
    return figure(
        left + step * len(kinds) - 20,
        top + cell * size + 6,
        "Five tables of five words by five words, a row for each word that attends. faraway_2: up "
        "to two words to either side, not the word itself. backward: the words before it. forward: "
        "the words after it. distance: fades quickly with the distance. scaled_distance: slowly.",
        "The five masks: the weight each leaves to a word, from nothing (dashed) to all of it, "
        "before the softmax makes the weights of a row sum to 1. Masks that are given together are "
        "multiplied.",
        parts,
    )


def packing():
    """HierarchicalEncoder: the same documents padded and packed."""
    documents = ((3, 7, 2), (6,), (2, 3))  # words of each sentence
    sentences = [
        (length, document, place)
        for document, lengths in enumerate(documents)
        for place, length in enumerate(lengths)
    ]
    cell, gap, top, longest = 16, 14, 40, 7
    parts = []

    def row(x, y, width, words, shade):
        for column in range(width):
            kept = column < words
            dash = {} if kept else {"stroke_dasharray": "2 3", "opacity": FAINT}
            parts.append(box(x + cell * column, y, cell - 2, cell - 2, shade * kept, **dash))

    shades = (0.85, 0.5, 0.25)
    parts.append(text(4, 16, "padded: 63 places", 13, "start"))
    for document, lengths in enumerate(documents):
        parts.append(
            text(4, top + document * (3 * cell + gap) - 3, f"document {document + 1}", 11, "start")
        )
        for place in range(3):
            words = lengths[place] if place < len(lengths) else 0
            y = top + document * (3 * cell + gap) + place * cell
            row(4, y, longest, words, shades[document])
    left = 4 + cell * longest + 74
    parts.append(arrow(left - 52, 110, left - 16, 110))
    parts.append(text(left, 16, "packed: 26 places", 13, "start"))
    y, number, numbers = top, 0, {}
    for name, width, fits in (
        ("sentences_0", 3, lambda n: n <= 3),
        ("sentences_1", longest, lambda n: n > 3),
    ):
        parts.append(text(left, y - 3, name, 11, "start"))
        for length, document, place in sorted(sentences):
            if fits(length):
                number += 1
                numbers[document, place] = number
                parts.append(text(left + 10, y + 12, str(number), 11, "end", opacity=0.7))
                row(left + 16, y, width, length, shades[document])
                y += cell
        y += 22
    x = left + cell * longest + 64
    parts.append(text(x, 16, "documents", 13, "start"))
    for document in range(3):
        for place in range(3):
            at = (x + 26 * place, top + 26 * document)
            found = numbers.get((document, place), 0)
            dash = {} if found else {"stroke_dasharray": "2 3", "opacity": FAINT}
            parts.append(box(*at, 24, 24, shades[document] * bool(found) * 0.6, **dash))
            parts.append(text(at[0] + 12, at[1] + 16, str(found), 12))
    return figure(
        x + 96,
        top + 3 * (3 * cell + gap) - 4,
        "Left: three documents as a padded array, three sentence places of seven words each, of "
        "which most are padding. Middle: the same sentences packed into an array three words wide "
        "and one seven words wide, numbered 1 to 6. Right: a table of documents by sentence "
        "places with these numbers, 0 where there is no sentence.",
        "The same 23 words twice. Padded, every sentence is as wide as the longest; packed, short "
        "ones have an array of their own, and a table says where each belongs.",
        parts,
    )


def sequential_attention():
    """SequentialAttention: a gate down the features, weights along the tokens."""
    gate, weights = (0.8, 0.1, 0.6, 0.3), (0.05, 0.30, 0.05, 0.25, 0.35)
    left, step, top, height = 120, 52, 58, 30
    right = left + step * len(TOKENS)
    parts = [text(4, top - 10, "features", 13, "start"), text(72, top - 10, "gate", 13)]
    for index, token in enumerate(TOKENS):
        faint = {} if index < KEPT else {"opacity": FAINT}
        parts.append(text(left + step * index + 24, top - 10, token, 13, **faint))
    for row, share in enumerate(gate):
        y = top + row * (height + 4)
        parts.append(text(4, y + 20, f"d = {row + 1}", 13, "start"))
        parts.append(box(50, y, 44, height, 0.85 * share))
        parts.append(text(72, y + 20, f"{share:.1f}", 13))
        for index in range(len(TOKENS)):
            kept = index < KEPT
            dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
            fill = 0.95 * share * (0.25 + 2 * weights[index]) if kept else 0.0
            parts.append(box(left + step * index, y, step - 4, height, fill, **dash))
        parts.append(box(right + 44, y, 30, height, 0.8 * share))
    y = top + len(gate) * (height + 4) + 14
    parts.append(text(4, y + 22, "weights of tokens", 13, "start"))
    for index in range(len(TOKENS)):
        x, kept = left + step * index, index < KEPT
        dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
        parts.append(box(x, y, step - 4, height, 0.85 * weights[index] if kept else 0.0, **dash))
        number = f"{weights[index]:.2f}" if kept else "0"
        faint = {} if kept else {"opacity": FAINT}
        parts.append(text(x + 24, y + 20, number, 13, **faint))
    middle = top + 2 * (height + 4)
    parts.append(arrow(right + 4, middle, right + 38, middle))
    parts.append(text(right + 59, top - 10, "output", 13))
    return figure(
        right + 92,
        y + height + 4,
        "A grid of four features by seven tokens, two of them padding. A column on the left holds "
        "one weight for each feature, a row below one weight for each token; padding has none. "
        "The weighted grid is summed over the tokens to one vector.",
        "First every feature of the text gets a weight, then every token; the sum is the vector.",
        parts,
    )


PICTURES = {
    f.__name__: f
    for f in (
        one_context,
        several_contexts,
        low_rank,
        weights_of_features,
        weight_bound,
        masks,
        packing,
        sequential_attention,
    )
}


def draw(markdown):
    """Replaces the markers of a page by the pictures."""
    return MARKER.sub(lambda match: PICTURES[match["name"]](), markdown)


def on_page_markdown(markdown, page, config, files):
    """Draws the pictures of every page."""
    return draw(markdown)
