"""The terminal sessions of the guide "Your texts, step by step", and the tables behind it."""

import json
import re

import pytest

from benchmarks import guide, own_files

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
    for table in own_files.tables(kept):
        assert table in MEASURED
    # The words below the tables hold.
    runs = {name: list(run["results"].items()) for name, run in kept["runs"].items()}
    whole = {name: dict(rows) for name, rows in runs.items() if name in own_files.SETS}
    simpler = {n: {r: x["difference"] for r, x in runs[n][2:]} for n in whole}
    assert {n for n in whole if all(x[2] < 0 for x in simpler[n].values())} == {"sst2", "subj"}
    level = {n for n in whole if simpler[n]["minilm + mean"][2] >= 0}
    assert level == {"trec", "sst5", "humor"}
    assert {n for n in whole if simpler[n]["TF-IDF of words"][2] >= 0} == {"r8", "imdb"}
    by_mean = {
        n: rows["minilm + multi_dim"]["accuracy"] - rows["minilm + mean"]["accuracy"]
        for n, rows in whole.items()
    }
    assert {n for n, gain in by_mean.items() if gain <= 0} == {"sst5", "humor"}
    assert {n for n, gain in by_mean.items() if gain >= 0.01} == {"sst2", "r8", "imdb"}
    default = {n: rows[0][1]["accuracy"] for n, rows in runs.items()}
    plain = {n.removesuffix("-gru"): default[n] for n in runs if n.endswith("-gru")}
    assert len(plain) == 5 and all(default[n] > accuracy for n, accuracy in plain.items())
    words = {n: max(x["accuracy"] for r, x in runs[n] if r.startswith("TF-IDF")) for n in plain}
    assert all(words[n] > accuracy for n, accuracy in plain.items())
    scalar = {n: default[f"{n}-minilm"] - default[n] for n in whole if f"{n}-minilm" in runs}
    assert {n for n, more in scalar.items() if more > 0} == {"trec", "sst5"}
    assert all(default[f"{n}500-minilm"] > default[f"{n}500"] for n in ("trec", "subj"))
    both = [n for n in runs if f"{n}-minilm" in runs]
    network = {n: dict(runs[n])[own_files.NETWORK]["accuracy"] for n in both}
    assert (sum(default[f"{n}-minilm"] > network[n] for n in both), len(both)) == (5, 7)
    assert {n for n, more in scalar.items() if more < 0} == {"r8", "subj", "imdb"}
    ahead, draws, behind = set(), [], []
    for name, record in kept["few"].items():
        each = [draw["rows"] for draw in record["draws"]]
        alone, regression = [rows[own_files.NETWORK] for rows in each], own_files.MEAN
        if sum(rows[regression][0] for rows in each) > sum(row[0] for row in alone):
            ahead.add(name)
        draws += [name for row in alone if row[2:] and row[2] > 0]
        behind += [name[:4] for row in alone if row[2:] and row[3] < 0]
        first = [next(iter(rows.values()))[0] for rows in each]
        means = [sum(each) / 3 for each in (first, [rows[regression][0] for rows in each])]
        assert max(first) - min(first) > abs(means[0] - means[1])
    assert set(kept["few"]) - ahead == {"trec@8", "trec@16", "trec@64"}
    assert len(draws) == 3 and all(name.startswith("trec") for name in draws)
    assert (behind.count("trec"), len(behind)) == (3, 14)
    some = kept["tokens_of_minilm"]["IMDB, 2500 texts"]
    words, (few, many) = some["TF-IDF of both"], (some[most]["model"] for most in ("128", "256"))
    assert f"level with TF-IDF: {few:.3f} beside {words:.3f}." in " ".join(MEASURED.split())
    assert f"ahead: {many:.3f} (" in " ".join(MEASURED.split())
