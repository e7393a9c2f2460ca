package runner

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineReader reads newline-ended lines of at most max bytes, and never holds
// more than one of them.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// errLineTooLong is a line over the limit. Reading on after it makes no sense.
var errLineTooLong = errors.New("line too long")

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: most}
}

// next returns the next line without its newline; it is valid until the next
// call. A last line without a newline is an io.ErrUnexpectedEOF: its writer
// died in the middle of it.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > l.max {
			return nil, fmt.Errorf("%w: over %d bytes", errLineTooLong, l.max)
		}
		if err == nil && len(l.buf) == 0 {
			return part[:len(part)-1], nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
