"""The intervals of the papers' claims, by the rule of the site's tables, for the notebooks to read.

python -m benchmarks.claims
"""

import json
import pathlib

from benchmarks.reproduce.significance import interval_of, mean

FOLDER = pathlib.Path(__file__).with_name("results")
FILE = FOLDER / "tutorial" / "claims.json"
PAPERS = "lama_", "hcan_", "mpsan_", "generalized_pooling_", "sam_"
OTHERS = "lama_imdb", "sam_sst5_phrases"  # another split of a set; a single run of each row
# Differences that a notebook prints beside a paper's claims.
HEADS = (
    "LAMA+ctx, 5 heads",
    "LAMA+ctx",
    "LAMA+ctx, no l2",
    "LAMA+ctx, 15 heads",
    "LAMA+ctx, 20 heads",
)
OURS = [("LAMA+ctx, learned scale from 5", "SAN"), ("LAMA+ctx", "TF-IDF, linear")]
MEAN = [(name, "mean of words") for name in ("HCAN 2 target", "TextCNN")]
MORE = {
    **dict.fromkeys(("hcan_imdb", "hcan_imdb_4000", "hcan_imdb_stars", "hcan_r8"), MEAN),
    "lama_r8": OURS,
    "lama_imdb_4000": [*OURS, *((name, "LAMA+ctx, 1 head") for name in HEADS)],
    "lama_imdb_4000_adam": [*OURS, ("LAMA+ctx", "TE")],
    "sam_trec": [(f"SAM {delta}", "SAM") for delta in (0.1, 0.2, 0.4, 0.6, 0.8)],
}
# A row that another file has, of the same split: trained by Adam there too, until it stopped.
BORROWED = {"lama_imdb_4000_adam": ("lama_imdb_4000", "TE")}


def read(name):
    """A results file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def measured():
    """By file, of each claim: both rows, and the paper's points, ours, and the interval of ours."""
    found = {}
    for file in sorted(FOLDER.glob("*.json")):
        if not file.stem.startswith(PAPERS) or file.stem in OTHERS:
            continue
        results = read(file.stem)
        if file.stem in BORROWED:
            other, row = BORROWED[file.stem]
            results["rows"][row] = read(other)["rows"][row]
        pairs = {(one, other): paper for one, other, _, paper in results["claims"]}
        pairs |= dict.fromkeys(MORE.get(file.stem, ()))
        found[file.stem] = []
        for (one, other), paper in pairs.items():
            if one not in results["rows"] or other not in results["rows"]:
                continue
            low, high = interval_of(results, one, other)[0]
            ours = (mean(results, one) - mean(results, other), low, high)
            points = [None if x is None else round(100 * x, 4) for x in (paper, *ours)]
            found[file.stem].append([one, other, *points])
    return found


if __name__ == "__main__":
    lines = json.dumps(measured()).replace("]], ", "]],\n ").replace("], [", "],\n  [")
    FILE.write_text(lines + "\n", encoding="utf-8")
