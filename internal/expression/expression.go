// Package expression computes the shape expressions of recipes: whole numbers,
// names, + - * // and parentheses, as the runner's own expressions.py does.
package expression

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// Evaluate returns the value of a shape entry. Go's own parser reads it; nothing
// but four operators is computed. Division rounds down.
func Evaluate(text string, names map[string]int) (int, error) {
	tree, err := parser.ParseExpr(strings.ReplaceAll(text, "//", "/"))
	if err == nil {
		var v int
		if v, err = value(tree, names); err == nil {
			return v, nil
		}
	}
	return 0, fmt.Errorf("cannot compute shape expression %q: %w", text, err)
}

func value(n ast.Expr, names map[string]int) (int, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return value(n.X, names)
	case *ast.BasicLit:
		return strconv.Atoi(n.Value)
	case *ast.Ident:
		if v, ok := names[n.Name]; ok {
			return v, nil
		}
		return 0, fmt.Errorf("the name %q is not known", n.Name)
	case *ast.BinaryExpr:
		x, errX := value(n.X, names)
		y, errY := value(n.Y, names)
		if err := errors.Join(errX, errY); err != nil {
			return 0, err
		}
		return compute(n.Op, x, y)
	}
	return 0, errors.New("only whole numbers, names, + - * // and parentheses are allowed")
}

func compute(op token.Token, x, y int) (int, error) {
	switch op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.QUO:
		if y == 0 {
			return 0, errors.New("division by zero")
		}
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		return q, nil
	}
	return 0, fmt.Errorf("operator %s is not allowed", op)
}
