package plan

import (
	"os"
	"path/filepath"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/hub"
)

// IsPath tells a folder or a config.json from a model's name.
func IsPath(s string) bool {
	// A folder that is there is never looked for elsewhere: somebody else may own its name on the Hub.
	if _, err := os.Stat(filepath.Join(s, "config.json")); err == nil && strings.ContainsRune(filepath.ToSlash(s), '/') {
		return true
	}
	return strings.HasPrefix(s, ".") || filepath.IsAbs(s) || strings.HasSuffix(s, ".json") || strings.HasSuffix(s, string(filepath.Separator))
}

// openFolder is a model of the user's: a config.json, with weights beside it or not.
func (p *Planner) openFolder(path string, r Request) (cell.Cell, error) {
	c, err := readFolder(p.Catalog, path, r.Size, p.Allow.Code)
	if err != nil {
		return c, err
	}
	c.Weights = r.Weights
	switch c.Weights {
	case cell.Random:
	case cell.Hub:
		return c, refuse("--weights hub needs a checkpoint's name, not a folder")
	case "":
		folder := filepath.Dir(c.Checkpoint)
		_, err := hub.Inspect(folder, p.Allow)
		switch {
		case hub.IsKind(err, hub.Pickled):
			return c, blame(err)
		case !hub.IsKind(err, hub.NoWeights): // damaged ones too: the result says so
			c.Weights = folder
		}
	default:
		return c, openWeights(&c)
	}
	return c, nil
}

// readFolder is the model that the config.json of a folder, or at a path, describes.
func readFolder(cat *catalog.Catalog, path, size string, code bool) (cell.Cell, error) {
	config := path
	if isFolder(path) {
		config = filepath.Join(path, "config.json")
	}
	abs, err := filepath.Abs(config)
	if err != nil {
		return cell.Cell{}, err
	}
	c, err := readConfig(cat, size, code, abs, config)
	c.Checkpoint = abs
	return c, err
}

// readConfig is a model as a config.json has it. Its own code is refused here,
// before anything runs.
func readConfig(cat *catalog.Catalog, size string, code bool, path, shown string) (cell.Cell, error) {
	config, err := hub.ReadConfig(path, shown)
	if err != nil {
		return cell.Cell{}, blame(err)
	}
	if size == cell.Tiny {
		return cell.Cell{}, refuse("%s says which size the model has: for a tiny one name its type, %s", shown, config.Type)
	}
	c := cell.Cell{Type: config.Type, Size: cell.Full}
	e, known := cat.Get(config.Type)
	if !known {
		if err := config.RefuseCode(shown, code); err != nil {
			return c, blame(err)
		}
	}
	c.Family = e.Family
	return c, nil
}

// openGraph is a model of the user's that is a graph already.
func openGraph(path string, r Request) (cell.Cell, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return cell.Cell{}, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil || info.IsDir():
		return cell.Cell{}, refuse("there is no file %s", path)
	case info.Size() == 0:
		return cell.Cell{}, refuse("%s is empty: export or fetch it again", path)
	case r.Size == cell.Tiny:
		return cell.Cell{}, refuse("%s has one size: its own", path)
	case r.Weights != "":
		return cell.Cell{}, refuse("%s contains its own weights: --weights cannot be used with it", path)
	}
	return cell.Cell{Type: cell.ONNX, Checkpoint: abs, Size: cell.Full, Weights: filepath.Dir(abs)}, nil
}

// openWeights makes the weights' folder absolute, and says when there is none.
func openWeights(c *cell.Cell) error {
	path, err := filepath.Abs(c.Weights)
	if err != nil {
		return err
	}
	if !isFolder(path) {
		return refuse("--weights is random, hub or a folder: there is no folder %s", c.Weights)
	}
	c.Weights = path
	return nil
}

func isFolderName(weights string) bool { return weights != cell.Random && weights != cell.Hub }

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
