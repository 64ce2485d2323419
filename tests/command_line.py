"""A command of `python -m keras_attnpool`, run in this process."""

from keras_attnpool.workbench.cli import main


def run_main(capsys, *arguments):
    """Exit status, standard output, standard error."""
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def refused(capsys, *arguments):
    """The one line with which a command refuses."""
    status, out, err = run_main(capsys, *arguments)
    assert (status, out) == (2, ""), (status, out, err)
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 2000, err[:3000]
    return err


def texts_of(out):
    """The texts of the lines that `predict` and `explain` print."""
    return [line.split("\t")[2] for line in out.splitlines() if line.count("\t") > 1]
