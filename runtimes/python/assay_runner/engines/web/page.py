"""A page in a browser, as this process sees it: calls to the address that the job gives.

The program that started this process relays each call to the page (docs/protocol.md, "Pages"). A call is a frame: four
bytes with the length of the header, the header in JSON, padded, and raw tensors after it.
"""

from __future__ import annotations

import json
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay_runner.errors import PageError, PageLost, PageTimeout, PageUnopened

_ALIGNMENT = 8
_PREFIX = struct.Struct("<I")
_GRACE_S = 15.0  # beyond the page's own limit, for the way there and back
_OPEN_S = 120.0

Arrays = Mapping[str, np.ndarray]

_LOST = {"timeout": PageTimeout, "gone": PageLost, "unopened": PageUnopened}
"""The relay's kinds of refusal → what is raised."""


class Page:
    """A fresh page. What it is stands in `about` (the browser, from outside) and `hello` (its own words)."""

    def __init__(self, address: str) -> None:
        self._address = address
        answer = json.loads(self._ask("page", b"", _OPEN_S))
        self.about: Mapping[str, Any] = answer["about"]
        self.hello: Mapping[str, Any] = answer["hello"]
        self.tuned: list[Mapping[str, Any]] = answer.get("tuned") or []  # workgroup sizes that were measured before

    def call(
        self,
        op: str,
        limit_s: float,
        arrays: Arrays | None = None,
        files: Mapping[str, Path] | None = None,
        **header: Any,
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The page's answer: its header and its tensors. What the page raised is raised."""
        header |= {"op": op, "limit_s": limit_s, "files": {name: str(path) for name, path in (files or {}).items()}}
        answer, found = decode(self._ask("call", encode(header, arrays or {}), limit_s + _GRACE_S))
        if error := answer.get("error"):
            raise PageError(op, error["name"], error["message"], error["stack"], answer.get("log") or [])
        return answer, found

    def peak_bytes(self) -> int | None:
        """The most memory that the browser's processes held at once; None where the browser is not this job's alone."""
        told = json.loads(self._ask("memory", None, _GRACE_S))
        return (told["peak_bytes"] or None) if told["alone"] else None

    def _ask(self, what: str, body: bytes | None, limit_s: float) -> bytes:
        request = urllib.request.Request(f"{self._address}/{what}", data=body)
        try:
            with _DIRECT.open(request, timeout=limit_s) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            told = json.loads(error.read())
            raise _LOST.get(told["kind"], PageUnopened)(told["error"]) from None
        except TimeoutError as error:
            raise PageTimeout(f"the relay to the page did not answer within {limit_s:.0f} s") from error


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy is not for this machine's own pages


def encode(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """A frame of a header and tensors."""
    rows, blobs, offset = [], [], 0
    for name, array in arrays.items():
        blob = np.ascontiguousarray(array).tobytes()
        rows.append(
            {"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "offset": offset, "bytes": len(blob)}
        )
        blob += b"\0" * (-len(blob) % _ALIGNMENT)
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps({**header, "tensors": rows}).encode()
    text += b" " * (-(len(text) + _PREFIX.size) % _ALIGNMENT)
    return b"".join([_PREFIX.pack(len(text)), text, *blobs])


def decode(frame: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the tensors of a frame."""
    (length,) = _PREFIX.unpack_from(frame)
    start = _PREFIX.size + length
    header = json.loads(frame[_PREFIX.size : start])
    arrays = {}
    for row in header.pop("tensors", []):
        dtype = np.dtype(row["dtype"])
        flat = np.frombuffer(frame, dtype, row["bytes"] // dtype.itemsize, start + row["offset"])
        arrays[row["name"]] = flat.reshape(row["shape"]).copy()  # the frame is not to be written
    return header, arrays
