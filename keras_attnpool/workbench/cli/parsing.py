"""Parses the arguments of the commands. `commands.toml` lists the arguments with their help."""

import argparse
import difflib
import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any, NoReturn

import keras_attnpool
from keras_attnpool.workbench.cli import options
from keras_attnpool.workbench.cli.errors import start_keras


def parsed(argv: Sequence[str] | None) -> dict[str, Any]:
    """Returns only the given options, with the name of the command as `command`.

    Raises:
        SystemExit: After the help, or after a message on standard error.
    """
    top, commands = parser()
    known, rest = top.parse_known_args(argv)
    given = vars(known)
    # argparse itself does not accept texts after an option.
    takes_texts = given["command"] in ("predict", "explain")
    behind_dashes = rest[:1] == ["--"]
    if takes_texts and (behind_dashes or not any(each.startswith("-") for each in rest)):
        given["texts"] = [*given.get("texts", ()), *rest[behind_dashes:]]
    elif rest:
        command = commands[given["command"]]
        flags = re.findall(r"--[\w-]+", command.format_usage())
        near = difflib.get_close_matches(rest[0].partition("=")[0], flags, 1)
        hint = f". Did you mean {near[0]}?" if near else ""
        command.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    return given


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, as the commands do. The usage message would fill a page."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**kwargs, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def parser() -> tuple[_Parser, dict[str, _Parser]]:
    """Makes the parser of all commands, and the parser of each command."""
    written = resources.files(__package__).joinpath("commands.toml").read_text(encoding="utf-8")
    described = tomllib.loads(Template(written).substitute(options.told()))
    top = _Parser(prog="python -m keras_attnpool", description=described.pop("description"))
    # KERAS_BACKEND or the configuration of Keras sets the backend.
    text = "show the versions and exit"
    top.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help=text)
    commands = top.add_subparsers(metavar="COMMAND", dest="command", required=True)
    lists = described.pop("arguments")
    for name, entry in described.items():
        titles = entry.pop("arguments")
        # Options that are not given are absent. Defaults are set later, so that --resume can tell
        # the difference.
        command = commands.add_parser(name, argument_default=argparse.SUPPRESS, **entry)
        for title, names in titles.items():
            group = command.add_argument_group(title) if title.strip("|") else command
            if title == "|":
                group = command.add_mutually_exclusive_group()
            for typed, text in [pair for each in names for pair in lists[each].items()]:
                _add(group, typed, text)
    return top, commands.choices


class _Version(argparse.Action):
    """Shows versions. Keras is imported here, so that help does not wait for it."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        start_keras()
        import keras

        print(f"keras_attnpool {keras_attnpool.__version__}, Keras {keras.__version__}")
        parser.exit()


def _add(group: Any, typed: str, text: str) -> None:
    """Adds an argument, see `commands.toml`."""
    *flags, metavar = typed.rstrip("?*!").split()
    if metavar.startswith("-"):
        flags, metavar = [*flags, metavar], ""
    given: dict[str, Any] = {"metavar": metavar} if metavar else {}
    if not flags:
        name = {"TEXT": "texts"}.get(metavar, metavar.lower())
        nargs = typed[-1] if typed[-1] in "?*" else None
        # The default is set here again. Otherwise argparse reports TEXT as missing.
        given |= {"nargs": nargs, "default": argparse.SUPPRESS}
        group.add_argument(name, help=text, **given)
        return
    name = flags[-1].removeprefix("--").replace("-", "_")
    if metavar:
        given["type"] = lambda value: _value(name, metavar, value)
    elif len(flags) > 1:
        flags, given = flags[:1], {"action": argparse.BooleanOptionalAction}
    elif name.startswith("no_"):
        given = {"action": "store_false", "dest": name.removeprefix("no_")}
    else:
        given = {"action": "store_true"}
    if typed.endswith("!"):
        given["required"] = True
    default = options.DEFAULTS.get(name)
    group.add_argument(*flags, help=f"{text} (default: {default})" if default else text, **given)


def _value(name: str, metavar: str, text: str) -> Any:
    """The typed value; raises an error if it is not valid."""
    if metavar == "COLUMN" and text.isdecimal():
        return int(text)
    if metavar == "CHARACTER":
        character = {"tab": "\t", "\\t": "\t"}.get(text, text)
        if len(character) == 1 and character not in '"\r\n':
            return character
        raise argparse.ArgumentTypeError(f"must be one character. Received: {text!r}")
    if metavar not in ("N", "X"):
        return text
    try:
        number = int(text) if metavar == "N" and text.isdecimal() else float(text)
    except ValueError:
        number = float("nan")
    if wanted := options.unlike(name, number, metavar == "X"):
        raise argparse.ArgumentTypeError(f"must be {wanted}. Received: {text!r}")
    return number
