"""The data of a block: words with their vectors, or states that nothing trains, for each seed."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.arena import grid
from benchmarks.arena.digits import States
from benchmarks.reproduce import tasks
from benchmarks.reproduce.sam import CACHE
from keras_attnpool.batches import Batches
from keras_attnpool.workbench.text import LanguageModel


def stratified(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Draws rows, of each class its share; in the order of the rows."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    places = np.linspace(0, len(labels), count, endpoint=False) + len(labels) / count / 2
    return np.sort(by_class[places.astype(int)])


class StateBatches(Batches):
    """Batches of states as long as the longest of the batch; of similar lengths, when shuffled.

    Those of a small set are all as long as its longest row, so that there are few shapes.

    Args:
        sides: The states by the end of their inputs' names: `""`, or `"_a"` and `"_b"` of pairs.
        scale: What states are multiplied with.
        size: Rows in a batch.
        seed: Seed of the order of training; `None` keeps that of the rows.
        even: Whether all batches have the same length.
    """

    def __init__(
        self,
        sides: dict[str, States],
        scale: float,
        size: int,
        seed: int | None,
        even: bool = False,
    ) -> None:
        self._sides, self._scale, self._batch = sides, np.float32(scale), size
        self._lengths = np.max([_lengths(side.mask) for side in sides.values()], axis=0)
        self._draws, self._even = np.random.default_rng(seed or 0), even
        labels = next(iter(sides.values())).labels
        super().__init__(len(labels), labels, size, seed is not None, seed or 0)

    def inputs_of(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        inputs, end = {}, None if self._even else self._lengths[rows].max()
        for name, side in self._sides.items():
            inputs[f"features{name}"] = side.states[rows, :end].astype("float32") * self._scale
            inputs[f"padding_mask{name}"] = side.mask[rows, :end]
        return inputs

    def arranged(self, random: np.random.Generator | None) -> list[np.ndarray]:
        if random is None:
            return super().arranged(None)
        noise = self._draws.uniform(0, 0.3 * self._lengths.max(), len(self._lengths))
        order = np.argsort(self._lengths + noise)
        starts = range(0, len(order), self._batch)
        batches = [order[start : start + self._batch] for start in starts]
        return [batches[place] for place in self._draws.permutation(len(batches))]


def _lengths(mask: np.ndarray) -> np.ndarray:
    """Steps of each row up to the last that counts, 1 at least."""
    return np.maximum(mask.shape[1] - mask[:, ::-1].argmax(axis=1), 1)


class Words(tasks.Data):
    """Ids and word vectors; see `tasks.Data`."""

    @property
    def source(self) -> dict[str, Any]:
        """What a `TextClassifier` reads."""
        return {
            "vocabulary_size": len(self.vectors),
            "embeddings": self.vectors,
            "trainable_embeddings": self.task.train_embeddings,
        }

    def sides(self, part: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Vectors and mask of the texts of a part, or of both sentences of its pairs."""
        ids = self.parts[part][0].values()
        return [(self.vectors[each], each != 0) for each in ids]


class Frozen:
    """States of three parts.

    Args:
        task: Recipe and length.
        sources: What the states were made of, part by part.
        states: The states by the end of their inputs' names, part by part.
        even: Whether all batches have the same length.
    """

    def __init__(
        self, task: tasks.Task, sources: Any, states: list[dict[str, States]], even: bool = False
    ) -> None:
        self.task, self.sources, self._states, self._even = task, sources, states, even
        first = next(iter(states[0].values()))
        self.num_classes, self.pairs = first.num_classes, len(states[0]) == 2
        self.parts = [(None, np.asarray(part.labels)) for part in sources]
        self.source = {"vocabulary_size": None, "backbone": first.states.shape[2]}
        self._scale = float(1 / first.states[first.mask].astype("float32").std())

    def batches(self, part: int, seed: int | None = None) -> StateBatches:
        """Batches of a part; shuffled when there is a seed."""
        size = grid.BATCH if seed is None else self.task.recipe["batch_size"]
        return StateBatches(self._states[part], self._scale, size, seed, self._even)

    def sides(self, part: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """States and mask of a part, or of both sentences of its pairs."""
        for side in self._states[part].values():
            yield side.states, side.mask


@functools.lru_cache(maxsize=1)
def pool(name: str, folder: str, quick: bool) -> tuple[Any, Any]:
    """What a task trains on with any seed, and its test part, none of which is in the first.

    A small set has no test part of its own.
    """
    train, test = grid.TASKS[name].read(folder)
    if test is None:  # a small set, which each seed splits anew
        most = min(grid.SMALL["rows"], len(train))
        return train.subset(stratified(train.labels, most, 0)), None
    if hasattr(train, "sentences_a"):
        known = set(zip(test.sentences_a, test.sentences_b, strict=True))
        texts: Any = list(zip(train.sentences_a, train.sentences_b, strict=True))
    else:
        known, texts = set(getattr(test, "texts", ())), getattr(train, "texts", ())
    if texts:
        train = train.subset(np.array([line not in known for line in texts]))
    counts = (60, 30) if quick else (grid.TRAINED_ON + grid.CHOSEN_BY, grid.TESTED_ON)
    return tuple(
        part.subset(stratified(part.labels, min(count, len(part)), 0))
        for part, count in zip((train, test), counts, strict=True)
    )


def split_and_standardized(states: States, seed: int) -> tuple[States, States]:
    """A fifth of a small set to test on, of each class its share; the rest to train and choose.

    Features have the mean 0 and the deviation 1 over the steps of the rest.
    """
    tested = np.zeros(len(states), bool)
    tested[stratified(states.labels, round(len(states) / 5), 1000 + seed)] = True
    kept = states.states[~tested][states.mask[~tested]]
    middle, spread = kept.mean(axis=0), kept.std(axis=0)
    scaled = (states.states - middle) / np.where(spread > 0, spread, 1)
    scaled = np.where(states.mask[..., None], scaled, 0).astype("float32")
    whole = dataclasses.replace(states, states=scaled)
    return whole.subset(np.flatnonzero(~tested)), whole.subset(np.flatnonzero(tested))


@functools.lru_cache(maxsize=1)
def _features(name: str, folder: str, quick: bool) -> list[dict[str, States]]:
    """MiniLM's states of what `pool` gives."""
    length, layer = grid.TASKS[name].length, grid.MINILM_LAYER
    model = LanguageModel.from_preset("minilm", sequence_length=length, layer=layer)
    found = []
    for part in pool(name, folder, quick):
        pairs = hasattr(part, "sentences_a")
        sides = {"_a": part.sentences_a, "_b": part.sentences_b} if pairs else {"": part.texts}
        states = {end: model.features(texts, cache=CACHE) for end, texts in sides.items()}
        found.append(
            {
                end: States(each["features"], each["padding_mask"], part.labels, part.num_classes)
                for end, each in states.items()
            }
        )
    return found


@functools.lru_cache(maxsize=1)
def data_of(name: str, encoder: str, seed: int, folder: str, quick: bool) -> Words | Frozen:
    """The data of a block with the split of a seed."""
    task, (whole, test) = grid.TASKS[name], pool(name, folder, quick)
    if test is None:
        whole, test = split_and_standardized(whole, seed)
    chosen = np.zeros(len(whole), bool)
    share = grid.CHOSEN_BY / (grid.TRAINED_ON + grid.CHOSEN_BY)
    chosen[stratified(whole.labels, round(share * len(whole)), seed)] = True
    sources = (whole.subset(~chosen), whole.subset(chosen), test)
    described = tasks.Task(
        parts=lambda folder: sources,
        recipe=tasks.adam(0.0, grid.CLIP, task.batch),
        max_length=task.length,
        boundaries=tuple(sorted({task.length // 3, 2 * task.length // 3, task.length})),
        max_epochs=grid.MAX_EPOCHS,
        table="-",
        train_embeddings=task.trains_vectors,
        word2vec=grid.VECTORS * task.trains_vectors,
        min_frequency=1 + task.trains_vectors,
        patience=task.patience,
    )
    if isinstance(whole, States):
        return Frozen(described, sources, [{"": part} for part in sources], task.small)
    if encoder != "minilm":
        return Words(described, sources, tasks.Options(), seed)
    features, tested = _features(name, folder, quick)
    split = [
        {end: states.subset(np.flatnonzero(rows)) for end, states in features.items()}
        for rows in (~chosen, chosen)
    ]
    return Frozen(described, sources, [*split, tested])
