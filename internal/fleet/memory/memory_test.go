package memory

import (
	"testing"

	"assay/internal/fleet"
	"assay/internal/fleet/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(_ *testing.T, l fleet.Limits) fleet.Queue { return New(l) })
}
