//go:build integration

package browser

import (
	"fmt"
	"testing"
	"time"
)

// TestIntegrationManyPages: a browser that has shown many pages is as good as
// one that has shown a few.
func TestIntegrationManyPages(t *testing.T) {
	t.Parallel()
	web := packed(t)
	if web.Chromium() == "" {
		t.Skip("no Chromium is packed for this machine")
	}
	url, seen := site(t)
	b := started(t, Options{Kind: Packed, Path: web.Chromium(), Env: web.ChromiumEnv(t.Context())})
	var early int64
	begin := time.Now()
	for i := range 100 {
		p := opened(t, b, fmt.Sprintf("%s/page-%d", url, i))
		await(t, "a page", seen)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			early = settled(b)
		}
	}
	late, processes := settled(b), len(b.driver.group().processes())
	t.Logf("%d MB after 10 pages, %d MB after 100, %d processes, %v a page", early>>20, late>>20, processes, time.Since(begin)/100)
	if float64(late) > 1.2*float64(early) {
		t.Errorf("memory grew from %d to %d bytes", early, late)
	}
	if processes > 12 {
		t.Errorf("%d processes are left", processes)
	}
}

// settled is the memory of a browser when the processes of closed pages have
// had time to end.
func settled(b *Browser) int64 {
	least := *b.MemoryBytes()
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		least = min(least, *b.MemoryBytes())
	}
	return least
}
