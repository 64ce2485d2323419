"""The corpus of recordings: series of unequal length with speech frames and noise."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.workbench.corpora._writer import check_arguments

_FEATURES, _SPEAKERS, _RUN = 12, 32, 6
_VOICES = np.random.default_rng(7)
_MEANS = 0.5 * _VOICES.normal(size=(_SPEAKERS, _FEATURES))
_MOVES = 0.4 * _VOICES.normal(size=(_SPEAKERS, 4, _FEATURES))
_HUM = np.where(np.arange(_FEATURES) < 2, 2.0, 0.0)


class Recordings(NamedTuple):
    """Recordings with their speakers and their speech frames.

    Attributes:
        series: N float32 arrays `(frames, 12)`.
        labels: int array `(N,)`, the speaker of each recording.
        rationales: N boolean arrays `(frames,)`. True marks speech.

    Example:
        >>> from keras_attnpool.workbench.corpora import Recordings, recordings
        >>> series, labels, rationales = recordings(10, seed=1)
        >>> isinstance(recordings(10, seed=1), Recordings), len(series)
        (True, 10)
    """

    series: list[np.ndarray]
    labels: np.ndarray
    rationales: list[np.ndarray]


def recordings(
    num_examples: int = 800, seed: int = 0, *, speakers: Sequence[int] = range(20)
) -> Recordings:
    """Generates recordings of speakers as series of frames, with a mask of the speech frames.

    The corpus shows whether a pooling layer ignores noise. A recording has 20 to 60 frames of 12
    features. Speech consists of two runs of six frames each, and the two runs may overlap. The mean
    and the covariance of the speech frames differ between speakers. The other frames are noise with
    a hum in two features. The noise is louder than speech, and its distribution is the same for all
    speakers. The speech frames are known, so attention over time can be graded.

    Args:
        num_examples: Number of recordings, at least 1. All speakers have equal shares.
        seed: Integer in [0, 2**31). The same seed gives the same recordings. Use different seeds
            for training and testing.
        speakers: The speakers to draw, numbers from 0 to 31. For verification, use other speakers
            than for training.

    Returns:
        `Recordings`, a tuple of `series`, `labels` and `rationales`.

    Raises:
        ValueError: If the size is below 1, if the seed is negative, or if a speaker does not exist.

    Example:
        >>> from keras_attnpool.workbench.corpora import recordings
        >>> data = recordings(40, seed=1, speakers=range(4))
        >>> len(data.series), data.series[0].shape[1], data.labels.max()
        (40, 12, np.int64(3))
        >>> len(data.series[0]) == len(data.rationales[0])
        True
    """
    check_arguments("recordings", num_examples, seed)
    if not len(speakers) or not set(speakers) <= set(range(_SPEAKERS)):
        must = f"be a sequence of numbers from 0 to {_SPEAKERS - 1}"
        raise ArgumentError("speakers", must, {"speakers": speakers}, "recordings")
    rng = np.random.default_rng(seed)
    series, speech = [], []
    labels = rng.permutation(np.resize(speakers, num_examples))
    for speaker in labels:
        length = rng.integers(20, 61)
        frames = 1.5 * rng.normal(size=(length, _FEATURES)) + _HUM
        speaks = np.zeros(length, bool)
        for start in rng.integers(0, length - _RUN, size=2):
            speaks[start : start + _RUN] = True
        moves = rng.normal(size=(speaks.sum(), 4)) @ _MOVES[speaker]
        frames[speaks] = _MEANS[speaker] + moves
        series.append(frames.astype("float32"))
        speech.append(speaks)
    return Recordings(series, labels, speech)
