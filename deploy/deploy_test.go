// Package deploy has examples of running a fleet, and this test reads them as strictly as
// those who will: a field that Kubernetes does not know, a unit that systemd refuses. It is a
// module of its own, so that the program does not depend on Kubernetes' types.
package deploy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are what the examples may hold.
var kinds = map[string]func() any{
	"v1/Service":                         func() any { return &corev1.Service{} },
	"v1/ConfigMap":                       func() any { return &corev1.ConfigMap{} },
	"apps/v1/StatefulSet":                func() any { return &appsv1.StatefulSet{} },
	"apps/v1/DaemonSet":                  func() any { return &appsv1.DaemonSet{} },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return &networkingv1.NetworkPolicy{} },
}

// decode reads the documents of a file, refusing fields that their types do not have.
func decode(name string, text []byte) ([]any, error) {
	var out []any
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var is metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &is); err != nil {
			return nil, err
		}
		empty, known := kinds[is.APIVersion+"/"+is.Kind]
		if !known {
			return nil, errors.New(name + ": unknown kind " + is.APIVersion + "/" + is.Kind)
		}
		object := empty()
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func objects(t *testing.T) []any {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no examples", err)
	}
	var out []any
	for _, f := range files {
		o, err := decode(f, read(t, f))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out = append(out, o...)
	}
	return out
}

// TestKubernetes: every object is what its type allows, and they fit each other.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	gpus, sets := 0, 0
	services, labels := map[string]bool{}, map[string]bool{}
	for _, o := range objects(t) {
		switch x := o.(type) {
		case *corev1.Service:
			services[x.Name] = true
		case *appsv1.StatefulSet:
			sets++
			if *x.Spec.Replicas != 1 || len(x.Spec.VolumeClaimTemplates) != 1 || x.Spec.ServiceName == "" {
				t.Errorf("%s: a coordinator is one pod with a volume", x.Name)
			}
			matches(t, x.Name, x.Spec.Selector, x.Spec.Template)
		case *appsv1.DaemonSet:
			matches(t, x.Name, x.Spec.Selector, x.Spec.Template)
			if len(x.Spec.Template.Spec.NodeSelector) == 0 {
				t.Errorf("%s runs on every node", x.Name)
			}
			labels[x.Spec.Template.Labels["assay"]] = true
			for _, c := range x.Spec.Template.Spec.Containers {
				if q, asks := c.Resources.Limits["nvidia.com/gpu"]; asks && q.Value() == 1 {
					gpus++
				}
				if !strings.Contains(strings.Join(c.Args, " "), "nats://assay-coordinator:4222") {
					t.Errorf("%s does not join the coordinator: %q", x.Name, c.Args)
				}
			}
		case *networkingv1.NetworkPolicy:
			if from := x.Spec.Ingress[0].From[0].PodSelector; from == nil || from.MatchLabels["assay"] != "true" {
				t.Errorf("%s lets others in: %+v", x.Name, from)
			}
		}
	}
	if sets != 1 || gpus != 1 || !services["assay-coordinator"] || !labels["true"] {
		t.Errorf("%d coordinators, %d workers with a GPU, services %v, labels %v", sets, gpus, services, labels)
	}
}

func matches(t *testing.T, name string, s *metav1.LabelSelector, pod corev1.PodTemplateSpec) {
	t.Helper()
	for k, v := range s.MatchLabels {
		if pod.Labels[k] != v {
			t.Errorf("%s selects %s=%s, which its pods do not have", name, k, v)
		}
	}
	mounted := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		mounted[v.Name] = true
	}
	for _, c := range pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if !mounted[m.Name] && m.Name != "data" {
				t.Errorf("%s mounts %s, which is no volume", name, m.Name)
			}
		}
	}
}

// TestStrict: a field that Kubernetes does not know, or a wrong type, is noticed.
func TestStrict(t *testing.T) {
	t.Parallel()
	good := string(read(t, "kubernetes/coordinator.yaml"))
	for name, bad := range map[string]string{
		"misspelt": strings.Replace(good, "serviceName:", "serviceNames:", 1),
		"type":     strings.Replace(good, "replicas: 1", "replicas: one", 1),
		"nested":   strings.Replace(good, "periodSeconds: 5", "periodSecond: 5", 1),
		"kind":     strings.Replace(good, "kind: StatefulSet", "kind: Stateful", 1),
		"twice":    strings.Replace(good, "  clusterIP: None", "  clusterIP: None\n  clusterIP: None", 1),
	} {
		if bad == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := decode(name, []byte(bad)); err == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
}

// TestUnits: systemd itself reads the units, where it is there. The programs need not be.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	program, err := os.Executable() // any program that is there
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob("systemd/*.service")
	if err != nil || len(units) != 2 {
		t.Fatal(units, err)
	}
	verify := func(name, text string) (string, error) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
		return string(out), err
	}
	for _, unit := range units {
		text := string(read(t, unit))
		for _, p := range []string{"/usr/local/bin/assay-worker", "/usr/local/bin/assay"} {
			text = strings.Replace(text, "ExecStart="+p+" ", "ExecStart="+program+" ", 1)
		}
		if out, err := verify(filepath.Base(unit), text); err != nil || strings.Contains(out, filepath.Base(unit)) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		if out, _ := verify("bad-"+filepath.Base(unit), strings.Replace(text, "Restart=always", "Restart=sometimes", 1)); !strings.Contains(out, "sometimes") {
			t.Errorf("a wrong unit is not noticed:\n%s", out)
		}
	}
}

// TestScript: the script is a shell's, and does what it should up to starting the worker.
func TestScript(t *testing.T) {
	t.Parallel()
	const script = "slurm/assay-workers.sbatch"
	if out, err := exec.CommandContext(t.Context(), "bash", "-n", script).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "assay-worker"), []byte("#!/bin/sh\necho \"$@\"\nexit 5\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	for env, want := range map[string]string{
		"ASSAY_COORDINATOR=nats://head:4222": "join nats://head:4222 --name slurm-3 --workers 16 --label partition=gpu",
		"ASSAY_TICKETS=/shared/tickets":      "join /shared/tickets/slurm-3.ticket --workers 16 --label partition=gpu",
		"NOTHING=1":                          "set ASSAY_COORDINATOR or ASSAY_TICKETS",
	} {
		cmd := exec.CommandContext(t.Context(), "bash", script)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin, "SLURM_ARRAY_TASK_ID=3", "SLURM_CPUS_PER_TASK=16", "SLURM_JOB_PARTITION=gpu", env}
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || err == nil {
			t.Errorf("%s: %v: %s", env, err, out)
		}
		if strings.HasPrefix(env, "ASSAY") && cmd.ProcessState.ExitCode() != 5 {
			t.Errorf("%s: the worker's status 5 became %d", env, cmd.ProcessState.ExitCode())
		}
	}
}
