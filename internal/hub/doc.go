// Package hub gets real weights: from the Hugging Face Hub, from a mirror that
// behaves like it (HF_ENDPOINT), or from a user's folder. It does so
// before a cell runs, so that no runner ever needs the network or the user's
// token.
//
// A model is named by a Ref (ref.go): owner/name@revision. Fetch (fetch.go)
// asks the server which files there are (list.go), picks those that a loader
// needs (pick.go: a table; safetensors first, pickles and code only when asked
// for), checks that the disk has room, and loads what is missing, four files at
// a time (download.go). Each request goes through client.go, which knows about
// tokens, redirects, impatience and second tries. What arrives is compared with
// the checksum that the server gave with the list, and an interrupted file is
// continued where it ended, even by a later program.
//
// Files are in Hugging Face's own cache, in its own layout
// (cache.go): what they have loaded is used, and what is loaded here is theirs.
// Locks are the same files and the same system call, so that two programs load
// a file once.
//
// Whatever names the server or the user gives are checked before they become
// paths (ref.go, list.go). Inspect (inspect.go) looks into the folder that
// comes out, or into the user's: are all files of the weights there, and are
// they whole? What is wrong is an *Error: a sentence, and what to do about it.
package hub
