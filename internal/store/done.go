package store

import "assay/internal/journal"

// Synced says what a sync brought.
type Synced struct {
	Journals   int // that were new, had grown or were gone
	Results    int // loaded
	Detections int
	// Problems are lines and files that were passed over. A torn last line is
	// none: its run may still be writing it.
	Problems []journal.Problem
}

// Rebuilt says what a rebuild did.
type Rebuilt struct {
	Synced
	// Aside is where a file that could not be used was put; "" when there was
	// none.
	Aside string
}
