"""A forked child as its zygote holds it: its pipes, and whether it stays for further jobs."""

from __future__ import annotations

import contextlib
import os

from .protocol import Writer
from .supervision import Supervised

PIECE = 1 << 16


class Forked(Supervised):
    """A forked child and what of it is still open."""

    def __init__(self, job_id: str, out: Writer, reuse: str = "") -> None:
        super().__init__(job_id, out)
        self.open: set[int] = set()
        self.prints = -1
        self.reuse = reuse
        """The jobs that it may carry out in turn, by their word; "" is none but its own."""
        self.more = -1
        """Where those are written to."""

    @property
    def rests(self) -> bool:
        """Whether it has finished a job, stays, and has no other yet."""
        return not self.id and not self.ended

    def take_prints(self) -> None:
        """Take what the child has printed so far; it is all in the pipe, unless the child has closed it."""
        if self.prints not in self.open:
            return
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.prints, PIECE):
                self.log.add(piece)


def pipes(count: int) -> list[int]:
    """The descriptors of this many pipes, or none."""
    made: list[int] = []
    try:
        for _ in range(count):
            made += os.pipe()
    except OSError:
        for fd in made:
            os.close(fd)
        raise
    return made
