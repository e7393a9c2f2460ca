package main

import "assay/internal/atlas"

// book is the atlas in use.
func (a *app) book() (*atlas.Book, error) { return atlas.Embedded() }
