package environment

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileChange is a file of a package that two releases do not have in common.
type FileChange struct {
	Path string `json:"path"` // as the package records it, with slashes
	How  string `json:"how"`  // changed, added or removed
}

// Moved is a package that has another version in another environment; "" is absent.
type Moved struct {
	Package string `json:"package"`
	Old     string `json:"old"`
	New     string `json:"new"`
}

// Differing compares the files of one package in two managed environments, by the
// hashes that its wheels record. What tells nothing (the records themselves) is left out.
func Differing(old, now Environment, name string) ([]FileChange, error) {
	was, err := hashes(old, name)
	if err != nil {
		return nil, err
	}
	is, err := hashes(now, name)
	if err != nil {
		return nil, err
	}
	out := []FileChange{}
	for path, h := range is {
		switch before, there := was[path]; {
		case !there:
			out = append(out, FileChange{path, "added"})
		case before != h:
			out = append(out, FileChange{path, "changed"})
		}
	}
	for path := range was {
		if _, there := is[path]; !there {
			out = append(out, FileChange{path, "removed"})
		}
	}
	slices.SortFunc(out, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// hashes are those of the files of a package, by path.
func hashes(env Environment, name string) (map[string]string, error) {
	site, err := sitePackages(filepath.Dir(filepath.Dir(env.Python)))
	if err != nil {
		return nil, err
	}
	records, err := filepath.Glob(filepath.Join(site, "*.dist-info", "RECORD"))
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		info := filepath.Base(filepath.Dir(record))
		if distribution, _, _ := strings.Cut(info, "-"); Normalize(distribution) != Normalize(name) {
			continue
		}
		return readHashes(record, info+"/")
	}
	return nil, fmt.Errorf("%s does not hold %s", site, name)
}

func readHashes(record, own string) (map[string]string, error) {
	f, err := os.Open(record)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s is not a record of installed files: %w", record, err)
	}
	out := map[string]string{}
	for _, row := range rows {
		// Without a hash are bytecode and the record itself; the folder of
		// metadata has the version in its name.
		if len(row) == 3 && row[1] != "" && !strings.HasPrefix(row[0], own) {
			out[row[0]] = row[1]
		}
	}
	return out, nil
}

// Others are the packages beside one whose versions differ between the environments of
// two Makers: what had to move with it. A lock for all machines names packages that this
// one does not need, so what only such a lock has, under a condition, is left out.
func Others(old, now *Maker, name string) []Moved {
	was, is := byName(old.lock), byName(now.lock)
	out := []Moved{}
	for _, p := range slices.Sorted(maps.Keys(union(was, is))) {
		a, b := was[p], is[p]
		conditional := a.Version == "" && b.Marker != "" || b.Version == "" && a.Marker != ""
		if p != Normalize(name) && a.Version != b.Version && !conditional {
			out = append(out, Moved{p, a.Version, b.Version})
		}
	}
	return out
}

func union(a, b map[string]Requirement) map[string]Requirement {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func byName(lock []byte) map[string]Requirement {
	out := map[string]Requirement{}
	for _, r := range ParseLock(lock) {
		out[r.Name] = r
	}
	return out
}
