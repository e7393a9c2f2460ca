package home

import "assay/internal/environment"

// Journals is the folder of the user's journals, which need not be there. Nothing is
// made or opened.
func (h Home) Journals() (string, error) {
	if h.DB != "" {
		return h.DB + ".journals", nil
	}
	f, err := environment.FindFolders(h.Getenv)
	if err != nil {
		return "", err
	}
	_, journals := inFolder(f)
	return journals, nil
}
