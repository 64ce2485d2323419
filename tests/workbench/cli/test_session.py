"""The terminal sessions of the guide "Your texts, step by step", and the tables behind it."""

import json
import re

import pytest

from benchmarks import guide, own_files
from keras_attnpool.workbench.cli import comparison

pytestmark = pytest.mark.one_backend("test_smoke.py trains and predicts under every backend")

PAGE = guide.PAGE.read_text(encoding="utf-8")
MEASURED = (guide.PAGE.parents[1] / "train-measured.md").read_text(encoding="utf-8")


def check(records):
    """The page's words hold: with an encoder attention is ahead of every simpler row."""
    trained = {record["command"]: record["results"] for record in records if "results" in record}
    assert len(trained) == 3
    for command, (model, *simpler) in ((c, r.items()) for c, r in trained.items()):
        highest = max(row["difference"][2] for _, row in simpler)
        if "--encoder none" in command:
            assert model[0] == "none + attention" and highest >= 0
        else:
            assert model[0].endswith(" + attention") and highest < 0


def test_the_page_shows_what_was_printed():
    records = json.loads(guide.RESULTS.read_text(encoding="utf-8"))["sessions"]
    assert [record["command"] for record in records] == [c for c, _ in guide.sessions(PAGE)]
    assert guide.refreshed(PAGE, records) == PAGE
    check(records)
    explained = next(each for each in records if " explain " in each["command"])["printed"]
    words = re.findall(r"^ +([-+][\d.]+) +([\d.]+)  (\S+)", explained, re.M)
    assert max(words, key=lambda line: float(line[0]))[2] == "superb"
    assert max(words, key=lambda line: float(line[1]))[2] == "but"


def test_the_page_shows_the_default_as_it_was_measured():
    run = json.loads(own_files.RESULTS.read_text(encoding="utf-8"))["runs"]["trec"]
    table = comparison.table(run["results"], run["sizes"]["test"], balanced=False)
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.M | re.S)
    assert guide.shown(shown, f"{table}\n{run['comparison']}") == shown
    # As the words below it say.
    _, *simpler = run["results"].items()
    level = {row for row, each in simpler if each["difference"][2] >= 0}
    assert run["options"] == "none" and level == {own_files.NETWORK, own_files.WITH_MEAN}


def test_a_line_that_is_no_longer_printed_is_seen():
    assert guide.shown("a 1\n...\nb  -\n", "a -22\nx\nb  7.5\n") == "a -22\n...\nb  7.5\n"
    cut = guide.shown("one  0.1 ...\na b  +9 (0 to 1) ...\n", "one  0.5  7\na b  -2 (3 to 4)  8\n")
    assert cut == "one  0.5 ...\na b  -2 (3 to 4) ...\n"
    long = "```console\n$ do --this \\\n    --that\nit\n```"
    assert guide.sessions(long) == [("do --this --that", "it\n")]
    assert guide.refreshed(long, [{"command": "do --this --that", "printed": "it"}]) == long
    with pytest.raises(ValueError, match="Accuracy"):
        guide.shown("Accuracy 0.4\n", "Precision 0.4\n")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_can_be_followed(tmp_path):
    records = guide.replay(PAGE, tmp_path)
    guide.refreshed(PAGE, records)  # all its lines are printed
    check(records)


def test_the_tables_are_those_of_the_runs():
    kept = json.loads(own_files.RESULTS.read_text(encoding="utf-8"))
    words_of_page = " ".join(MEASURED.split())
    for table in own_files.tables(kept):
        assert table in MEASURED
    # The words around the tables hold.
    runs = {name: list(run["results"].items()) for name, run in kept["runs"].items()}
    whole = {name: dict(rows) for name, rows in runs.items() if name in own_files.SETS}
    rows = own_files.defaults(kept["runs"]).splitlines()[2:]
    assert f"The table has {len(rows) * len(own_files.SIMPLER)} comparisons." in words_of_page
    assert own_files.answer(kept["runs"], kept["few"]).startswith("- No simpler model is ahead")
    by_mean = {
        n: rows[own_files.NETWORK]["accuracy"] - rows[own_files.WITH_MEAN]["accuracy"]
        for n, rows in ((n, dict(rows)) for n, rows in runs.items() if "-" not in n)
    }
    gains = [by_mean[n] for n in whole]
    parts = [gain for n, gain in by_mean.items() if n not in whole]
    assert {n for n in whole if by_mean[n] <= 0} == {"sst5", "humor"} and min(map(abs, gains)) > 0
    for told in (
        f"On the {len(gains)} whole sets, the network's accuracy is higher with attention on "
        f"{sum(gain > 0 for gain in gains)} sets (by at most {100 * max(gains):.1f} points)",
        f"on the humor texts (by at most {-100 * min(gains):.1f} points)",
        f"higher with attention on {sum(gain > 0 for gain in parts)} of {len(parts)}.",
    ):
        assert told in words_of_page
    default = {n: rows[0][1]["accuracy"] for n, rows in runs.items()}
    plain = {n.removesuffix("-gru"): default[n] for n in runs if n.endswith("-gru")}
    assert len(plain) == 5 and all(default[n] > accuracy for n, accuracy in plain.items())
    words = {}
    for name in plain:
        rows = dict(runs[f"{name}-gru"])
        found = tuple(row for row in rows if row.startswith("TF-IDF"))
        words[name] = own_files.beside(rows, found)[1]
    assert {n for n, word in words.items() if word != "ahead"} == {"sst5"}
    assert words["sst5"] == "level"
    count = sum(word == "ahead" for word in words.values())
    assert f"TF-IDF is ahead of `gru` on {count} of {len(words)} sets" in words_of_page
    old = {n for n in plain if "TF-IDF, linear" in dict(runs[f"{n}-gru"])}
    assert old == {"r8", "imdb"}
    scalar = [default[n] - default[n.removesuffix("-minilm")] for n in runs if "-minilm" in n]
    assert [sum(x > 0 for x in scalar), sum(x < 0 for x in scalar)] == [4, 3]
    words = {}
    for name, record in kept["few"].items():
        draws = own_files.drawn(record)
        assert sum(next(iter(rows)) == own_files.NETWORK for rows in draws) == (name == "trec@64")
        for model, rows in own_files.SIMPLER.items():
            if rows[0] in draws[0]:
                key = model, name.startswith("trec")
                words.setdefault(key, []).extend(own_files.beside(draw, rows)[1] for draw in draws)

    def counted(model, *words_of):
        told = [word for trec in words_of for word in words[model, trec]]
        return [told.count(word) for word in ("ahead", "level", "behind")]

    assert counted("TF-IDF", True, False) == [0, 0, 27]
    assert counted("regression", True, False) == [3, 17, 7]
    assert counted("regression", True) == [0, 3, 6]
    assert counted("regression", False) == [3, 14, 1]
    assert counted("its network alone", True)[::2] == [3, 3]
    assert counted("its network alone", False) == [0, 7, 11]
    table = own_files.few_table(kept["few"]).splitlines()[2:]
    means = [[float(mean) for mean in re.findall(r" \**(0\.\d+)\** \(", line)] for line in table]
    for start in (0, 3, 6):  # the rows of 8, 16 and 64 texts of a set
        for column in zip(*means[start : start + 3], strict=True):
            assert len(means[start]) == 4 and list(column) == sorted(set(column))
    first = [
        next(iter(rows.values()))["accuracy"] for rows in own_files.drawn(kept["few"]["trec@8"])
    ]
    assert f"accuracy goes from {min(first):.3f} to {max(first):.3f}." in words_of_page
    tested = {record["data"]: record["tested"] for record in kept["few"].values()}
    told = [f"{count:,} of {name}" for name, count in tested.items()]
    assert f"test texts: {', '.join(told[:2])} and {told[2]}." in words_of_page
    changes = {}
    for each in kept["tried"]:
        gain = each["with"] - each["without"]
        changes.setdefault(each["tried"], {})[each["texts"].partition(",")[0]] = gain
    assert max(changes["`--class-weights`"].values()) < 0
    three = [gains for gains in changes.values() if len(gains) > 2]
    assert len(three) == 3 and all(min(gains.values()) <= 0 for gains in three)
    one = 1 / kept["runs"]["subj2000"]["sizes"]["test"]
    assert round(changes["`--class-weights`"]["SUBJ"], 6) == -one
    some = kept["tokens_of_minilm"]["IMDB, 2500 texts"]
    words, (few, many) = some["TF-IDF of both"], (some[most]["model"] for most in ("128", "256"))
    assert f"level with TF-IDF: {few:.3f} beside {words:.3f}." in words_of_page
    assert f"ahead: {many:.3f}. There were {some['sizes'][2]:,} test texts" in words_of_page
