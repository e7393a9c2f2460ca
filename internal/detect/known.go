package detect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/internal/platform"
	"assay/internal/spelling"
)

// deviceNames are the names that a platform's devices can have, on any machine.
// Where form is given a name may be written by it too, and as says how.
type deviceNames struct {
	names func() []string
	form  *regexp.Regexp
	as    string
}

var (
	anyIndex = regexp.MustCompile(`^[0-9]+$`)
	oneOf    = regexp.MustCompile(`^(GPU|NPU)\.[0-9]+$`)
)

var devicesOf = map[platform.Name]deviceNames{
	platform.CPU:      {names: list("cpu")},
	platform.CUDA:     {names: list("0", "1"), form: anyIndex, as: "and so on"},
	platform.ROCm:     {names: list("0", "1"), form: anyIndex, as: "and so on"},
	platform.MPS:      {names: list("mps")},
	platform.OpenVINO: {names: list("CPU", "GPU", "NPU", "AUTO"), form: oneOf, as: "one of several as GPU.1"},
	platform.QNN:      {names: socIDs},
	platform.WebNN:    {names: list("cpu", "gpu", "npu")},
	platform.WebGPU:   {names: list("gpu")},
	platform.XPU:      {names: list("0", "1"), form: anyIndex, as: "and so on"},
	platform.HPU:      {names: list("0", "1"), form: anyIndex, as: "and so on"},
	platform.NPU:      {names: list("0", "1"), form: anyIndex, as: "and so on"},
	platform.XLA:      {names: list("0", "1"), form: anyIndex, as: "and so on"},
}

func list(names ...string) func() []string { return func() []string { return names } }

func socIDs() []string {
	var ids []string
	for _, row := range socs().SoCs {
		ids = append(ids, row.ID)
	}
	return ids
}

// BrowserNames are the browsers that a target can name, wherever they are.
func BrowserNames() []string {
	names := []string{PackedBrowser}
	for _, b := range browsers {
		names = append(names, b.name)
	}
	return names
}

// KnownBrowsers says in a sentence when the value of BrowsersVariable names a
// browser that no machine has.
func KnownBrowsers(value string) error {
	known := BrowserNames()
	for _, name := range listed(value) {
		if name != noBrowsers && !slices.Contains(known, name) {
			return fmt.Errorf("%s: %w", BrowsersVariable, unknown("browser", name, known, "or "+noBrowsers))
		}
	}
	return nil
}

// noBrowsers stands for none of them.
const noBrowsers = "none"

// Known says in a sentence when a target names a browser or a device that no
// machine has. One that is known and not here is not an error: it is unavailable.
func Known(t platform.Target) error {
	if names := BrowserNames(); t.Browser != "" && !slices.Contains(names, t.Browser) {
		return unknown("browser", t.Browser, names, "")
	}
	of, ok := devicesOf[t.Platform]
	if !ok {
		_, err := platform.Parse(string(t.Platform))
		return err
	}
	names := of.names()
	if t.Device == "" || slices.Contains(names, t.Device) || of.form != nil && of.form.MatchString(t.Device) {
		return nil
	}
	return unknown(string(t.Platform)+" device", t.Device, names, of.as)
}

func unknown(what, name string, names []string, more string) error {
	known := strings.Join(names, ", ")
	if more != "" {
		known += ", " + more
	}
	if meant := spelling.Meant(name, names); meant != "" {
		return fmt.Errorf("unknown %s %q, did you mean %s? The %ss are %s", what, name, meant, what, known)
	}
	return fmt.Errorf("unknown %s %q: the %ss are %s", what, name, what, known)
}
