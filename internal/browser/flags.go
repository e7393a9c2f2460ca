package browser

import (
	"os"
	"runtime"
)

// flag is one of Chromium's command-line flags.
type flag struct {
	name  string
	value any // a string, or true
}

// always are the flags that every browser of Chromium's family is started with.
var always = []flag{
	{"headless", true},
	{"no-first-run", true},
	{"no-default-browser-check", true},
	{"mute-audio", true},
	{"password-store", "basic"},
	{"use-mock-keychain", true}, // macOS asks the user otherwise

	// WebGPU where the browser would not trust the driver, and WebNN where it
	// still waits behind a flag. On Linux WebGPU stands on Vulkan.
	{"enable-unsafe-webgpu", true},
	{"ignore-gpu-blocklist", true},
	{"enable-features", "Vulkan,WebMachineLearningNeuralNetwork"},

	// Nothing but our pages may use the network, the disk or the processor.
	{"disable-background-networking", true},
	{"disable-component-update", true},
	{"disable-default-apps", true},
	{"disable-extensions", true},
	{"disable-sync", true},
	{"metrics-recording-only", true},
	{"disable-breakpad", true}, // its crash handler leaves the process tree
	{"disable-features", "Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider"},

	// A page that computes is neither slowed down nor asked whether it hangs.
	{"disable-background-timer-throttling", true},
	{"disable-backgrounding-occluded-windows", true},
	{"disable-renderer-backgrounding", true},
	{"disable-hang-monitor", true},
	{"disable-ipc-flooding-protection", true},
}

// software makes WebGPU run on the processor, by SwiftShader.
var software = []flag{{"use-webgpu-adapter", "swiftshader"}}

// shared is how much shared memory Chromium may need for one page's buffers.
const shared = 1 << 30

// flags returns those for one start.
func flags(o Options, profile string) []flag {
	list := append([]flag{{"user-data-dir", profile}}, always...)
	if o.Software {
		list = append(list, software...)
	}
	if runtime.GOOS == "linux" {
		if os.Getuid() == 0 {
			list = append(list, flag{"no-sandbox", true}) // Chromium refuses to start as root with it
		}
		if free, known := sharedMemory(); known && free < shared {
			list = append(list, flag{"disable-dev-shm-usage", true}) // containers have 64 MB, and pages crash there
		}
	}
	return list
}
