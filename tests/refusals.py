"""What a test says of a refused argument: its name, maybe its owner, and a word of the cure."""

import contextlib

import pytest

from keras_attnpool import ArgumentError


@contextlib.contextmanager
def refused(name, owner=None, *told):
    """Like `pytest.raises`, for an `ArgumentError` with this name and owner that tells so much."""
    with pytest.raises(ArgumentError) as raised:
        yield raised
    error = raised.value
    assert error.name == name and owner in (None, error.owner), error
    for words in told:
        assert words in str(error), error
