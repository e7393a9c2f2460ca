//go:build linux || darwin

package content

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// changed is the inode, its size and the time of its last change, which the
// kernel sets on every write, also through a mapping, and no program can set back.
func changed(info os.FileInfo) (change, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return change{}, false
	}
	spec := ctime(st)
	at := time.Unix(spec.Unix())
	return change{fmt.Sprintf("%d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, at.UnixNano(), info.ModTime().UnixNano()), at}, true
}
