// Package browser starts real headless browsers, opens pages in them
// and notices when one is gone. What a page does there is the page's own
// business: it talks to Assay over HTTP by itself. Nothing is injected into a
// page and no debugger is attached to it, because either would be measured too.
//
// [Find] lists the browsers of this machine as [Options]; [Start] starts one,
// and [Browser.Open] opens a page. The parts:
//
//	find.go      the browsers that are here: installed ones, the packed Chromium
//	kinds.go     a row for each kind: which family it is of
//	chromium.go  Chromium's family, over a pipe; its flags with reasons in flags.go
//	firefox.go   Firefox, by WebDriver BiDi over a websocket (bidi.go)
//	safari.go    Safari, by WebDriver over HTTP, where safaridriver is
//	profile.go   a folder for all that a browser writes, and the sweeping of old ones
//	process.go   a browser's process, its group and its last output
//	memory.go    what the whole tree of processes takes, now and at most
//	probe.go     what a browser can do: its WebGPU adapter, WebNN, threads
//	ways.go      the ways to a real adapter, and to a software one
//	ask.go       the same of every browser, for detection
//
// Every browser has a fresh profile, its own process group, and limits on
// every wait. When it is closed, when its context ends, when it dies, all its
// processes are killed and its profile is removed; when Assay itself is killed
// the browser is too (on Linux and Windows by the system; Chromium elsewhere
// by the end of its pipe), and the next Start removes what it left on disk.
//
// A software adapter must be requested: [Options].Software. [Probe] asks for
// the real one first, and says which of them it got, and how; [AsAsked]
// makes Options of that again.
package browser
