package dash

import (
	"regexp"
	"strings"
)

// flags are how commands call what errors speak of; whoever asks over HTTP has fields.
var flags = regexp.MustCompile(`--[a-z][a-z-]*`)

// ofRuns are the fields of a run's request that are not called like their flags.
var ofRuns = map[string]string{
	"as": "name", "platform": "targets", "dtype": "dtypes", "batch": "batches", "seq": "seqs", "prompt": "prompts", "family": "families", "task": "tasks", "priority": "priorities",
	"warm": "start", "checkpointing": "activations", "lora": "adapters", "timeout": "timeout_s", "wait-quiet": "wait_quiet_s", "max-temp": "max_temp_c",
}

// ofServer are flags that no request has: the server is started with them.
var ofServer = map[string]bool{"allow-pickle": true, "trust-remote-code": true, "offline": true, "python": true, "db": true, "env": true, "no-setup": true}

// inFields says in fields what an error says in flags.
func inFields(text string, named map[string]string) string {
	return flags.ReplaceAllStringFunc(text, func(flag string) string {
		name := strings.TrimPrefix(flag, "--")
		switch {
		case ofServer[name]:
			return "assay serve " + flag
		case named[name] != "":
			return `"` + named[name] + `"`
		}
		return `"` + strings.ReplaceAll(name, "-", "_") + `"`
	})
}
