"""The corpus of recordings: what its datasheet says of frames, speakers and seeds."""

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench.corpora import recordings

pytestmark = pytest.mark.one_backend("generates series")


def test_speech_frames_alone_tell_the_speaker():
    data, again = (recordings(400, seed=1, speakers=(3, 30)) for _ in range(2))
    assert all(np.array_equal(one, two) for one, two in zip(data.series, again.series, strict=True))
    assert sorted({len(row) for row in data.series}) == list(range(20, 61))
    assert np.bincount(data.labels)[[3, 30]].tolist() == [200, 200]
    flags = np.concatenate(data.rationales)
    assert 0.2 < flags.mean() < 0.35 and all(6 <= f.sum() <= 12 for f in data.rationales)
    frames = np.concatenate(data.series)
    who = np.repeat(data.labels, [len(row) for row in data.series])
    means = {
        (speaker, said): frames[(who == speaker) & (flags == said)].mean(axis=0)
        for speaker in (3, 30)
        for said in (False, True)
    }
    apart = [np.abs(means[3, said] - means[30, said]).max() for said in (False, True)]
    assert apart[0] < 0.15 and apart[1] > 0.5
    np.testing.assert_allclose(means[3, False], [2, 2, *[0] * 10], atol=0.15)


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_examples", 0), ("seed", -1), ("speakers", ()), ("speakers", (31, 32))],
)
def test_bad_options_are_named(name, value):
    with refused(name, "recordings"):
        recordings(**{name: value})
