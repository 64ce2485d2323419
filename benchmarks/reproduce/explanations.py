"""Which attention can be believed: the mechanisms of the comparison, their weights graded.

The models are `comparison`'s on generated reviews, with the encoder and without one. On short test
texts, whose deciding words are known, the weights are held against what the model does without the
words: by measures that have each text's own bounds, so that models can be compared. Beside them
stand what leave-one-out and gradient x input reach on the same model, and an order at random.
"""

import re
from typing import Any

import keras
import numpy as np

from benchmarks.reproduce import comparison, tasks
from benchmarks.reproduce.comparison import MECHANISMS, POOLINGS
from benchmarks.reproduce.results import packed_numbers
from benchmarks.reproduce.tasks import Data, Options
from keras_attnpool import analysis

BARE = ", no encoder"
# Mechanisms with weights to grade; the dear ones come last.
GRADED = [name for name, (_, layout) in MECHANISMS.items() if layout]
POOLED = [name for name in GRADED if name in POOLINGS]
ROWS = [*(name + kind for name in POOLED for kind in ("", BARE)), *GRADED[len(POOLED) :]]
# The bounds of a text take the square of its length: texts of at most so many words are graded.
LONGEST = 24
TEXTS = 40
BEAM = 5


def said(column: str) -> str:
    """What a column of the table is called in a file of results."""
    return re.sub("[ -]", "_", column).lower()


def grades(model: keras.Model, data: Data, name: str, texts: int) -> dict[str, Any]:
    """The grades of the weights; of the other attributions only what they are compared by."""
    ids, gold = comparison.graded_texts(data, LONGEST, texts)
    weights = comparison.weights_of(model, ids, MECHANISMS[name][1])
    mass = analysis.rationale_mass(weights, gold)
    others = {
        "leave_one_out": analysis.leave_one_out(model, ids, batch_size=256),
        "gradient": analysis.gradient_saliency(model, ids, batch_size=texts),
    }
    table = analysis.grade_attributions(
        model,
        ids,
        {"attention": weights, **others},
        gold,
        beam_size=BEAM,
        batch_size=256,
        verbose=0,
    )
    found = {f"test_{said(column)}": value for column, value in table["attention"].items()}
    found |= {"test_mass": mass.mean, "test_mass_of_uniform": mass.uniform}
    for other in (*others, "uniform"):
        found[f"test_naopc_of_{other}"] = table[other]["NAOPC"]
    # A layer that gives every word the same weight ranks none.
    known = {key: round(value, 5) for key, value in found.items() if not np.isnan(value)}
    each = {name: packed_numbers(row["NAOPC"]) for name, row in table.per_text.items()}
    return {**known, "naopc_per_text": each}


class _Explanations(comparison.Comparison):
    name, title = "explanations", "explanations"
    tasks = {"reviews": comparison.TASKS["reviews"]}

    def names(self, dataset: str) -> list[str]:
        return ROWS

    def config(self, dataset: str, row: str, options: Options) -> dict[str, Any]:
        encoder = None if row.endswith(BARE) else "BidirectionalGRU"
        return {**super().config(dataset, row.removesuffix(BARE), options), "encoder": encoder}

    def build(self, dataset: str, row: str, data: Data, options: Options) -> keras.Model:
        return comparison.build(row.removesuffix(BARE), data, encoder=not row.endswith(BARE))

    def run(
        self, dataset: str, row: str, data: Data, seed: int, options: Options
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Trains a row as the comparison does, and grades its weights."""
        built: list[keras.Model] = []

        def make() -> keras.Model:
            built.append(self.build(dataset, row, data, options))
            return built[0]

        result, facts = tasks.run(make, data, data.task, seed, options)
        number = 4 if options.quick else TEXTS
        return result | grades(built[0], data, row.removesuffix(BARE), number), facts

    def header(self, dataset: str) -> dict[str, Any]:
        return {**super().header(dataset), "planned": ROWS}

    def protocol(self, dataset: str) -> dict[str, Any]:
        return {
            **super().protocol(dataset),
            "encoder": f"bidirectional GRU, {comparison.UNITS} units a direction, or none",
            "graded": f"the first {TEXTS} test texts of at most {LONGEST} words",
            "bounds": f"beam search over sets of removed words, beam {BEAM}, or an order beyond",
            "removal": "the words behind close the gap",
        }


PAPER = _Explanations()
