package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestContainerfile: no container engine is needed to see that every file which
// is copied is there or was made, and that the program that is started was
// copied. That the image builds is not tested here.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	text := string(read(t, "..", "Containerfile"))
	for _, problem := range containerProblems(text, "..") {
		t.Error(problem)
	}
	for _, damage := range [][2]string{
		{"/out/assay ./cmd/assay", "/out/other ./cmd/assay"}, {"COPY LICENSE", "COPY LICENCE"}, {"--from=build", "--from=made"},
		{`ENTRYPOINT ["/usr/local/bin/assay"]`, `ENTRYPOINT ["/bin/assay"]`}, {"./cmd/assay &&", "./cmd/assai &&"},
		{"./cmd/assay-worker\n", "./cmd/assay-walker\n"}, {"/out/assay-worker /usr", "/out/assay-walker /usr"},
	} {
		if changed := strings.Replace(text, damage[0], damage[1], 1); changed == text || len(containerProblems(changed, "..")) == 0 {
			t.Errorf("%q in place of %q is not noticed", damage[1], damage[0])
		}
	}
}

// containerProblems is what is wrong with a Containerfile, as far as its words tell.
func containerProblems(text, root string) (problems []string) {
	stages, made, copied := map[string]bool{}, map[string]bool{}, []string{}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "FROM":
			if len(words) == 4 && words[2] == "AS" {
				stages[words[3]] = true
			}
		case "RUN":
			problems = append(problems, builtBy(words, root, made)...)
		case "COPY":
			sources, to := words[1:len(words)-1], words[len(words)-1]
			if stage, ok := strings.CutPrefix(words[1], "--from="); ok {
				for _, source := range sources[1:] {
					if !stages[stage] || !made[source] {
						problems = append(problems, "nothing makes what is copied: "+line)
					}
					copied = append(copied, to, path.Join(to, path.Base(source)))
				}
				continue
			}
			for _, source := range sources {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					problems = append(problems, err.Error())
				}
			}
		case "ENTRYPOINT":
			if program := strings.Trim(words[1], `[]",`); !slices.Contains(copied, program) {
				problems = append(problems, program+" is started and was not copied")
			}
		}
	}
	return problems
}

// builtBy notes what a line builds, and that the package is there.
func builtBy(words []string, root string, made map[string]bool) (problems []string) {
	for i, word := range words {
		if word != "-o" || i+2 >= len(words) {
			continue
		}
		made[words[i+1]] = true
		if _, err := os.Stat(filepath.Join(root, words[i+2])); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}
