"""A rank with a fault: it hangs, ends, or trains with a share of its own that it shares with nobody."""

import os
import sys
import time

from assay_runner.engines.torch import rank_main, ranks, sharing

work = sharing.work
fault = sys.argv[1]


def faulty(job, emit, group):
    if fault == "hangs":
        time.sleep(600)
    if fault == "ends":
        os._exit(9)
    if fault == "strays":  # it works on the first rank's share
        share = sharing.share
        sharing.share = lambda tensors, batch, g: share(tensors, batch, ranks.Group(0, g.size, g.backend))
    work(job, emit, group)


sharing.work = faulty
sys.exit(rank_main.main(sys.argv[2:]))
