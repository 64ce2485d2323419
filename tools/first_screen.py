"""Writes what README and the home page show first: measured figures, and a picture.

    KERAS_BACKEND=torch python tools/first_screen.py    # as `make layers` calls it

brings README's table of figures and `docs/assets/sentences.svg` up to date. The figures come from
`benchmarks/results`, the picture from the explorer's model. As a hook of MkDocs this file fills
`<!-- first screen -->` and the other markers below of a page.
"""

import json
import os
import re
import sys
import textwrap
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tools"), str(REPOSITORY / "docs" / "hooks")]
os.environ.setdefault("KERAS_BACKEND", "jax")

import arena
from tables import table

from benchmarks.arena import words
from benchmarks.arena.words import PLAIN

RESULTS = REPOSITORY / "benchmarks" / "results"
SPEED = RESULTS / "speed"
PICTURE = REPOSITORY / "docs" / "assets" / "sentences.svg"
MARKER = "<!-- first screen -->"
EXAMPLE = "<!-- example of README -->"
GUARANTEES = "<!-- guarantees of README -->"
FIRST, REAL = "<!-- first pooling -->", "<!-- real sentences -->"
BLOCK = re.compile(rf"(?<={MARKER}\n).*?(?=<!-- end of first screen -->)", re.S)
QUERY, PEER = "LearnedQueryPooling", "MultiHeadAttention, a probe"
H100 = "nvidia_h100_80gb_hbm3"
SENTENCES = (0, 8, 2)  # of the list


def speed(device, pass_):
    """Whether a learned query is faster than with Keras's layer on a device, and by what."""
    text = (SPEED / f"targets_torch_{device}.json").read_text(encoding="utf-8")
    (ratio,) = (
        row["ratio"]
        for case in json.loads(text)["cases"]
        if case["title"].startswith("Learned query") and case["title"].endswith(pass_)
        for row in case["rows"]
        if (row["fast"], row["slow"]) == (QUERY, PEER)
    )
    middle, low, high = ratio
    word = "faster" if low > 1 else "slower" if high < 1 else "about as fast"
    return f"{word} ({middle:.1f} times as fast)"


def moved(group, *probes):
    """How many layers' result a probe changes on some backend, and how many were measured."""
    moved, ran = set(), set()
    for file in (RESULTS / "behaviour").glob("*.json"):
        for layer, each in json.loads(file.read_text(encoding="utf-8"))[group].items():
            if ":" not in each["padding"]:
                ran.add(layer)
                if {each[probe] for probe in probes} != {"no"}:
                    moved.add(layer)
    return len(moved), len(ran)


def kinds(gap):
    """By kind of data the leads of the first row and of the plain attention."""
    told = words.told()
    pair = (told["first"], PLAIN)
    made = told["origin"]["other sets"]["sets"] - told["origin"]["other sets, real data"]["sets"]
    made -= told["kinds"]["few words decide"]["sets"]
    sets = {kind: str(each["sets"]) for kind, each in told["kinds"].items()}
    sets["pairs"] += f", {made} generated" * bool(made)
    rows = [
        [f"{words.DATA[kind]} ({sets[kind]})", *(words.spanned(each[row]) for row in pair)]
        for kind, each in told["kinds"].items()
    ]
    rows.append([f"**all ({len(told['sets'])})**", *map(words.everywhere, pair)])
    # On a phone the interval stands below its lead.
    rows = [[data, *(lead.replace(" (", f"{gap}(") for lead in leads)] for data, *leads in rows]
    short = (row.removesuffix("Pooling").removesuffix("Attention") for row in pair)
    return table(["data (sets)", *(name or "Attention" for name in short)], rows)


def clearly(row):
    """On which kinds of data a row is clearly better than the mean."""
    kinds = words.told()["kinds"].items()
    clear = [words.DATA[kind] for kind, each in kinds if words.counts(each[row])]
    if not clear:
        return "is not clearly better on any kind of data"
    return f"is clearly better on {words.listed(clear)} only"


def figures(gap="<br>"):
    """The verdict, the table, and what to take."""
    told = words.told()
    first, (lost, cases) = told["first"], told["behind_linear"]
    said = " ".join(f"{words.named(row)} {clearly(row)}." for row in dict.fromkeys((first, PLAIN)))
    return (
        f"{said} The table shows how many points of accuracy each is ahead of the mean, behind the "
        "same encoders ([comparison](docs/comparison.md)). The brackets hold the 95 % interval. A "
        f"lead is *clear* if its whole interval is above {words.region()}. One or two data sets "
        f"give no interval: they are too few to tell.\n\n{kinds(gap)}\n\n"
        "Bags, series and patches share the set `digits`.\n\n"
        f"- **Start with** {words.named(first)}. It has the largest lead over the mean. "
        f"{words.by_chance()} By a rank test, {len(told['level_with_first']) - 1} other "
        "poolings [may be as good](docs/comparison.md).\n"
        f"- **Where is the lead of {words.named(first)}?** {words.by_origin()}"
        f"{arena.series_in_short(RESULTS / 'arena')}\n"
        f"- **If people must see one weight per step**, start with `{words.PLAIN_CALL}`. "
        f"{words.in_sight()} [Which layer?](docs/which-layer.md)\n"
        "- **Measure your choice** beside the mean and a linear classifier, as the [command "
        f"`train`](docs/guides/your-texts.md) does. In {lost} of {cases} cases (a case is one task "
        "and one encoder, and series do not count), no pooling is shown to be better than the best "
        "linear classifier.\n"
    )


def more():
    """What README says beside that."""
    ours, all_ours = moved("ours", "padding", "nan")
    peers, all_peers = moved("peers", "padding")
    with_nan, _ = moved("peers", "nan")
    on_cpu, on_gpu, forward = (
        speed(*each) for each in (("cpu", "gradients"), (H100, "gradients"), (H100, "forward"))
    )
    return (
        f"- **Padding** changes the result of {ours or 'none'} of the {all_ours} layers of ours "
        "that we measured, even if the padding holds NaN. The [tests](#guarantees) check all our "
        f"layers. We also measured {all_peers} layers of Keras and of other packages: padding "
        f"changes the result of {peers}, and NaN in the padding that of {with_nan} "
        "([table](docs/behaviour.md)).\n"
        f"- **Speed.** We timed `{QUERY}` beside Keras's `MultiHeadAttention` with a learned query "
        f"(PyTorch, forward and backward, [one size](docs/targets.md)). On a CPU our layer is "
        f"{on_cpu}. On an H100 GPU our layer is {on_gpu}, and its forward pass alone is "
        f"{forward}.\n"
    )


def explained():
    """Of each shown sentence its stars, words, weights of attention and effects of the words."""
    import explorer_model
    import keras
    import numpy as np

    from keras_attnpool.workbench.text import WordTokenizer

    content, models = explorer_model.load()
    tokenizer = WordTokenizer(content["words"])
    model, encoder, poolings, _ = models["context"]
    name = "attention"
    for place in SENTENCES:
        stars, text = explorer_model.sentences()[place]
        (ids,) = tokenizer.encode([text])
        without = [np.delete(ids, each) for each in range(len(ids))]
        shares = model.predict(ids[None], verbose=0)[name][0]
        assert shares.argmax() + 1 == stars, text
        left = model.predict(np.stack(without), verbose=0)[name][:, shares.argmax()]
        _, scores = poolings[name](encoder(ids[None]), return_attention_scores=True)
        weights = keras.ops.convert_to_numpy(scores)[0]
        yield stars, shares.max(), tokenizer.tokenize(text), weights, shares.max() - left


WIDTH, LINE = 760, 84
LITTLE = 0.1  # an effect below it is drawn grey


def picture():
    """The sentences: a bar for where attention looks, below each word what it does."""
    parts, shown = [], list(explained())
    idle = sum(abs(effects[weights.argmax()]) < LITTLE for *_, weights, effects in shown)

    def say(x, y, text, anchor="middle", size=13, fill="#1f2328", weight=400):
        parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}" font-weight="{weight}">{text}</text>'
        )

    top = 26
    for line in (
        "A GRU with AttentionPooling, trained on generated reviews. Bar: attention weight.",
        "Number: how much the probability of the answer falls without the word.",
        f"In {idle} of the {len(shown)} reviews, the word with the highest bar hardly matters.",
    ):
        say(16, top, line, "start", 12, "#59636e")
        top += 17
    top -= 17
    for stars, share, tokens, weights, effects in shown:
        top += LINE
        widths = [max(34, 8 * len(word) + 8) for word in tokens]
        x = 16.0
        for word, width, weight, effect in zip(tokens, widths, weights, effects, strict=True):
            middle, bar = x + width / 2, min(100 * float(weight), 42)
            parts.append(
                f'<rect x="{x + 3:.1f}" y="{top - 20 - bar:.1f}" width="{width - 6}" '
                f'height="{bar + 1:.1f}" fill="#00796b"/>'
            )
            say(middle, top - 4, word)
            fall, little = round(float(effect), 2), abs(effect) < LITTLE
            color = "#59636e" if little else "#0550ae" if fall > 0 else "#a40e26"
            text = f"{fall:+.2f}".replace("-", "\u2212") if fall else "0"
            say(middle, top + 12, text, size=10, fill=color, weight=400 if little else 700)
            x += width
        say(WIDTH - 16, top - 4, f"{'★' * stars}{'☆' * (5 - stars)}", "end", 14, "#7d4e00")
        say(WIDTH - 16, top + 12, f"{100 * share:.0f} % sure", "end", 10, "#59636e")
    height = top + 28
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img">\n'
        # A ground of its own: it is read on a white and on a black page.
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff" stroke="#d1d9e0"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def for_the_site(text):
    """A text of README with the site's links."""
    return text.replace("](docs/", "](")


def part(title):
    """A section of README, without its comments, as a page of the site has it."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    text = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return for_the_site(re.sub(r"\s*<!--.*?-->", "", text, flags=re.S)).strip()


def guarantees():
    """The guarantees in short, and folded with their conditions."""
    said, full = part("Guarantees").split("\n\n", 1)
    short = re.findall(r"^- \*\*(.*?)\.?\*\*", full, re.M | re.S)
    title = '??? note "The full list, with conditions and exceptions"'
    return "\n\n".join(
        [said, "\n".join(f"- {each}." for each in short), title, textwrap.indent(full, "    ")]
    )


def fill(markdown):
    """A page with its figures, and with parts of README."""
    if MARKER in markdown:
        markdown = markdown.replace(MARKER, for_the_site(figures()))
    told = words.told()
    real = told["kinds"]["sentences"]
    return (
        markdown.replace(EXAMPLE, part("In your own model"))
        .replace(GUARANTEES, guarantees())
        .replace(
            FIRST,
            f"{words.named(told['first'])} has the largest lead over the mean. It "
            f"{clearly(told['first'])}.",
        )
        .replace(
            REAL,
            f"{words.sets(real['sets'])} of real sentences, the lead of `{PLAIN}` over the "
            f"mean is {words.spanned(real[PLAIN])} points",
        )
    )


def readme(text):
    """README with its figures."""
    first = f"\n**Is attention better than the mean?** {figures(' ')}{more()}"
    after, times = BLOCK.subn(lambda match: first, text)
    if times != 1:
        raise ValueError(f"README.md must have one place for the figures; found {times}")
    return after


def main():
    """Brings both up to date."""
    path = REPOSITORY / "README.md"
    path.write_text(readme(path.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


def on_page_markdown(markdown, page, config, files):
    """Writes the figures where a page asks for them."""
    return fill(markdown)


if __name__ == "__main__":
    main()
