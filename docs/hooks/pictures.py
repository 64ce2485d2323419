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


def token_names(left, step, top):
    """The words of the example over their columns, padding faint."""
    return [
        text(left + step * i + 24, top - 10, token, 13, **({} if i < KEPT else {"opacity": FAINT}))
        for i, token in enumerate(TOKENS)
    ]


def padded_row(left, y, step, height, numbers, fills=None, digits=2, padding="0"):
    """A row of numbers, one a kept word, darker the larger they are; then padding, dashed.

    Args:
        left: Where the row begins.
        y: Its upper edge.
        step: From word to word.
        height: Of a box.
        numbers: One for each kept word.
        fills: How dark each is, 0 to 1; the numbers themselves by default.
        digits: Decimals shown.
        padding: What stands in padded places.
    """
    parts = []
    for index in range(len(TOKENS)):
        x, kept = left + step * index, index < KEPT
        dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
        fill = (numbers if fills is None else fills)[index] if kept else 0.0
        parts.append(box(x, y, step - 4, height, 0.85 * fill, **dash))
        shown = f"{numbers[index]:.{digits}f}" if kept else padding
        if shown:
            faint = {} if kept else {"opacity": FAINT}
            parts.append(text(x + 24, y + height / 2 + 5, shown.replace("-", "−"), 13, **faint))
    return parts


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
    parts = [text(4, 22, asks, 13, "start"), *token_names(left, step, top)]
    for row, (name, weights) in enumerate(heads):
        y = top + row * (height + 8)
        parts.append(text(4, y + 22, name, 13, "start"))
        parts += padded_row(left, y, step, height, weights)
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


def feature_weights(rows, label, caption, joined=False):
    """Attention weights of every feature over the words, and the number that each row gives."""
    left, step, top, height = 92, 52, 40, 30
    right = left + step * len(TOKENS)
    parts = token_names(left, step, top)
    for row, weights in enumerate(rows):
        y = top + row * (height + 6)
        parts.append(text(4, y + 20, f"feature {row + 1}", 13, "start"))
        parts += padded_row(left, y, step, height, weights)
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        if not joined:
            parts.append(box(right + 32, y + 8, 14, 14, 0.3 + 0.15 * row))
    if joined:
        for row in range(len(rows)):
            y = top + row * (height + 6)
            parts.append(box(right + 32, y - 3, 18, height + 6, 0.3 + 0.15 * row))
    return figure(right + 60, top + len(rows) * (height + 6) + 2, label, caption, parts)


def weights_of_features():
    """GeneralizedPooling: one head's weights, a row of them for each feature."""
    return feature_weights(
        (
            (0.06, 0.80, 0.06, 0.02, 0.06),
            (0.05, 0.05, 0.05, 0.80, 0.05),
            (0.02, 0.03, 0.05, 0.42, 0.48),
            (0.20, 0.20, 0.20, 0.20, 0.20),
        ),
        "One head: four rows of attention weights, one for each feature, over the words 'the staff "
        "was not friendly' and two padded steps. The first feature attends to 'staff', the second "
        "to 'not', the third to 'not friendly', the fourth to all alike; each row gives one number "
        "of the head's vector.",
        "One head: each feature of the vector is a weighted mean over the words, with weights of "
        "its own. Equal rows would be scalar attention, rows like the last mean pooling.",
    )


def one_vector_of_features():
    """MultiDimAttentionPooling."""
    return feature_weights(
        (
            (0.05, 0.70, 0.10, 0.05, 0.10),
            (0.04, 0.06, 0.10, 0.75, 0.05),
            (0.03, 0.07, 0.05, 0.25, 0.60),
        ),
        "Three rows of attention weights, one for each feature, over the words 'the staff was not "
        "friendly' and two padded steps. The first feature attends mostly to 'staff', the second "
        "to 'not', the third to 'friendly'; together the rows give one vector of three numbers.",
        "Each feature of the one vector weighs the words by itself.",
        joined=True,
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
        ("scale 3", lambda n: math.exp(6) / (n - 1 + math.exp(6)), 0.75, 60, 20),
        ("the paper's scores", lambda n: math.exp(2) / (n - 1 + math.exp(2)), 1.0, 52, -8),
        ("mean pooling", lambda n: 1 / n, 0.55, 34, -8),
    )
    lengths = [10 ** (1 + step / 20) for step in range(41)]
    for name, bound, opacity, at, below in curves:
        points = " ".join("{:.1f},{:.1f}".format(*place(n, bound(n))) for n in lengths)
        accent = ' class="accent"' if opacity == 1.0 else ' stroke-dasharray="6 4"'
        parts.append(
            f'<polyline points="{points}" fill="none" stroke-width="2"{accent} '
            f'opacity="{opacity}"/>'
        )
        x, y = place(at, bound(at))
        parts.append(text(round(x, 1) + 6, round(y, 1) + below, name, 13, "start"))
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


def pair_tables(kinds, label, caption):
    """Tables of words by words: how much of its weight a word may give to another.

    Args:
        kinds: Pairs of a name and a function of the distance to the word attended to, 0 to 1.
        label: The picture in words.
        caption: The line under the picture.
    """
    size, cell, step, top, left = 5, 20, 128, 46, 58
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
    width = left + step * len(kinds) - 20
    return figure(width, top + cell * size + 6, label, caption, parts)


def masks():
    """PositionalSelfAttention: what each mask leaves of even scores, word by word."""
    return pair_tables(
        (
            ("faraway_2", lambda apart: 1.0 if 0 < abs(apart) <= 2 else 0.0),
            ("earlier", lambda apart: 1.0 if apart < 0 else 0.0),
            ("later", lambda apart: 1.0 if apart > 0 else 0.0),
            ("distance", lambda apart: math.exp(-abs(apart))),
            ("scaled_distance", lambda apart: 1 / max(abs(apart), 1)),
        ),
        "Five tables of five words by five words, a row for each word that attends. faraway_2: up "
        "to two words to either side, not the word itself. earlier: the words before it. later: "
        "the words after it. distance: fades quickly with the distance. scaled_distance: slowly.",
        "The five masks: the weight each leaves to a word, from nothing (dashed) to all of it, "
        "before the softmax makes the weights of a row sum to 1. Masks that are given together are "
        "multiplied.",
    )


def directions():
    """DirectionalSelfAttention."""
    return pair_tables(
        (
            ("forward", lambda apart: 0.7 if apart < 0 else 0.0),
            ("backward", lambda apart: 0.7 if apart > 0 else 0.0),
            ("None", lambda apart: 0.7 if apart else 0.0),
        ),
        "Three tables of five words by five words, a row for each word that attends. forward: a "
        "word attends to the words before it. backward: to the words after it. None: to all words "
        "but itself.",
        "Whom a word may attend to, by direction. Every filled place holds not one weight but one "
        "for each feature. The first word has nobody before it, the last nobody behind: there they "
        "find nothing, zeros.",
    )


def packing():
    """HierarchicalEncoder: the same documents padded and packed."""
    documents = ((3, 7, 2), (6,), (2, 3))  # words of each sentence
    sentences = [
        (length, document, place)
        for document, lengths in enumerate(documents)
        for place, length in enumerate(lengths)
    ]
    cell, gap, top, longest = 16, 20, 42, 7
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
            text(4, top + document * (3 * cell + gap) - 5, f"document {document + 1}", 11, "start")
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
        parts.append(text(left, y - 5, name, 11, "start"))
        for length, document, place in sorted(sentences):
            if fits(length):
                number += 1
                numbers[document, place] = number
                parts.append(text(left + 10, y + 12, str(number), 11, "end", opacity=0.7))
                row(left + 16, y, width, length, shades[document])
                y += cell
        y += 26
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
    parts = [text(72, top - 10, "gate", 13)]
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


def conv_target():
    """ConvAttentionPooling."""
    drawn = attention(
        [
            ("head 1", (0.04, 0.08, 0.22, 0.40, 0.26)),
            ("head 2", (0.30, 0.44, 0.14, 0.06, 0.06)),
        ],
        "Two rows of attention weights over the words 'the staff was not friendly' and two padded "
        "steps. A bracket over 'was not friendly' marks the window that stands behind the weight "
        "of 'not'. Each head gives its part of one vector.",
        "A learned target asks windows of words. A weight stands at the middle of its window; "
        "each head has a slice of the target, and gives its slice of the vector.",
        "windows of kernel_size words, centred",
    )
    # Over "was", "not" and "friendly".
    window = '<polyline points="198,36 198,31 346,31 346,36" fill="none"/>'
    return drawn.replace("</defs>\n", f"</defs>\n{window}\n", 1)


GRID = (
    (0.2, 0.9, 0.1, 0.4, 0.3),
    (0.1, 0.3, 0.2, 0.8, 0.6),
    (0.3, 0.2, 0.1, 0.2, 0.9),
)


def token_weights():
    """TokenWiseAttention."""
    left, step, top, height = 92, 52, 40, 28
    right = left + step * len(TOKENS)
    parts = token_names(left, step, top)
    for row, numbers in enumerate(GRID):
        y = top + row * (height + 4)
        parts.append(text(4, y + 19, f"feature {row + 1}", 13, "start"))
        parts += padded_row(left, y, step, height, numbers, [n / 2 for n in numbers], 1, "")
    columns = list(zip(*GRID, strict=True))
    y = top + 3 * (height + 4) + 12
    for name, numbers in (
        ("maximum", [max(column) for column in columns]),
        ("mean", [sum(column) / 3 for column in columns]),
    ):
        parts.append(text(4, y + 19, name, 13, "start"))
        parts += padded_row(left, y, step, height, numbers, [0.0] * KEPT, 1, "")
        y += height + 4
    parts.append(arrow(left + 24, y + 2, left + 24, y + 26))
    words = "one network for both, softmax over the words"
    parts.append(text(left + 38, y + 19, words, 13, "start"))
    y += 32
    parts.append(text(4, y + 19, "weights", 13, "start"))
    parts += padded_row(left, y, step, height, (0.06, 0.30, 0.04, 0.25, 0.35))
    return figure(
        right + 4,
        y + height + 4,
        "A grid of three features by seven tokens, two of them padding. Below it two rows: the "
        "largest and the mean feature of each token. A network turns these two rows into one row "
        "of attention weights, zero at padding.",
        "A token is asked by two numbers alone, the largest and the mean of its features.",
        parts,
    )


def feature_gate():
    """FeatureWiseAttention."""
    left, step, top, height = 92, 52, 40, 30
    right = left + step * len(TOKENS)
    parts = token_names(left, step, top)
    for place, name in ((41, "max"), (95, "mean"), (203, "gate")):
        parts.append(text(right + place, top - 10, name, 13))
    for row, (numbers, gate) in enumerate(zip(GRID, (0.8, 0.6, 0.3), strict=True)):
        y = top + row * (height + 4)
        parts.append(text(4, y + 20, f"feature {row + 1}", 13, "start"))
        parts += padded_row(left, y, step, height, numbers, [n / 2 for n in numbers], 1, "")
        for column, value in enumerate((max(numbers), sum(numbers) / KEPT)):
            x = right + 16 + 54 * column
            parts.append(box(x, y, 50, height))
            parts.append(text(x + 25, y + 20, f"{value:.1f}", 13))
        parts.append(arrow(right + 128, y + height / 2, right + 172, y + height / 2))
        parts.append(box(right + 178, y, 50, height, 0.85 * gate))
        parts.append(text(right + 203, y + 20, f"{gate:.1f}", 13))
    return figure(
        right + 234,
        top + 3 * (height + 4) + 2,
        "A grid of three features by seven tokens, two of them padding. To the right of it two "
        "columns: the largest and the mean value of each feature over the kept tokens. A network "
        "turns these into a gate between 0 and 1 for each feature.",
        "Every feature is asked by its largest and its mean value in the text. The gate then "
        "multiplies the feature at every word.",
        parts,
    )


POOLED = (
    (0.4, -0.2, 0.1, 0.9, 0.3),
    (-0.5, -0.3, -0.8, -0.1, -0.3),
    (0.1, 0.6, 0.2, -0.4, 0.5),
)


def pooled(used, output, label, caption):
    """Values of three features over a padded text, and what is pooled of them.

    Args:
        used: `used(row, index)`: how dark a value is, 0 where it does not count.
        output: The pooled number of a row.
        label: The picture in words.
        caption: The line under the picture.
    """
    left, step, top, height = 92, 52, 40, 30
    right = left + step * len(TOKENS)
    parts = token_names(left, step, top)
    for row, numbers in enumerate(POOLED):
        y = top + row * (height + 6)
        parts.append(text(4, y + 20, f"feature {row + 1}", 13, "start"))
        fills = [used(row, index) for index in range(KEPT)]
        parts += padded_row(left, y, step, height, numbers, fills, 1)
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        parts.append(box(right + 32, y, 56, height, 0.4))
        shown = f"{output(numbers):.2f}".replace("-", "−")
        parts.append(text(right + 60, y + 20, shown, 13))
    return figure(right + 92, top + 3 * (height + 6) + 2, label, caption, parts)


def mean_of_words():
    """MaskedAveragePooling1D."""
    return pooled(
        lambda row, index: 0.3,
        lambda numbers: sum(numbers) / KEPT,
        "Three features over the words 'the staff was not friendly' and two padded steps of zeros. "
        "All kept values of a row count alike and give their mean; the padding does not count.",
        "The mean over five words, not over seven places: zeros in the padding would pull it down.",
    )


def largest_of_words():
    """MaskedMaxPooling1D."""
    return pooled(
        lambda row, index: 0.8 if POOLED[row][index] == max(POOLED[row]) else 0.0,
        max,
        "Three features over the words 'the staff was not friendly' and two padded steps of zeros. "
        "In each row the largest kept value is marked. In the second row all kept values are "
        "negative: the largest is minus 0.1, not the zero of the padding.",
        "Each feature takes its largest value, from whichever word. In the second row the zeros of "
        "the padding are larger, and do not count.",
    )


def generalized_mean():
    """GeneralizedMeanPooling1D: the same numbers under four powers."""
    numbers, powers = (0.4, 0.2, 0.1, 0.9, 0.3), ((1, "mean"), (3, "start"), (10, ""), (100, "max"))
    left, step, top, height = 104, 52, 40, 30
    right = left + step * len(TOKENS)
    parts = token_names(left, step, top)
    for row, (power, name) in enumerate(powers):
        y = top + row * (height + 6)
        parts.append(text(4, y + 20, f"p = {power}" + f", {name}" * bool(name), 13, "start"))
        # How much of the sum each word has.
        total = sum(number**power for number in numbers)
        fills = [number**power / total for number in numbers]
        parts += padded_row(left, y, step, height, numbers, fills, 1)
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        parts.append(box(right + 32, y, 56, height, 0.4))
        parts.append(text(right + 60, y + 20, f"{(total / KEPT) ** (1 / power):.2f}", 13))
    return figure(
        right + 92,
        top + len(powers) * (height + 6) + 2,
        "One feature of the words 'the staff was not friendly' and two padded steps, four times. "
        "With power 1 the output is the mean, with power 3 it is larger, with power 100 it is "
        "nearly the largest value; the larger the power, the more of the sum is the largest word.",
        "One feature under four powers. Dark is what has a large share of the sum: the larger the "
        "power, the more it is the largest value alone.",
        parts,
    )


def last_word():
    """LastPooling1D."""
    return pooled(
        lambda row, index: 0.8 if index == KEPT - 1 else 0.0,
        lambda numbers: numbers[-1],
        "Three features over the words 'the staff was not friendly' and two padded steps of zeros. "
        "The column of 'friendly', the last word before the padding, is marked and is the output.",
        "The last word that the mask keeps, not the last place.",
    )


def blocks():
    """BlockSelfAttention."""
    size, block, cell, left, top = 9, 3, 22, 76, 44
    parts = [text(left + cell * size / 2, 32, "to word 1 … 9", 13)]
    for row in range(size):
        parts.append(text(left - 8, top + cell * row + 15, f"word {row + 1}", 12, "end"))
        for column in range(size):
            at = (left + cell * column, top + cell * row)
            same, earlier = row // block == column // block, column < row
            fill = 0.85 if same and earlier else 0.3 if earlier else 0.0
            dash = {} if earlier else {"stroke_dasharray": "2 3", "opacity": FAINT}
            parts.append(box(*at, cell - 2, cell - 2, fill, **dash))
    x = left + cell * size + 44
    for row, (fill, words) in enumerate(
        ((0.85, "within the block: word to word"), (0.3, "through the vectors of earlier blocks"))
    ):
        y = top + 30 * row
        parts.append(box(x, y, 18, 18, fill))
        parts.append(text(x + 28, y + 14, words, 13, "start"))
    y = top + 88
    parts.append(text(x, y, "blocks to blocks", 13, "start"))
    for row in range(3):
        for column in range(3):
            dash = {} if column < row else {"stroke_dasharray": "2 3", "opacity": FAINT}
            fill = 0.3 if column < row else 0.0
            parts.append(box(x + 26 * column, y + 10 + 26 * row, 24, 24, fill, **dash))
    return figure(
        x + 300,
        top + cell * size + 6,
        "A table of nine words by nine words in blocks of three, forward. A word attends to the "
        "earlier words of its block, dark; what is in earlier blocks reaches it through their "
        "vectors, pale. Beside it the small table of three blocks by three blocks.",
        "Nine words in three blocks, direction forward. The dark places and the small table have "
        "weights; what is pale reaches a word through the vector of its block.",
        parts,
    )


def fusion():
    """PositionFusion."""
    sources = ("faraway_2", "faraway_3", "earlier", "later", "word")
    rows = (
        (0.45, 0.25, 0.10, 0.05, 0.15),
        (0.05, 0.05, 0.60, 0.10, 0.20),
        (0.10, 0.10, 0.10, 0.10, 0.60),
        (0.05, 0.30, 0.05, 0.55, 0.05),
    )
    left, step, top, height = 92, 84, 40, 30
    right = left + step * len(sources)
    parts = [text(left + step * i + 40, top - 10, name, 13) for i, name in enumerate(sources)]
    for row, weights in enumerate(rows):
        y = top + row * (height + 6)
        parts.append(text(4, y + 20, f"feature {row + 1}", 13, "start"))
        for index, weight in enumerate(weights):
            parts.append(box(left + step * index, y, step - 4, height, 0.85 * weight))
            parts.append(text(left + step * index + 40, y + 20, f"{weight:.2f}", 13))
        parts.append(arrow(right + 2, y + height / 2, right + 26, y + height / 2))
        parts.append(box(right + 32, y - 3, 18, height + 6, 0.3 + 0.12 * row))
    return figure(
        right + 56,
        top + len(rows) * (height + 6) + 2,
        "For one word, a table of four features by five sources: four attentions and the word "
        "itself. The weights of a row sum to 1; each row gives one feature of the word's new "
        "vector.",
        "One word. Each feature mixes the sources by weights of its own, which sum to 1.",
        parts,
    )


def number_rows(rows, width, label, caption):
    """Rows of numbers under each other, with a name in front and words behind."""
    left, step, height = 112, 62, 30
    parts = []
    for row, (name, numbers, shade, words) in enumerate(rows):
        y = 6 + row * (height + 8)
        parts.append(text(4, y + 20, name, 13, "start"))
        for index, number in enumerate(numbers):
            shown = f"{number:.2f}".replace("-", "−")
            fill = shade * abs(number)
            parts.append(box(left + step * index, y, step - 4, height, min(fill, 0.85)))
            parts.append(text(left + step * index + 29, y + 20, shown, 13))
        parts.append(text(left + step * len(numbers) + 12, y + 20, words, 13, "start"))
    return figure(width, 6 + len(rows) * (height + 8), label, caption, parts)


def gate_mix():
    """FusionGate."""
    inputs, found, gate = (1.0, 0.2, -0.5, 0.8), (0.0, 1.0, 0.5, -0.4), (0.9, 0.1, 0.5, 0.75)
    output = [f * h + (1 - f) * s for h, s, f in zip(inputs, found, gate, strict=True)]
    return number_rows(
        (
            ("inputs h", inputs, 0.3, "the sequence"),
            ("attention s", found, 0.3, "what was found for it"),
            ("gate F", gate, 0.85, "share of h"),
            ("output u", output, 0.5, "F h + (1 − F) s"),
        ),
        520,
        "Four rows of four features of one word: the inputs, the attention, the gate, and the "
        "output. Where the gate is 0.9 the output is nearly the input, where it is 0.1 nearly the "
        "attention, where it is 0.5 their mean.",
        "One word: a share for every feature, how much of the input stays.",
    )


def matched_pair():
    """PairMatching."""
    first, second = (0.9, -0.2, 0.4), (0.7, 0.5, 0.4)
    return number_rows(
        (
            ("v_a", first, 0.4, "the one text"),
            ("v_b", second, 0.4, "the other"),
            (
                "|v_a − v_b|",
                [abs(a - b) for a, b in zip(first, second, strict=True)],
                0.85,
                "how far apart, feature by feature",
            ),
            (
                "v_a ∘ v_b",
                [a * b for a, b in zip(first, second, strict=True)],
                0.85,
                "large where both agree and are large",
            ),
        ),
        570,
        "Four rows of three numbers: the vector of one text, that of the other, the absolute "
        "differences, and the products, feature by feature. All four are joined.",
        "The four rows joined are the output. Equal features have distance 0; features of opposite "
        "sign have a negative product.",
    )


def named_box(x, y, width, height, words, fill=0.0):
    """A box with a line of text in its middle."""
    return [
        box(x, y, width, height, fill),
        text(x + width / 2, y + height / 2 + 5, words, 13),
    ]


def product_of_attentions():
    """ConvMultiHeadAttention."""
    parts = [
        *named_box(4, 62, 70, 32, "words"),
        *named_box(122, 10, 170, 32, "Q, K: elu,  V: elu"),
        *named_box(122, 114, 170, 32, "Q, K: elu,  V: tanh"),
        *named_box(340, 10, 110, 32, "attention a", 0.4),
        *named_box(340, 114, 110, 32, "attention b", 0.4),
        *named_box(486, 62, 66, 32, "a ∘ b", 0.7),
        *named_box(588, 62, 96, 32, "layer norm"),
        arrow(74, 72, 118, 30),
        arrow(74, 84, 118, 126),
        arrow(292, 26, 336, 26),
        arrow(292, 130, 336, 130),
        arrow(450, 30, 490, 58),
        arrow(450, 126, 490, 98),
        arrow(552, 78, 584, 78),
        text(207, 60, "convolutions", 13),
        text(207, 164, "convolutions", 13),
    ]
    return figure(
        688,
        172,
        "Two branches from the words: convolutions make queries, keys and values for attention a, "
        "others with tanh values for attention b. The two outputs are multiplied element by "
        "element, and normalised.",
        "Two attentions over windows of words, multiplied feature by feature: one proposes, the "
        "other scales it up, down, or turns its sign.",
        parts,
    )


def added_positions():
    """AddPositionEmbedding."""
    left, step, top = 112, 52, 40
    parts = token_names(left, step, top)
    for row, name in enumerate(("words", "positions", "output")):
        y = top + 62 * row
        parts.append(text(4, y + 26, name, 13, "start"))
        for index in range(len(TOKENS)):
            padded = index >= KEPT
            dash = {"stroke_dasharray": "3 3", "opacity": FAINT} if padded and row != 1 else {}
            for part in range(3):
                word = 0.15 + 0.22 * ((index * 2 + part * 3) % 4)
                place = 0.12 + 0.1 * (index if part == 0 else (index + part) % 3)
                fill = (word, place, min(word + place, 0.9))[row]
                fill = 0.0 if padded and row != 1 else fill
                parts.append(box(left + step * index + 12, y + 14 * part, 24, 14, fill, **dash))
            if row == 1:
                parts.append(text(left + step * index + 24, y + 54, f"P{index + 1}", 11))
        if row:
            parts.append(
                text(left - 18, y - 8 if row == 1 else y - 4, "+" if row == 1 else "=", 14)
            )
    return figure(
        left + step * len(TOKENS),
        top + 62 * 2 + 48,
        "A row of word vectors, a row of position vectors below it, and their sums. Positions have "
        "vectors for every place; the sums at padded places are zero.",
        "A vector for each place is added to whatever word stands there. Padding stays zero.",
        parts,
    )


def characters():
    """CharacterEmbedding."""
    word, cell = "friendly", 34
    left, top = 128, 12
    parts = [text(4, top + 22, "characters", 13, "start")]
    for index, letter in enumerate(word):
        parts.append(box(left + cell * index, top, cell - 4, 32))
        parts.append(text(left + cell * index + 15, top + 21, letter, 14))
    for index in range(2):
        at = left + cell * (len(word) + index)
        parts.append(box(at, top, cell - 4, 32, stroke_dasharray="3 3", opacity=FAINT))
    right = left + cell * (len(word) + 2)
    responses = {
        1: (0.1, 0.3, 0.2, 0.1, 0.5, 0.2, 0.8, 0.3),
        3: (0.2, 0.1, 0.3, 0.9, 0.4, 0.2, 0.1, 0.2),
        5: (0.3, 0.2, 0.4, 0.7, 0.1, 0.3, 0.2, 0.1),
    }
    for row, (size, values) in enumerate(responses.items()):
        y = top + 52 + 40 * row
        plural = "s" if size > 1 else ""
        parts.append(text(4, y + 19, f"{size} character{plural}", 13, "start"))
        for index, value in enumerate(values):
            x = left + cell * index
            parts.append(box(x, y, cell - 4, 28, 0.85 * value))
            parts.append(text(x + 15, y + 19, f"{value:.1f}", 12))
        parts.append(arrow(right - 30, y + 14, right + 12, y + 14))
        parts.append(box(right + 18, y, 40, 28, 0.85 * max(values)))
        parts.append(text(right + 38, y + 19, f"{max(values):.1f}", 13))
    parts.append(text(right + 38, top + 22, "largest", 13))
    return figure(
        right + 66,
        top + 52 + 40 * 3,
        "The letters of the word 'friendly' and two padded places. One filter over single "
        "characters, one over windows of three, one over windows of five, each with a row of "
        "responses; the largest of each row is one number of the word's vector.",
        "One filter of each width, its answers under the first character of each window. It "
        "answers to a piece of spelling wherever that stands; the word keeps its largest answer.",
        parts,
    )


def both_ways():
    """BidirectionalGRU."""
    left, step, top, height = 92, 68, 40, 30
    parts = []
    for y, name in ((20, "forward"), (70, "backward"), (126, "output")):
        parts.append(text(4, top + y, name, 13, "start"))
    for index, token in enumerate(TOKENS):
        x, kept = left + step * index, index < KEPT
        faint = {} if kept else {"opacity": FAINT}
        dash = {} if kept else {"stroke_dasharray": "3 3", "opacity": FAINT}
        parts.append(text(x + 24, top - 10, token, 13, **faint))
        # The first and the last word that each state has read.
        read = ((1, index + 1), (index + 1, KEPT))
        for row, (first, last) in enumerate(read):
            y, fill = top + 50 * row, 0.16 * (last - first + 1) if kept else 0.0
            parts.append(box(x, y, 48, height, fill, **dash))
            parts.append(box(x + 24 * row, top + 110, 24, 24, fill, **dash))
            if kept:
                words = str(first) if first == last else f"{first}–{last}"
                parts.append(text(x + 24, y + 20, words, 12))
            if 0 < index < KEPT:
                start, end = (x - 18, x - 2)[:: 1 - 2 * row]
                parts.append(arrow(start, y + height / 2, end, y + height / 2))
    return figure(
        left + step * len(TOKENS),
        top + 140,
        "Two rows of states over the words 'the staff was not friendly' and two padded steps. The "
        "forward states go from left to right and have read the words so far; the backward states "
        "start at the last word, not in the padding, and have read the rest. The output joins "
        "both at each word and is empty at padding.",
        "Which words each state has read. The backward direction starts at the last word, not at "
        "the padding.",
        parts,
    )


def shortcuts():
    """ShortcutStackedBiLSTM."""
    parts = [*named_box(4, 150, 120, 32, "words e")]
    for n in range(3):
        y = 150 - 62 * n
        x = 214
        parts += named_box(x, y, 190, 32, f"layer {n + 1}: both directions", 0.2 + 0.2 * n)
        if n:
            parts.append(arrow(x + 95, y + 62, x + 95, y + 34))
            parts.append(arrow(64, y + 16, x - 4, y + 16))
            words = f"[e; h of layer {n}]"
            parts.append(text(x + 202, y + 50, f"reads {words}", 13, "start"))
        else:
            parts.append(arrow(124, y + 16, x - 4, y + 16))
            parts.append(text(x + 202, y + 21, "reads e", 13, "start"))
    parts.append('<line x1="64" y1="150" x2="64" y2="42"/>')
    parts.append(arrow(404, 42, 444, 42))
    parts.append(text(450, 47, "output h", 13, "start"))
    return figure(
        600,
        188,
        "Three layers on top of each other. The lowest reads the words; each layer above reads the "
        "words again, by a line that passes the layers, next to the states of the layer below. "
        "The output is that of the highest layer.",
        'shortcut="full": every layer reads the words again, next to both directions of the layer '
        "below.",
        parts,
    )


def heads_apart():
    """The regularizers: heads that agree, heads that do not, and the products of their weights."""
    cases = (
        (
            "heads that collapsed",
            (
                (0.05, 0.05, 0.05, 0.4, 0.45),
                (0.1, 0.05, 0.05, 0.4, 0.4),
                (0.05, 0.1, 0.05, 0.35, 0.45),
            ),
        ),
        (
            "heads that look elsewhere",
            (
                (0.02, 0.03, 0.02, 0.9, 0.03),
                (0.05, 0.88, 0.03, 0.02, 0.02),
                (0.02, 0.02, 0.03, 0.03, 0.9),
            ),
        ),
    )
    parts, cell, top = [], 34, 44
    for number, (title, heads) in enumerate(cases):
        left = 64 + 350 * number
        parts.append(text(left + 150, 14, title, 14))
        parts.append(text(left + cell * 2.5 - 2, 36, "A, over the words", 12))
        parts.append(text(left + 196 + cell * 1.5 - 2, 36, "A Aᵀ", 12))
        for row, weights in enumerate(heads):
            y = top + cell * row
            if number == 0:
                parts.append(text(4, y + 20, f"head {row + 1}", 12, "start"))
            for column, weight in enumerate(weights):
                parts.append(box(left + cell * column, y, cell - 3, cell - 3, 0.85 * weight))
            for column, other in enumerate(heads):
                product = sum(a * b for a, b in zip(weights, other, strict=True))
                x = left + 196 + cell * column
                parts.append(box(x, y, cell - 3, cell - 3, 0.85 * product))
                parts.append(text(x + 15, y + 20, f"{product:.1f}", 12))
    return figure(
        64 + 350 + 302,
        top + 3 * cell + 4,
        "Two times three heads over five words. On the left all heads attend to the same two "
        "words, and the products of their weights are alike, about 0.4, on and off the diagonal. "
        "On the right each head attends to a word of its own: the products are about 0.8 on the "
        "diagonal and 0 or 0.1 off it.",
        "AttentionOrthogonality wants the products of the heads' weights to be the identity: 1 on "
        "the diagonal (sharp heads), 0 beside it (no shared words).",
        parts,
    )


def frame():
    """The frame that the models for single texts share."""
    stages = (
        ("embedding", ("words", "word vectors,", "characters"), 0.15),
        ("encoder", ("states", "BiGRU, BiLSTMs,", "self-attention, none"), 0.3),
        ("pooling", ("one vector", "a layer of", "this package"), 0.6),
        ("classifier", ("", "dense layers,", "softmax"), 0.15),
    )
    parts, width, step, top = [], 126, 176, 30
    for index, (name, (_, first, second), fill) in enumerate(stages):
        x = 60 + step * index
        parts += named_box(x, top, width, 36, name, fill)
        parts.append(text(x + width / 2, top + 58, first, 12, opacity=0.8))
        parts.append(text(x + width / 2, top + 74, second, 12, opacity=0.8))
        if index:
            parts.append(arrow(x - step + width, top + 18, x - 4, top + 18))
    parts += [text(4, top + 23, "ids", 13, "start"), arrow(28, top + 18, 56, top + 18)]
    end = 60 + step * 3 + width
    parts += [
        arrow(end, top + 18, end + 28, top + 18),
        text(end + 34, top + 23, "classes", 13, "start"),
    ]
    for index, shape in enumerate(("(batch, time, dim)", "(batch, time, dim)", "(batch, vector)")):
        x = 60 + step * index + width + (step - width) / 2
        parts.append(text(x, top - 14, shape, 11, opacity=0.7))
    return figure(
        end + 86,
        top + 84,
        "Four boxes in a row with arrows: embedding, encoder, pooling, classifier. Ids go in, "
        "classes come out; before the pooling there is a vector for every word, behind it one for "
        "the text.",
        "What the models for single texts have in common. They differ in the encoder and in the "
        "pooling; hierarchical ones have both twice, for words and for sentences.",
        parts,
    )


PICTURES = {
    f.__name__: f
    for f in (
        one_context,
        several_contexts,
        low_rank,
        weights_of_features,
        one_vector_of_features,
        weight_bound,
        conv_target,
        token_weights,
        feature_gate,
        sequential_attention,
        mean_of_words,
        largest_of_words,
        generalized_mean,
        last_word,
        masks,
        directions,
        blocks,
        fusion,
        gate_mix,
        product_of_attentions,
        added_positions,
        packing,
        characters,
        both_ways,
        shortcuts,
        matched_pair,
        heads_apart,
        frame,
    )
}


def draw(markdown):
    """Replaces the markers of a page by the pictures."""
    return MARKER.sub(lambda match: PICTURES[match["name"]](), markdown)


def on_page_markdown(markdown, page, config, files):
    """Draws the pictures of every page."""
    return draw(markdown)
