package main

import "testing"

// checkNoneLeft has no way to see other processes' variables here; the job
// object that holds them is tested with the runner.
func checkNoneLeft(*testing.T, *program) {}
