package cell

// Time is how long a cell took in an earlier run.
type Time struct {
	Cell     Cell
	Subject  string // what ran: only the same one may be compared
	MedianMS float64
	Unstable bool // nothing is computed from it
}
