"""Probes every layer under KERAS_BACKEND; writes results/behaviour/<backend>.json."""

import datetime
import json
from importlib import metadata
from pathlib import Path

import keras

from benchmarks.behaviour import probes, subjects
from benchmarks.speed.measure import versions

RESULTS = Path(__file__).resolve().parent.parent / "results" / "behaviour"


def main() -> None:
    verdicts = {
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "ours": {},
        "peers": {},
    }
    try:
        verdicts["versions"]["keras-self-attention"] = metadata.version("keras-self-attention")
    except metadata.PackageNotFoundError:
        pass  # its row tells
    for group, members in (("ours", subjects.OURS), ("peers", subjects.peers())):
        for name, subject in members.items():
            verdicts[group][name] = probes.probed(subject)
            print(name, verdicts[group][name], flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{keras.backend.backend()}.json"
    path.write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
