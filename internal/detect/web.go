package detect

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/platform"
)

// webProbe is for WebNN and WebGPU: both live in browsers.
type webProbe struct{ name platform.Name }

func (w webProbe) Platform() platform.Name { return w.name }

func (w webProbe) Look(m *Machine) Seen {
	s := Seen{}
	for _, b := range Browsers(m) {
		s.note("browser", fmt.Sprintf("%s at %s", b.Name, b.Path))
	}
	return s
}

// browsers says where each browser is installed, by system.
var browsers = []struct {
	name     string
	commands []string
	darwin   string
	windows  []string
}{
	{"chromium", []string{"chromium", "chromium-browser"}, "Applications/Chromium.app/Contents/MacOS/Chromium",
		[]string{"Program Files/Chromium/Application/chrome.exe"}},
	{"chrome", []string{"google-chrome", "google-chrome-stable"}, "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		[]string{"Program Files/Google/Chrome/Application/chrome.exe", "Program Files (x86)/Google/Chrome/Application/chrome.exe"}},
	{"edge", []string{"microsoft-edge", "microsoft-edge-stable"}, "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
		[]string{"Program Files (x86)/Microsoft/Edge/Application/msedge.exe", "Program Files/Microsoft/Edge/Application/msedge.exe"}},
	{"firefox", []string{"firefox", "firefox-esr"}, "Applications/Firefox.app/Contents/MacOS/firefox",
		[]string{"Program Files/Mozilla Firefox/firefox.exe"}},
	{"safari", nil, "Applications/Safari.app/Contents/MacOS/Safari", nil},
}

// BrowsersVariable names the browsers that Assay may start, separated by commas: all
// that are here when it is not set, none with "none".
const BrowsersVariable = "ASSAY_BROWSERS"

// MayStart reports whether the user lets Assay start a browser of this name.
func MayStart(m *Machine, name string) bool {
	names, set := m.env(BrowsersVariable)
	return !set || slices.Contains(listed(names), name)
}

// listed are the names of a list that commas separate.
func listed(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Browsers returns the browsers that are installed on a machine and that Assay may start.
func Browsers(m *Machine) []Browser {
	var found []Browser
	for _, b := range browsers {
		if !MayStart(m, b.name) {
			continue
		}
		var files []string
		switch m.OS {
		case "darwin":
			files = []string{b.darwin}
		case "windows":
			files = b.windows
		}
		if path, ok := firstBrowser(m, b.commands, files); ok {
			found = append(found, Browser{Name: b.name, Path: path})
		}
	}
	return found
}

func firstBrowser(m *Machine, commands, files []string) (string, bool) {
	for _, c := range commands {
		if path, ok := m.find(c); ok {
			return path, true
		}
	}
	for _, f := range files {
		if m.exists(f) {
			if m.OS == "windows" {
				return `C:\` + strings.ReplaceAll(f, "/", `\`), true
			}
			return "/" + f, true
		}
	}
	return "", false
}
