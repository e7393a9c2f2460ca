package environment

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// explanation turns what an installer prints into a kind, a problem and a hint.
type explanation struct {
	kind    Kind
	said    *regexp.Regexp
	problem string
	hint    string
}

// explanations are for pip, venv and uv. The first row that matches decides, so
// causes come before consequences: pip ends a failure of the network with "no
// matching distribution".
var explanations = []explanation{
	{NoSpace, regexp.MustCompile(`No space left on device|os error 28|Errno 28|Disk quota exceeded|os error 122|not enough space on the disk|os error 112`),
		"the disk filled up while packages were being installed",
		"make room, or set ASSAY_HOME to a folder on another disk, and run assay setup again"},
	{Certificate, regexp.MustCompile(`(?i)CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate|UnknownIssuer|UnknownCA|self[- ]signed certificate`),
		"the package index has a certificate that is not trusted here",
		"give pip your authority's certificates (pip config set global.cert FILE) or set SSL_CERT_FILE, and run assay setup again"},
	{Mismatch, regexp.MustCompile(`(?i)hash mismatch|DO NOT MATCH THE HASHES`),
		"a downloaded package is not the locked one, so it was not installed",
		"the package index or a cache in between is serving a different file; clear it (uv cache clean, pip cache purge) and run assay setup again"},
	{Refused, regexp.MustCompile(`(?i)\b(401|403|407)\b.{0,40}(unauthorized|forbidden|proxy auth)|(unauthorized|forbidden)[^\n]{0,40}\b(401|403)\b|proxy authentication required`),
		"the package index, or a proxy on the way to it, refused the request",
		"check the index and its password in pip's settings (pip config list), and run assay setup again"},
	{NoNetwork, regexp.MustCompile(`(?i)dns error|failed to lookup address|name resolution|name or service not known|nodename nor servname|getaddrinfo failed|connection refused|connection reset|network is unreachable|no route to host|NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|timed out|error sending request|proxyconnect|Cannot connect to proxy`),
		"the package index cannot be reached",
		"check the network and pip's settings (index, proxy: pip config list), and run assay setup again; or use a Python that has torch and transformers, with --python PATH"},
	{NoNetwork, regexp.MustCompile(`\(from versions: none\)`), // all that a pip without retries says
		"the package index cannot be reached, or does not have the package",
		"check the network and pip's settings (index, proxy: pip config list), and run assay setup again; or use a Python that has torch and transformers, with --python PATH"},
	{NoPermission, regexp.MustCompile(`Permission denied|os error 13|os error 5\b|Errno 13|Access is denied|Read-only file system|os error 30|Errno 30`),
		"a file could not be written while packages were being installed",
		"make the folder writable, or set ASSAY_HOME to another one"},
	{BrokenPython, regexp.MustCompile(`ensurepip is not available|No module named '?(venv|ensurepip|pip)\b|ensurepip.*returned non-zero|virtual environment was not created successfully`),
		"this Python cannot make environments: its venv, ensurepip or pip is missing",
		"install them (on Debian and Ubuntu: apt install python3-venv), or name another Python with ASSAY_PYTHON"},
	{Unsupported, regexp.MustCompile(`no wheels with a matching|has no usable wheels|no matching distribution|Could not find a version that satisfies|not a supported wheel on this platform|doesn't have a source distribution or wheel for the current platform`),
		"the package index has no locked package for this machine and Python",
		"use another Python (ASSAY_PYTHON), or one that has torch and transformers, with --python PATH"},
}

// explain turns the failure of a step into an Error. Cancelling is not a failure.
func explain(step string, err error, log string) error {
	return explainBy(explanations, step, err, log)
}

func explainBy(rows []explanation, step string, err error, log string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	text := err.Error()
	var failed *failure
	if errors.As(err, &failed) {
		text += "\n" + failed.tail
	}
	for _, row := range rows {
		if row.said.MatchString(text) {
			return &Error{Kind: row.kind, Problem: fmt.Sprintf("%s: %s", step, row.problem), Hint: row.hint, Log: log, Err: err}
		}
	}
	return &Error{Kind: Failed, Problem: fmt.Sprintf("%s: %v", step, err), Hint: "assay doctor may say more", Log: log, Err: err}
}
