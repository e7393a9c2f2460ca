package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// preferences are Firefox's settings, written into a fresh profile.
var preferences = []struct {
	name  string
	value any
}{
	// WebGPU, also where Firefox would not trust the driver.
	{"dom.webgpu.enabled", true},
	{"dom.webgpu.workers.enabled", true},
	{"gfx.webgpu.ignore-blocklist", true},
	{"gfx.webgpu.force-enabled", true},

	// BiDi alone, without the older protocol beside it.
	{"remote.active-protocols", 1},

	// Nothing but our pages may use the network, the disk or the processor.
	{"app.normandy.enabled", false},
	{"app.update.enabled", false},
	{"browser.safebrowsing.downloads.enabled", false},
	{"browser.safebrowsing.malware.enabled", false},
	{"browser.safebrowsing.phishing.enabled", false},
	{"datareporting.policy.dataSubmissionEnabled", false},
	{"extensions.getAddons.cache.enabled", false},
	{"extensions.update.enabled", false},
	{"network.captive-portal-service.enabled", false},
	{"network.connectivity-service.enabled", false},
	{"services.settings.server", ""},
	{"toolkit.telemetry.enabled", false},

	// No questions and no tour.
	{"browser.aboutwelcome.enabled", false},
	{"browser.shell.checkDefaultBrowser", false},
	{"browser.startup.homepage_override.mstone", "ignore"},
	{"browser.startup.page", 0}, // a blank one
	{"browser.newtab.preload", false},
	{"browser.newtabpage.enabled", false},

	// A page that computes is neither slowed down nor asked whether it hangs.
	{"dom.ipc.processHangMonitor", false},
	{"dom.max_script_run_time", 0},
	{"dom.min_background_timeout_value", 4},
	{"dom.timeout.enable_budget_timer_throttling", false},

	// A process for each page, as in Chromium, and none made in advance.
	{"dom.ipc.processPrelaunch.enabled", false},
	{"dom.ipc.processCount", 64},
	{"dom.ipc.processCount.webIsolated", 64},
}

func writePreferences(profile string) error {
	var b strings.Builder
	for _, p := range preferences {
		fmt.Fprintf(&b, "user_pref(%q, %#v);\n", p.name, p.value)
	}
	return os.WriteFile(filepath.Join(profile, "user.js"), []byte(b.String()), 0o600)
}
