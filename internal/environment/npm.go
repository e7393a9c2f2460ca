package environment

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// npm is the user's own, with the user's own settings: registry, proxy,
// certificates.
type npm struct{ path, version string }

// leastNPM is the first that reads locks of version 3.
var leastNPM = Version{7, 0, 0}

const installNPM = "install Node.js 18 or newer, which includes npm (https://nodejs.org, or your system's packages nodejs and npm), or name npm's path in ASSAY_NPM"

// NPM says in words which npm the web environment is made with.
func (m *Maker) NPM(ctx context.Context) (string, error) {
	n, err := findNPM(ctx, m.environ)
	return fmt.Sprintf("npm %s (%s)", n.version, n.path), err
}

// findNPM returns the npm that ASSAY_NPM names, else the one in PATH.
func findNPM(ctx context.Context, environ []string) (npm, error) {
	name := lookup(environ)("ASSAY_NPM")
	if name == "" {
		name = "npm"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return npm{}, &Error{Kind: NoNPM, Err: err, Problem: "the web environment needs npm, and there is none here", Hint: installNPM}
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := job{[]string{path, "--version"}, overlay(environ, quietNPM), io.Discard, nil}.run(limited)
	if ctx.Err() != nil {
		return npm{}, ctx.Err()
	}
	if err != nil {
		return npm{}, &Error{Kind: NoNPM, Err: err, Problem: fmt.Sprintf("%s does not start: %v", path, err), Hint: installNPM}
	}
	version := lastLine(out)
	if v, err := ParseVersion(version); err != nil || v.Less(leastNPM) {
		return npm{}, &Error{Kind: NoNPM, Err: err, Problem: fmt.Sprintf("%s is npm %s, and %s or newer is needed", path, version, leastNPM.Short()), Hint: installNPM}
	}
	return npm{path, version}, nil
}

// quietNPM keeps npm to its work. A lock is followed to the letter, so what a
// package asks of Node does not matter: pages do not run there.
var quietNPM = map[string]string{
	"npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false",
	"npm_config_engine_strict": "false", "npm_config_progress": "false", "npm_config_loglevel": "error", "NO_COLOR": "1",
}

// install is the call that fills a folder by its lock. No package's scripts run.
func (n npm) install(dir string) []string {
	return []string{n.path, "ci", "--ignore-scripts", "--omit=dev", "--prefix", dir}
}

// environ is npm's. Its cache is the user's own, unless ASSAY_HOME moved everything.
func (n npm) environ(environ []string, f Folders) []string {
	set := map[string]string{}
	for name, value := range quietNPM {
		set[name] = value
	}
	if f.Moved && lookup(environ)("npm_config_cache") == "" {
		set["npm_config_cache"] = filepath.Join(f.Cache, "npm")
	}
	if runtime.GOOS != "windows" {
		// npm is a script of the node beside it, which need not be in PATH.
		set["PATH"] = strings.TrimSuffix(filepath.Dir(n.path)+":"+lookup(environ)("PATH"), ":")
	}
	return overlay(environ, set)
}

// npmExplanations turn what npm prints into a kind, a problem and a hint.
var npmExplanations = []explanation{
	{NoSpace, regexp.MustCompile(`ENOSPC|EDQUOT|no space left on device`),
		"the disk filled up while packages were being installed",
		"make room, or set ASSAY_HOME to a folder on another disk, and run assay setup web again"},
	{Certificate, regexp.MustCompile(`UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|CERT_HAS_EXPIRED|CERT_UNTRUSTED`),
		"the npm registry has a certificate that is not trusted here",
		"give npm your authority's certificates (npm config set cafile FILE) or set NODE_EXTRA_CA_CERTS, and run assay setup web again"},
	{Mismatch, regexp.MustCompile(`EINTEGRITY|EBADPLATFORM`),
		"a downloaded package is not the locked one, so it was not installed",
		"the registry or a cache in between is serving a different file; clear it (npm cache clean --force) and run assay setup web again"},
	{Refused, regexp.MustCompile(`\bE(401|403|407)\b|ENEEDAUTH`),
		"the npm registry, or a proxy on the way to it, refused the request",
		"check the registry and its password in npm's settings (npm config list), and run assay setup web again"},
	{NoNetwork, regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED`),
		"the npm registry cannot be reached",
		"check the network and npm's settings (registry, proxy: npm config list), and run assay setup web again"},
	{Unsupported, regexp.MustCompile(`\bE404\b|ETARGET`),
		"the npm registry does not have a locked package",
		"check the registry in npm's settings (npm config get registry): a mirror may lack it"},
	{NoPermission, regexp.MustCompile(`EACCES|EPERM|EROFS`),
		"a file could not be written while packages were being installed",
		"make the folder, and npm's cache (npm config get cache), writable, or set ASSAY_HOME to another one"},
}

func explainNPM(step string, err error, log string) error {
	return explainBy(npmExplanations, step, err, log)
}
