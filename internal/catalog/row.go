package catalog

// Row is an entry in the JSON vocabulary of `models`.
type Row struct {
	Type       string   `json:"type"`
	Library    string   `json:"library"`
	Class      string   `json:"class"`
	Task       string   `json:"task"`
	Tasks      []string `json:"tasks"`
	Family     string   `json:"family"`
	Families   []string `json:"families"`
	Pipeline   string   `json:"pipeline"`
	Checkpoint string   `json:"checkpoint"`
	Priority   string   `json:"priority"`
	Inputs     []string `json:"inputs"`
}

// Row returns the entry as `models` writes it. Lists are empty, never null.
func (e Entry) Row() Row {
	return Row{
		Type: e.Type, Library: e.Library, Class: e.Class, Task: e.Task, Tasks: list(e.Tasks()), Family: e.Family, Families: list(e.Families),
		Pipeline: e.Pipeline, Checkpoint: e.Checkpoint, Priority: e.Priority, Inputs: list(e.Inputs),
	}
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
