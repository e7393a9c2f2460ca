//go:build !unix

package main

// coordinate is for tests that stop and kill processes.
func coordinate() {}
