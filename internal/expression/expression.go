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

// What an expression may have, as in the runner.
const (
	maxLength = 200
	maxValue  = 1 << 48
)

// quotient is Go's operator that stands for // while Go's parser reads an
// expression: to that // begins a comment. Neither it nor / is allowed.
const quotient = "%"

// Evaluate returns the value of a shape entry. Go's own parser reads it; nothing
// but four operators is computed. Division rounds down.
func Evaluate(text string, names map[string]int) (int, error) {
	v, err := evaluate(text, names)
	if err != nil {
		return 0, fmt.Errorf("cannot compute shape expression %.60q: %w", text, err)
	}
	return v, nil
}

func evaluate(text string, names map[string]int) (int, error) {
	if len(text) > maxLength {
		return 0, errors.New("it is too long")
	}
	readable := strings.ReplaceAll(text, "//", quotient)
	if strings.Contains(text, quotient) || strings.Contains(readable, "/") {
		return 0, errOnly
	}
	tree, err := parser.ParseExpr(readable)
	if err != nil {
		return 0, err
	}
	return value(tree, names)
}

var errOnly = errors.New("only whole numbers, names, + - * // and parentheses are allowed")

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
		v, err := compute(n.Op, x, y)
		if err == nil && (v > maxValue || v < -maxValue) {
			err = errors.New("the value is too large")
		}
		return v, err
	}
	return 0, errOnly
}

func compute(op token.Token, x, y int) (int, error) {
	switch op {
	case token.ADD:
		return x + y, nil
	case token.SUB:
		return x - y, nil
	case token.MUL:
		return x * y, nil
	case token.REM:
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
