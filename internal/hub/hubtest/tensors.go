package hubtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Safetensors is a file with these tensors, each of n numbers in fp32 that
// begin with a pattern, so that no two places are alike.
func Safetensors(n int, names ...string) []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	for i, name := range names {
		header[name] = map[string]any{"dtype": "F32", "shape": []int{n}, "data_offsets": []int{i * n * 4, (i + 1) * n * 4}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err) // maps of text and numbers always marshal
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	b = append(b, text...)
	for i := range n * len(names) {
		b = binary.LittleEndian.AppendUint32(b, uint32(i)*2654435761>>9)
	}
	return b
}

// Sharded is a model whose weights lie in two files, and an index that names
// them.
func Sharded(n int) map[string][]byte {
	shard := func(i int) string { return fmt.Sprintf("model-%05d-of-00002.safetensors", i) }
	index, err := json.Marshal(map[string]any{"weight_map": map[string]string{"a": shard(1), "b": shard(1), "c": shard(2)}})
	if err != nil {
		panic(err)
	}
	return map[string][]byte{
		"config.json":                  []byte(`{"model_type": "bert"}`),
		"model.safetensors.index.json": index,
		shard(1):                       Safetensors(n, "a", "b"),
		shard(2):                       Safetensors(n, "c"),
	}
}
