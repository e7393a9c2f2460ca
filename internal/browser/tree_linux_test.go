package browser

import (
	"os"
	"testing"
)

func TestSumOf(t *testing.T) {
	t.Parallel()
	text := "Name:\tchromium\nRssAnon:\t    1200 kB\nRssFile:\t  900 kB\nRssShmem:\t      34 kB\n"
	for _, tc := range []struct {
		fields []string
		want   int64
		known  bool
	}{
		{[]string{"RssAnon", "RssShmem"}, 1234 << 10, true},
		{[]string{"RssShmem"}, 34 << 10, true},
		{[]string{"RssAnon", "Pss_Shmem"}, 1200 << 10, false},
		{[]string{"Name"}, 0, false},
	} {
		if got, known := sumOf(text, tc.fields...); got != tc.want || known != tc.known {
			t.Errorf("%v: %d, %v; want %d, %v", tc.fields, got, known, tc.want, tc.known)
		}
	}
}

// TestSharesAreNoMore: the kernel's shares of this very process are not more
// than what it has.
func TestSharesAreNoMore(t *testing.T) {
	t.Parallel()
	shares, known := shareBytes(os.Getpid())
	if !known {
		t.Skip("this kernel does not tell what processes share")
	}
	if all := residentBytes(os.Getpid()); shares <= 0 || shares > all+1<<20 {
		t.Errorf("%d bytes by shares, %d in all", shares, all)
	}
	if _, known := shareBytes(1 << 30); known {
		t.Error("a process that is not there has a share")
	}
}
