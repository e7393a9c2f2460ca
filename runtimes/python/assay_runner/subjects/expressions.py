"""Shape expressions of recipes: whole numbers, names, ``+ - * //`` and parentheses.

Python's own parser reads them and a table of four operators computes them;
nothing else of the language is accepted, so a recipe cannot run code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from assay_runner.errors import BadRecipe

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_MAX_LENGTH = 200
_MAX_VALUE = 1 << 48


def evaluate(expression: int | str, names: Mapping[str, int]) -> int:
    """The value of a shape entry."""
    if isinstance(expression, int) and not isinstance(expression, bool):
        return expression
    if not isinstance(expression, str) or len(expression) > _MAX_LENGTH:
        raise BadRecipe(f"shape entry {str(expression)[:60]!r} is neither a whole number nor a short expression")
    try:
        return _value(ast.parse(expression, mode="eval").body, names)
    except (SyntaxError, ZeroDivisionError, KeyError, RecursionError, ValueError) as err:
        known = ", ".join(sorted(names))
        raise BadRecipe(f"cannot compute shape expression {expression!r} ({err!r}); names known: {known}") from None


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            result = value
        case ast.Name(id=name):
            result = int(names[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case _:
            raise ValueError(f"{type(node).__name__} is not allowed")
    if abs(result) > _MAX_VALUE:
        raise ValueError("the value is too large")
    return result
