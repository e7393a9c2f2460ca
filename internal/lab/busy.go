package lab

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Load is what programs other than this one ask of the processor.
type Load struct {
	Cores float64 // in use
	OfAll int     // of the machine
	known bool
}

// lookFor is how long the processor is watched: ten ticks of the kernel's clock
// on each core tell a half of one from none.
const lookFor = 200 * time.Millisecond

// Others watches the processor for a moment in which nothing of ours runs. What
// is in use then is other people's, also that of other machines on the same
// host (steal). Elsewhere than on Linux nothing is known.
func Others(ctx context.Context) Load {
	busy0, all0, _, ok := ticks()
	if !ok {
		return Load{}
	}
	select {
	case <-ctx.Done():
		return Load{}
	case <-time.After(lookFor):
	}
	busy1, all1, cores, ok := ticks()
	if !ok || all1 <= all0 {
		return Load{}
	}
	return Load{Cores: float64(cores) * float64(busy1-busy0) / float64(all1-all0), OfAll: cores, known: true}
}

// disturbs says in words when times taken beside the load cannot be trusted:
// half a core of a small machine, a tenth of a large one.
func (l Load) disturbs() string {
	if !l.known || l.Cores < max(0.5, float64(l.OfAll)/10) {
		return ""
	}
	return fmt.Sprintf("the machine was busy: other programs used %.1f of its %s", l.Cores, plural(l.OfAll, "core"))
}

// ticks reads the kernel's counts: busy and all, over all cores.
func ticks() (busy, all int64, cores int, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			break
		}
		if fields[0] != "cpu" {
			cores++
			continue
		}
		// user nice system idle iowait irq softirq steal; guests are in user.
		for i, f := range fields[1:min(len(fields), 9)] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, 0, 0, false
			}
			all += n
			if i != 3 && i != 4 {
				busy += n
			}
		}
	}
	return busy, all, cores, cores > 0
}
