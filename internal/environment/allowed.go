package environment

import (
	"slices"
	"strings"
)

// A child runs code that is not Assay's: torch's, transformers', with
// --trust-remote-code a stranger's. It gets what it needs to find its files, its
// devices and its way out, and nothing else of what the user's shell holds: no
// key of a cloud, no token of a forge. What else a model needs is named (--env).

// allowedNames are the variables that a child inherits.
var allowedNames = []string{
	// who, where and in which language
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE", "TERM", "NO_COLOR", "LOGLEVEL",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
	// Windows cannot start a program without some of these
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER",
	// libraries, and how memory is allocated
	"LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "GLIBC_TUNABLES", "ADSP_LIBRARY_PATH", "DRI_PRIME", "GPU_DEVICE_ORDINAL",
	// the way out
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"SOURCE_DATE_EPOCH", "DO_NOT_TRACK",
}

// allowedBeginnings are those of whole families: of Assay itself, of Python and
// the libraries that models use, of drivers and of what computes on them.
var allowedBeginnings = []string{
	"ASSAY_", "LC_", "XDG_", "PYTHON", "MALLOC_",
	"HF_", "HUGGINGFACE_HUB_", "TRANSFORMERS_", "DIFFUSERS_", "TOKENIZERS_", "ACCELERATE_", "SAFETENSORS_",
	"CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "HIP_", "HSA_", "ROCR_", "ROCM_", "MIOPEN_", "ROCBLAS_", "AMD_",
	"PYTORCH_", "TORCH", "TRITON_", "ATEN_", "ONEAPI", "ZE_", "SYCL_", "OCL_", "INTEL_",
	"OMP_", "KMP_", "GOMP_", "MKL_", "ONEDNN_", "DNNL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NUMEXPR_", "TBB_", "OV_", "OPENVINO_",
	"ORT_", "QNN_", "QAIRT_", "TPU_", "NEURON_", "VK_", "LIBGL_", "MESA_", "GALLIUM_", "METAL_", "MTL_",
}

// secretWords are what names of secrets are made of, also in families that are
// otherwise harmless: NVIDIA_API_KEY, HF_TOKEN. PWD alone is the folder.
var secretWords = []string{"KEY", "APIKEY", "TOKEN", "PAT", "SECRET", "PASS", "PASSWORD", "PASSWD", "PASSPHRASE", "PWD", "CREDENTIAL", "CREDENTIALS", "AUTH", "COOKIE"}

// Allowed is what of environ a child may see; named are what it needs besides.
func Allowed(environ, named []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(named, name) && !mayPass(strings.ToUpper(name))
	})
}

func mayPass(name string) bool {
	if slices.Contains(allowedNames, name) {
		return true
	}
	family := func(begins string) bool { return strings.HasPrefix(name, begins) }
	secret := func(word string) bool { return slices.Contains(secretWords, word) }
	return slices.ContainsFunc(allowedBeginnings, family) && !slices.ContainsFunc(strings.Split(name, "_"), secret)
}

// Passing makes the Maker's environments hand these variables on to children,
// beside those that every child gets.
func (m *Maker) Passing(names ...string) *Maker {
	m.pass = append(m.pass, names...)
	return m
}

// Unset are the variables to hand on that have no value here.
func (m *Maker) Unset() []string { return Unset(m.environ, m.pass) }

// Unset are the names that environ has no variable of.
func Unset(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
}

// inherited is what children get of the process's own variables.
func (m *Maker) inherited() []string { return Allowed(m.environ, m.pass) }
