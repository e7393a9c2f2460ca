// Package environment makes, finds and checks the Python environments in which
// Assay's runner lives, and the web environment of its pages.
//
// There are two kinds of Python environment. The managed environment is Assay's own: the exact
// packages of runtimes/python/requirements.lock, verified by their hashes,
// installed by uv into Assay's data folder. The user's own environment
// (--python PATH) is used as is: special hardware has special builds of
// torch, and what is not there is reported as absent.
//
// A Maker is built once in main from Folders and the process's environment
// variables. Open is the door for commands: it returns the environment the
// user chose, and makes the managed one when first needed. Find never installs.
// Both return an Environment, a plain value that knows how to start its Python.
//
// Making the managed environment goes in steps, each in its own file:
//
//	python.go   find a Python that is new enough
//	space.go    is there room, before anything is loaded
//	boot.go     uv itself, by the user's own pip, with the user's own settings
//	pip.go      pip's settings (index, certificates, proxy) passed on to uv
//	build.go    the environment, beside its final place, renamed when whole;
//	            one process at a time, a second one waits and says so
//	progress.go what uv prints, turned into a few lines for people
//	explain.go  what installers print, turned into sentences
//
// An environment with another release of one package (releases.go, differing.go) is the
// managed one with another lock: uv resolves it with the managed lock as what it
// prefers, and everything else is the same.
//
// The web environment is for pages in browsers: packages by the user's own npm
// (npm.go), and a Chromium where there is one for the machine (chromium.go).
// It is beside the others, is made under the same lock and in the same way
// (web.go, webbuild.go), and only when it is needed.
//
// A folder that has its final name is whole: kill -9 at any moment leaves only
// a hidden folder that the next build sweeps away. The runner's own sources
// travel inside the program and are unpacked by content hash (sources.go).
//
// Errors that a user can act on are of type *Error.
package environment
