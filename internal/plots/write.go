package plots

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/wholefile"
)

// Write writes plots into a folder, which it makes where there are any, and
// returns their names.
func Write(dir string, list []Plot) ([]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the plots: %w", err)
	}
	var names []string
	for _, p := range list {
		if err := wholefile.Write(filepath.Join(dir, p.Name), p.SVG, wholefile.Options{Mode: 0o644}); err != nil {
			return names, fmt.Errorf("write %s: %w", p.Name, err)
		}
		names = append(names, p.Name)
	}
	return names, nil
}
