"""What the user can mend, told apart from faults of ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

# What the library calls what the user typed; what is not here is typed as it is called.
OPTIONS = {
    "num_heads": "--heads",
    "gru_units": "--units",
    "lstm_units": "--units",
    "filters": "--units",
    "sequence_length": "--max-tokens",
    "header=False": "--no-header",
    "skip_empty=True": "--skip-empty",
}
ARGUMENT = re.compile(
    r"`?\b(header=False|skip_empty=True|(?:num_heads|gru_units|lstm_units|filters|sequence_length|units|rank|"
    r"embedding_dim|hidden_units|dropout|max_length|max_sentences|max_words|min_frequency|"
    r"text_column|label_column|header|encoding|delimiter|layer)(?=[`=,)]))`?(=?)"
)


class CommandError(ValueError):
    """Ends the command with one line on standard error and no traceback."""


# How the general model refuses what does not fit the part that a name stands for.
PART = re.compile(
    r"^`(encoder|pooling)` of TextClassifier must have a config that fits\. Received: "
    r"\1=\{'class_name': '(\w+)', 'config': \{.*?\}\} \((.*)\)$"
)

PART_ITSELF = re.compile("^`(encoder|pooling)` of TextClassifier")
LACKS = re.compile(r": \w+\.__init__\(\) missing 1 required positional argument: '(units)'$")


@contextmanager
def reported(option: str = "") -> Iterator[None]:
    """Makes errors that the user's input causes a `CommandError`.

    Used around what reads that input, and nothing else: elsewhere a ValueError is a fault of ours
    and deserves its traceback.

    Args:
        option: The option that names the input, which its name then follows.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"{option} {of_file(error)}".strip()) from error
    except (ValueError, ImportError) as error:
        raise CommandError(f"{option} {typed(error)}".strip()) from error


def of_file(error: OSError) -> str:
    """Which file it is, and what is wrong with it."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def typed(error: Exception) -> str:
    """The message in one line, with options where the library names its arguments."""
    message = PART.sub(r"--\1 \2: \3", " ".join(str(error).split()))
    message = LACKS.sub(r" needs `\1`", PART_ITSELF.sub(r"--\1", message))

    def option(match: re.Match[str]) -> str:
        name = OPTIONS.get(match[1], f"--{match[1].replace('_', '-')}")
        return name + " " * bool(match[2])

    return ARGUMENT.sub(option, message)
