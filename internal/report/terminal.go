package report

import (
	"io"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// Terminal wraps a writer so that styles reach it only when it is a terminal
// that shows them: elsewhere, and under NO_COLOR, text comes out plain.
// env is the environment, as os.Environ gives it.
func Terminal(w io.Writer, env []string) io.Writer { return colorprofile.NewWriter(w, env) }

// plain takes styles out of whatever is written to a writer that Terminal did
// not make, so that a file never holds escape sequences.
func plain(w io.Writer) io.Writer {
	if _, ok := w.(*colorprofile.Writer); ok {
		return w
	}
	return &colorprofile.Writer{Forward: w, Profile: colorprofile.NoTTY}
}

// The palette is the sixteen colours that a terminal's owner has chosen.
var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	inks  = map[cell.Verdict]lipgloss.Style{
		cell.Works:   lipgloss.NewStyle().Foreground(lipgloss.Green),
		cell.Partial: lipgloss.NewStyle().Foreground(lipgloss.Yellow),

		cell.ShouldWork:       lipgloss.NewStyle().Foreground(lipgloss.Green).Faint(true),
		cell.ShouldWorkPartly: lipgloss.NewStyle().Foreground(lipgloss.Yellow).Faint(true),

		cell.Fails:       lipgloss.NewStyle().Foreground(lipgloss.Red),
		cell.Unavailable: faint,
		matrix.Unknown:   lipgloss.NewStyle().Foreground(lipgloss.Magenta),
		matrix.NotRun:    faint,
	}
)

func ink(v cell.Verdict, s string) string { return inks[v].Render(s) }

// pad fills s up to a width in terminal cells.
func pad(s string, width int) string {
	for n := lipgloss.Width(s); n < width; n++ {
		s += " "
	}
	return s
}

// coloured reports whether colours reach the writer.
func coloured(w io.Writer, env []string) bool {
	return colorprofile.Detect(w, env) > colorprofile.ASCII
}
