"""What QNN has no operator for, or only for other types and fewer axes: more graphs for those of qnn_graphs."""

from dataclasses import dataclass, field

import numpy as np

from assay_runner.engines.qnn import pads, truths
from assay_runner.exporting.steps import columns, fewer_axes, functions, scatters

PLAINER = functions.plainer("Asinh", "ReduceL1", "Trilu", "Neg")


@dataclass(frozen=True)
class Case:
    """A graph that a step rewrites, or that it leaves alone."""

    name: str
    step: object
    count: int
    text: str
    constants: dict = field(default_factory=dict)
    scale: float = 1.0


PLAINER_CASES = (
    *(
        Case(
            f"inverse hyperbolic sine{said}",
            PLAINER,
            1,
            "g (float[4, 64] x) => (float[4, 64] y) { y = Asinh(x) }",
            {},
            scale,
        )
        for said, scale in (("", 1.0), (" of small numbers", 0.05), (" of large numbers", 3e3))
    ),
    *(
        Case(
            f"absolute sums{said}",
            PLAINER,
            1,
            f"g (float[4, 8] x) => (float[{shape}] y) {{ y = ReduceL1{how}(x, axes) }}",
            {"axes": np.array([-1])},
        )
        for said, shape, how in (("", "4, 1", ""), (" without their axis", "4", "<keepdims = 0>"))
    ),
    *(
        Case(
            f"triangle{said}",
            PLAINER,
            1,
            f"g (float[3, 4, 5] x) => (float[3, 4, 5] y) {{ y = Trilu{how} }}",
            {"k": np.int64(-1)},
        )
        for said, how in (("", "<upper = 0>(x)"), (" above", "(x)"), (" below", "<upper = 0>(x, k)"))
    ),
    Case(
        "whole numbers negated",
        PLAINER,
        1,
        "g (float[4, 16] x) => (float[4, 16] y) { a = Cast<to = 7>(x) n = Neg(a) y = Cast<to = 1>(n) }",
        {},
        9.0,
    ),
    Case("numbers negated", PLAINER, 0, "g (float[4, 16] x) => (float[4, 16] y) { y = Neg(x) }"),
    Case(
        "whole numbers padded",
        pads.joined,
        1,
        "g (float[2, 5] x) => (float[4, 6] y) { a = Cast<to = 7>(x) p = Pad(a, around, fill) y = Cast<to = 1>(p) }",
        {"around": np.array([0, 1, 2, 0]), "fill": np.int64(7)},
        9.0,
    ),
    Case(
        "numbers padded",
        pads.joined,
        0,
        "g (float[2, 5] x) => (float[4, 6] y) { y = Pad(x, around) }",
        {"around": np.array([0, 1, 2, 0])},
    ),
    Case(
        "truth values padded",
        lambda model: (pads.joined(model), truths.join_as_numbers(model))[0],
        1,
        """g (float[2, 5] x) => (float[2, 8] y) {
            a = Greater(x, o) p = Pad(a, around, yes, axes) y = Where(p, i, o)
        }""",
        {
            "o": np.float32(0),
            "i": np.float32(1),
            "around": np.array([1, 2]),
            "yes": np.bool_(True),
            "axes": np.array([1]),
        },
    ),
    Case(
        "five axes",
        fewer_axes.few({"Tanh": 4}),
        1,
        "g (float[2, 3, 2, 4, 5] x) => (float[2, 3, 2, 4, 5] y) { y = Tanh(x) }",
    ),
    *(
        Case(
            f"a row scattered{said}",
            scatters.rows_to_choices,
            count,
            """g (float[1, 4, 3, 4, 5] x) => (float[1, 4, 3, 4, 5] y) {
                r = ReduceMax(x, a) y = ScatterElements<axis = 3>(x, i, r)
            }""",
            {"a": np.array([3]), "i": np.broadcast_to(np.array(places), (1, 4, 3, 1, 5)).copy()},
        )
        for said, places, count in (("", 2, 1), (" from the end", -1, 1), (" to several places", [0, 1, 2, 3, 0], 0))
    ),
    Case(
        "a row of truth values scattered",
        scatters.rows_to_choices,
        1,
        """g (float[4, 5] x) => (float[4, 5] y) {
            t = Greater(x, o) r = Less(w, o) s = ScatterElements<axis = 0>(t, i, r) y = Cast<to = 1>(s)
        }""",
        {"o": np.float32(0), "w": np.float32([[1, -1, 1, -1, -1]]), "i": np.full((1, 5), 2)},
    ),
    *(
        Case(
            f"images of columns{said}",
            columns.to_transposes,
            count,
            f"g (float[2, 12, {many}] x) => (float[2, 2, 4, 9] y) {{ y = Col2Im<{how}>(x, image, block) }}",
            {"image": np.array([4, 9]), "block": np.array([2, 3])},
        )
        for said, many, how, count in (
            ("", 6, "strides = [2, 3]", 1),
            (" that overlap", 21, "strides = [1, 1]", 0),
            (" apart", 8, "strides = [2, 3], pads = [0, 1, 0, 2]", 0),
        )
    ),
)
