package store

// MissingError says that this program was built without DuckDB, and so cannot do
// what needs it.
type MissingError struct{ What string }

func (e *MissingError) Error() string {
	return e.What + " needs DuckDB, which this assay was built without: use one that was built with it, " +
		"for which a C++ compiler is needed (CGO_ENABLED=1 go install ./cmd/assay in a checkout); it reads the same journals, and nothing is lost meanwhile"
}
