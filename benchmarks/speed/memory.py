"""Peak memory of one variant in this process, which runs nothing else.

What Python, the backend and a run on a short text take is taken off; the inputs are not.
"""

import json
import resource
import sys

from benchmarks.speed import measure
from benchmarks.speed.grid import built, inputs_of


def main() -> None:
    name, time, dim, heads, batch, mode, gradient = sys.argv[1:]
    small, large = (inputs_of(int(b), int(t), int(dim)) for b, t in ((1, 16), (batch, time)))
    layer = built(name, int(dim), int(heads), "float32")
    sizes = []
    for x, mask in (small, large):
        measure.finish(measure.runner(layer, x, mask, mode, gradient == "True")())
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    x, mask = large
    print(json.dumps({"bytes": sizes[1] - sizes[0], "inputs": int(x.nbytes + mask.nbytes)}))


if __name__ == "__main__":
    main()
