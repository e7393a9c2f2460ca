package hub

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/hub/hubtest"
)

func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInspect(t *testing.T) {
	t.Parallel()
	weights := hubtest.Safetensors(10, "a", "b")
	sharded, cut, swapped, lacking := hubtest.Sharded(10), hubtest.Sharded(10), hubtest.Sharded(10), hubtest.Sharded(10)
	const one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	cut[two] = cut[two][:len(cut[two])-1]
	swapped[one], swapped[two] = swapped[two], swapped[one]
	delete(lacking, one)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  Want
		kind  Kind // "" is fine
		says  string
	}{
		{"one file", map[string][]byte{"model.safetensors": weights, "pytorch_model.bin": nil}, Want{}, "", ""},
		{"shards", sharded, Want{}, "", ""},
		{"a pickle, allowed", map[string][]byte{"pytorch_model.bin": []byte("x")}, Want{Pickle: true}, "", ""},
		{"nothing", nil, Want{}, NoWeights, "holds no weights"},
		{"a pickle", map[string][]byte{"pytorch_model.bin": nil}, Want{}, Pickled, "can run code"},
		{"a pickle of another name", map[string][]byte{"best.ckpt": nil}, Want{Pickle: true}, Pickled, "convert them to model.safetensors"},
		{"another name", map[string][]byte{"foo.safetensors": weights}, Want{}, NoWeights, "foo.safetensors"},
		{"data cut", map[string][]byte{"model.safetensors": weights[:len(weights)-1]}, Want{}, Damaged, "is cut off"},
		{"header cut", map[string][]byte{"model.safetensors": weights[:20]}, Want{}, Damaged, "is cut off"},
		{"empty", map[string][]byte{"model.safetensors": nil}, Want{}, Damaged, "0 bytes"},
		{"text", map[string][]byte{"model.safetensors": []byte("version https://git-lfs.github.com/spec/v1")}, Want{}, Damaged, "not a safetensors file"},
		{"a shard cut", cut, Want{}, Damaged, two + " is cut off"},
		{"shards swapped", swapped, Want{}, Damaged, "which does not hold it"},
		{"a shard absent", lacking, Want{}, Damaged, "lacks \"" + one + "\""},
		{"an index that is none", map[string][]byte{"model.safetensors.index.json": []byte("[]")}, Want{}, Damaged, "not an index"},
		{"an index that leads out", map[string][]byte{"model.safetensors.index.json": []byte(`{"weight_map":{"a":"../x"}}`)}, Want{}, Damaged, "not a file beside it"},
	} {
		w, err := Inspect(folder(t, c.files), c.want)
		if c.kind != "" {
			refuses(t, err, c.kind, c.says)
		} else if err != nil || w.Bytes == 0 {
			t.Errorf("%s: %+v, %v", c.name, w, err)
		}
	}
	_, err := Inspect(filepath.Join(t.TempDir(), "absent"), Want{})
	refuses(t, err, NoWeights, "cannot read the folder")
}
