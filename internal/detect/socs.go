package detect

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"assay/runtimes/python"
)

// soc is a Qualcomm system on chip that QNN drives.
type soc struct {
	ID    string   `json:"id"` // the target's device
	Title string   `json:"title"`
	Names []string `json:"names"` // in soc0, in the device tree, in Windows' processor name; lower case
	Model int      `json:"model"` // QNN's soc_model
	HTP   int      `json:"htp"`   // generation of the Hexagon tensor processor
	FP16  bool     `json:"fp16"`  // it computes in fp16
	// Emulated: the emulator was seen to run models for it.
	Emulated bool `json:"emulated"`
}

// socTable is what is public of QNN's own table. The runner needs it too, so
// it lies with the runner's data.
type socTable struct {
	Default string `json:"default"`
	SoCs    []soc  `json:"socs"`
}

const socFile = "assay_runner/data/qnn_socs.json"

var socs = sync.OnceValue(func() socTable {
	var table socTable
	b, err := fs.ReadFile(python.Sources(), socFile)
	if err == nil {
		err = json.Unmarshal(b, &table)
	}
	if err != nil {
		panic(fmt.Sprintf("the embedded %s cannot be read: %v", socFile, err)) // only a wrong build can do this
	}
	return table
})

func findSoC(text string) (soc, bool) {
	text = strings.ToLower(text)
	for _, row := range socs().SoCs {
		for _, name := range row.Names {
			if strings.Contains(text, name) {
				return row, true
			}
		}
	}
	return soc{}, false
}

func (row soc) device() Device {
	return Device{ID: row.ID, Name: fmt.Sprintf("%s (%s) Hexagon NPU", row.Title, strings.ToUpper(row.ID)),
		Features: []string{fmt.Sprintf("htp v%d", row.HTP), fmt.Sprintf("soc_model %d", row.Model)}}
}
