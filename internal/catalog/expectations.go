package catalog

import "sync"

// Expectation is what a tiny model was seen to do on the CPU when the catalogue
// was made: what a generated test may ask of it on every other device.
type Expectation struct {
	Type    string           `json:"type"`
	Outputs []ExpectedOutput `json:"outputs"`
	// Wrong is an input that the model refuses, and how it is made wrong.
	Wrong *WrongInput `json:"wrong"`
	// Matters lists the inputs that change the outputs when they change.
	Matters []string `json:"matters"`
	// OnCPU lists the outputs that the model's own code brings to the CPU.
	OnCPU []string `json:"on_cpu,omitempty"`
	// Causal says that no output looks at what comes later.
	Causal bool `json:"causal,omitempty"`
	// Why something cannot be asked of the model, a sentence each; "" where it can.
	NoBatch string `json:"no_batch,omitempty"`
	NoTrain string `json:"no_train,omitempty"`
	NoSave  string `json:"no_save,omitempty"`
	NoFree  string `json:"no_free,omitempty"`
	// SaveNeeds is a package without which its library cannot load it.
	SaveNeeds string `json:"save_needs,omitempty"`
	// EvalTrains says that a step of the optimiser works in eval mode only: in
	// training mode the model wants labels or draws at random.
	EvalTrains bool `json:"eval_trains,omitempty"`
	// Plain says that the questions of its pipeline alone do not suit it.
	Plain bool `json:"plain,omitempty"`
}

// ExpectedOutput is an output of one sample. A length in its shape is nil where
// it depends on what the sample holds. Axes are those that grow with the batch:
// two where samples are compared with each other.
type ExpectedOutput struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []*int `json:"shape"`
	Axes  []int  `json:"axes"`
}

// WrongInput names an input that is left out ("missing") or cut ("short").
type WrongInput struct {
	Input string `json:"input"`
	How   string `json:"how"`
}

var expectations = sync.OnceValues(func() (map[string]Expectation, error) {
	var file struct{ Expectations []Expectation }
	if err := readJSON("expectations", &file); err != nil {
		return nil, err
	}
	of := make(map[string]Expectation, len(file.Expectations))
	for _, e := range file.Expectations {
		of[e.Type] = e
	}
	return of, nil
})

// Expectation returns what was seen of a type; false where nothing was.
func (c *Catalog) Expectation(modelType string) (Expectation, bool) {
	of, err := expectations()
	e, ok := of[modelType]
	return e, ok && err == nil
}
