import pytest

from assay_runner.errors import BadRecipe
from assay_runner.subjects.expressions import evaluate

NAMES = {"batch": 2, "seq": 16, "image": 32}


@pytest.mark.parametrize(
    ("expression", "value"),
    [(3, 3), ("seq", 16), ("batch*seq", 32), ("(image//8)*(image//8)+1", 17), ("seq - 2*3", 10), ("7", 7)],
)
def test_values(expression, value):
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    "expression",
    ["", "unknown", "seq//0", "seq**9", "seq/2", "__import__('os')", "seq.real", "1.5", "True", True, None, 2.0, [1],
     "(" * 90, "9" * 150, "[1]", "seq if 1 else 2", "lambda: 1", "-seq", "10000000*10000000*1000"],
)  # fmt: skip
def test_everything_else_is_refused(expression):
    with pytest.raises(BadRecipe):
        evaluate(expression, NAMES)
