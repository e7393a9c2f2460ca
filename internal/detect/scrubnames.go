package detect

import (
	"fmt"
	"regexp"
	"strings"
)

// Names that have no form of their own, such as those of control groups and of
// kernels built at home, are known by where they stand. What many machines
// have is kept, and everything else was chosen by whoever runs the machine.

const cgroupFile = "proc/self/cgroup"

// commonGroups are parts of control groups' paths that name nobody. The
// controllers are among them: in version 1 they are folders too.
var commonGroups = regexp.MustCompile(`^(?:|\.\.|cpu|cpuacct|cpu,cpuacct|memory|docker|podman|lxc|kubepods|besteffort|burstable|` +
	`init\.scope|(?:system|user|machine|kubepods)\.slice)$`)

// learnGroups gives a stand-in to each part of the paths of this process's
// control groups that is not common.
func (s *scrubber) learnGroups(cgroups string) {
	s.groups = map[string]string{}
	for line := range strings.Lines(cgroups) {
		_, group := cutGroup(line)
		for part := range strings.SplitSeq(group, "/") {
			if _, known := s.groups[part]; !known && !commonGroups.MatchString(part) {
				s.groups[part] = fmt.Sprintf("group%d", len(s.groups)+1)
			}
		}
	}
}

// cutGroup parts a line of /proc/self/cgroup into what stands before the
// group's path, and the path.
func cutGroup(line string) (head, group string) {
	fields := strings.SplitAfterN(strings.TrimSpace(line), ":", 3)
	if len(fields) < 3 {
		return line, ""
	}
	return fields[0] + fields[1], fields[2]
}

// group puts the stand-ins into a path.
func (s *scrubber) group(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if known, ok := s.groups[part]; ok {
			parts[i] = known
		}
	}
	return strings.Join(parts, "/")
}

// path scrubs the name of a file.
func (s *scrubber) path(name string) string {
	if strings.HasPrefix(name, "sys/fs/cgroup/") {
		name = s.group(name)
	}
	return s.text(name)
}

// file scrubs what a file holds.
func (s *scrubber) file(name, content string) string {
	content = keepLines(name, content)
	if name == cgroupFile {
		lines := strings.Split(content, "\n")
		for i, line := range lines {
			head, group := cutGroup(line)
			lines[i] = head + s.group(group)
		}
		content = strings.Join(lines, "\n")
	}
	return s.text(content)
}

var (
	releaseWord = regexp.MustCompile(`[A-Za-z0-9]+`)
	// commonWords are what distributions put into the versions of kernels.
	commonWords = regexp.MustCompile(`(?i)^(?:\d+|rc\d+|rt\d*|generic|lowlatency|realtime|default|lts|cloud|standard|laptop|` +
		`x86|amd64|arm64|aarch64|64k|el\d+|fc\d+|amzn\d+|deb\d+|bpo|arch\d+|zen\d*|uek|pve|microsoft|wsl2|linuxkit|` +
		`aws|azure|gcp|gke|oracle|ibm|kvm|nvidia|tegra|raspi|rpi|v8|qcom|x1e|asahi)$`)
)

// commonRelease cuts the version of a kernel where a name begins that is not
// a distribution's.
func commonRelease(release string) string {
	end := 0
	for _, at := range releaseWord.FindAllStringIndex(release, -1) {
		if !commonWords.MatchString(release[at[0]:at[1]]) {
			break
		}
		end = at[1]
	}
	return release[:end]
}

// builder is who built a driver's module, and where: with DKMS, this machine.
var builder = regexp.MustCompile(`[ \t]*\([^()@\s]*@[^()]*\)`)

func dropBuilder(version string) string { return builder.ReplaceAllString(version, "") }
