package dash

import "sync"

// bodies are files as they are sent, packed once.
type bodies struct {
	mu   sync.Mutex
	kept map[string]*body
}

// of is a file's, by its name: files do not change while the program runs.
func (b *bodies) of(name string, text []byte) *body {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[string]*body{}
	}
	if b.kept[name] == nil {
		b.kept[name] = newBody(text)
	}
	return b.kept[name]
}
