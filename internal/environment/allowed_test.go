package environment

import (
	"slices"
	"testing"
)

// A model's own code finds nothing in its environment that it does not need.
func TestChildrenGetWhatTheyNeed(t *testing.T) {
	t.Parallel()
	outer := []string{
		"PATH=/bin", "PWD=/home/u", "HOME=/home/u", "LC_ALL=C", "https_proxy=http://p", "LD_LIBRARY_PATH=/l",
		"CUDA_VISIBLE_DEVICES=0", "NVIDIA_VISIBLE_DEVICES=all", "HIP_VISIBLE_DEVICES=0", "HSA_OVERRIDE_GFX_VERSION=11.0.0", "ROCR_VISIBLE_DEVICES=0",
		"PYTORCH_CUDA_ALLOC_CONF=x", "TORCH_HOME=/t", "TORCHINDUCTOR_CACHE_DIR=/t", "ONEAPI_DEVICE_SELECTOR=x", "ZE_AFFINITY_MASK=0",
		"OMP_NUM_THREADS=2", "MKL_NUM_THREADS=2", "ONEDNN_MAX_CPU_ISA=AVX2", "OV_CPU=x", "ASSAY_HOME=/a", "HF_HOME=/h", "MY_MODEL_DATA=/d",
	}
	secret := []string{
		"AWS_SECRET_ACCESS_KEY=s", "AWS_ACCESS_KEY_ID=s", "GITHUB_TOKEN=s", "OPENAI_API_KEY=s", "NVIDIA_API_KEY=s", "HF_TOKEN=s", "SSH_AUTH_SOCK=/s",
		"DATABASE_URL=postgres://u:p@h", "GOOGLE_APPLICATION_CREDENTIALS=/s", "KUBECONFIG=/k", "ANYTHING=else",
		"HF_PASS=s", "NVIDIA_NGC_PAT=s", "INTEL_DB_PWD=s", "TORCH_PASSPHRASE=s",
	}
	m := (&Maker{environ: slices.Concat(outer, secret)}).Passing("MY_MODEL_DATA")
	if got := m.inherited(); !slices.Equal(got, outer) {
		t.Errorf("children get\n%q, want\n%q", got, outer)
	}
	m.Passing("AWS_SECRET_ACCESS_KEY")
	if !slices.Contains(m.inherited(), "AWS_SECRET_ACCESS_KEY=s") {
		t.Error("what the user names does not pass")
	}
}
