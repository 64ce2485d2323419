"""Texts as a language model reads them, for rows that fine-tune it."""

import dataclasses
from typing import Any

import numpy as np

from benchmarks.reproduce.tasks import Parts, Task
from keras_attnpool.batches import SequenceBatches
from keras_attnpool.workbench import text

# What is usual for it; a language model needs few epochs.
RECIPE: dict[str, Any] = {
    "optimizer": "adamw",
    "learning_rate": 5e-5,
    "clip_norm": 1.0,
    "weight_decay": 1e-2,
    "batch_size": 32,
}
MAX_EPOCHS = 6
PATIENCE = 2
NAMES = {"minilm": "all-MiniLM-L6-v2"}


def fine_tuned(task: Task) -> Task:
    """Returns the task with the recipe of a language model."""
    return dataclasses.replace(task, recipe=RECIPE, max_epochs=MAX_EPOCHS, patience=PATIENCE)


class Pieces:
    """The word pieces of a task's three parts, as `benchmarks.reproduce.tasks.run` reads them.

    Args:
        task: Its recipe and lengths.
        parts: The texts of the three parts.
        preset: Language model of KerasHub.
    """

    def __init__(self, task: Task, parts: Parts, preset: str) -> None:
        self.task, self.preset, self.num_classes = task, preset, parts[0].num_classes
        model = self.language_model()
        # The mask as numbers, which batches pad with 0 like the pieces.
        self.inputs = [
            {name: array.astype("int32") for name, array in model.encode(part.texts).items()}
            for part in parts
        ]
        self.parts = [(None, np.asarray(part.labels)) for part in parts]

    def language_model(self) -> text.LanguageModel:
        """Loads the language model as it was trained."""
        return text.LanguageModel.from_preset(self.preset, sequence_length=self.task.max_length)

    def batches(self, part: int, seed: int | None = None) -> SequenceBatches:
        """Batches of texts of similar length; shuffled when there is a seed."""
        return SequenceBatches(
            self.inputs[part],
            self.parts[part][1],
            self.task.batch_size,
            self.task.boundaries,
            shuffle=seed is not None,
            seed=seed or 0,
        )
