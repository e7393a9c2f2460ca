package pages

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A frame is how calls and answers travel: four bytes with the length of the
// header (little-endian), the header in JSON, and whatever follows it, which
// is for the two ends alone.

// prefix is the length of the header's length.
const prefix = 4

// mostHeader bounds a header.
const mostHeader = 8 << 20

// ours is the part of a call's header that the host reads.
type ours struct {
	Op     string            `json:"op"`
	Files  map[string]string `json:"files,omitempty"` // name → path on this machine
	LimitS float64           `json:"limit_s"`
}

// defaultLimit is for calls that name none.
const defaultLimit = time.Minute

func (o ours) limit() time.Duration {
	if o.LimitS <= 0 {
		return defaultLimit
	}
	return time.Duration(o.LimitS * float64(time.Second))
}

// cut divides a frame into its header and the rest.
func cut(frame []byte) (header, rest []byte, err error) {
	if len(frame) < prefix {
		return nil, nil, errors.New("the frame is shorter than the length of its header")
	}
	n := binary.LittleEndian.Uint32(frame)
	if n > mostHeader || int(n) > len(frame)-prefix {
		return nil, nil, fmt.Errorf("the frame's header is said to have %d bytes, and the frame has %d", n, len(frame))
	}
	return frame[prefix : prefix+n], frame[prefix+n:], nil
}

// joined is a frame of a header and the rest.
func joined(header, rest []byte) []byte {
	out := make([]byte, prefix, prefix+len(header)+len(rest))
	binary.LittleEndian.PutUint32(out, uint32(len(header)))
	return append(append(out, header...), rest...)
}

// readdressed is a call's frame with the addresses under which the page finds
// the files, in place of their paths.
func readdressed(frame []byte, serve func(name, path string) string) ([]byte, ours, error) {
	header, rest, err := cut(frame)
	if err != nil {
		return nil, ours{}, err
	}
	var o ours
	if err := json.Unmarshal(header, &o); err != nil {
		return nil, ours{}, fmt.Errorf("the frame's header is not JSON: %w", err)
	}
	if len(o.Files) == 0 {
		return frame, o, nil
	}
	var whole map[string]any
	if err := json.Unmarshal(header, &whole); err != nil {
		return nil, ours{}, fmt.Errorf("the frame's header is not an object: %w", err)
	}
	addresses := map[string]string{}
	for name, path := range o.Files {
		addresses[name] = serve(name, path)
	}
	whole["files"] = addresses
	// Whatever follows the header is aligned by the sender: keep its place.
	if header, err = json.Marshal(whole); err != nil {
		return nil, ours{}, err
	}
	for (prefix+len(header))%alignment != 0 {
		header = append(header, ' ')
	}
	return joined(header, rest), o, nil
}

// alignment is that of tensors in a frame: the header is padded to it.
const alignment = 8
