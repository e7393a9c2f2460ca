package detect

import "strings"

// recorder writes down what the probes read, so that a capture holds exactly
// that. A nil recorder records nothing.
type recorder struct {
	files    map[string]string
	nodes    map[string]bool // exists, content not read
	dirs     map[string]bool
	links    map[string]string
	envs     map[string]string
	paths    map[string]string
	commands map[string]string
}

func newRecorder() *recorder {
	return &recorder{
		files: map[string]string{}, nodes: map[string]bool{}, dirs: map[string]bool{}, links: map[string]string{},
		envs: map[string]string{}, paths: map[string]string{}, commands: map[string]string{},
	}
}

func (r *recorder) file(name, content string) {
	if r != nil {
		r.files[name] = content
	}
}

func (r *recorder) node(name string) {
	if r != nil {
		r.nodes[name] = true
	}
}

func (r *recorder) dir(name string) {
	if r != nil {
		r.dirs[name] = true
	}
}

func (r *recorder) link(name, base string) {
	if r != nil {
		r.links[name] = base
	}
}

func (r *recorder) env(name, value string) {
	if r != nil {
		r.envs[name] = value
	}
}

func (r *recorder) path(name, value string) {
	if r != nil {
		r.paths[name] = value
	}
}

func (r *recorder) command(key, out string) {
	if r != nil {
		r.commands[key] = out
	}
}

func commandKey(name string, args []string) string {
	return strings.Join(append([]string{name}, args...), " ")
}
