package placement

import "math"

// Prices are what a slot's second is worth on each of several kinds of workers, so that
// all slots together are worth 1 a second. They solve, nearly, the dual of the linear
// program that shares work out without regard to whole tasks: work of row i costs
// cost[i][k] slot seconds on kind k (infinitely many where it cannot be done), and kind k
// has capacity[k] slots. A task that goes where it is cheapest leaves what is scarce to
// those who can go nowhere else.
//
// The search begins with y, which may be nil. For any prices, the sum over all rows of
// work × the least that a kind asks (Worth) is a time that no schedule can beat.
func Prices(work []float64, cost [][]float64, capacity, y []float64, rounds int) []float64 {
	if len(y) != len(capacity) {
		y = make([]float64, len(capacity))
		for k := range y {
			y[k] = 1
		}
	}
	normalise(y, capacity)
	best, most := append([]float64(nil), y...), Worth(work, cost, y)
	load := make([]float64, len(y))
	for round := range rounds {
		overload(work, cost, capacity, y, load)
		value := Worth(work, cost, y)
		if value <= 0 {
			return best
		}
		step := 1 / math.Sqrt(float64(round)+4)
		for k := range y {
			over := load[k]/capacity[k]/value - 1
			y[k] = max(y[k]*math.Exp(step*min(over, 2)), 1e-9)
		}
		normalise(y, capacity)
		if now := Worth(work, cost, y); now > most {
			most = now
			copy(best, y)
		}
	}
	return best
}

// Worth is the time that the prices say the work takes at least.
func Worth(work []float64, cost [][]float64, y []float64) float64 {
	total := 0.0
	for row, amount := range work {
		total += amount * cheapest(cost[row], y)
	}
	return total
}

func cheapest(cost, y []float64) float64 {
	least := math.Inf(1)
	for k, c := range cost {
		least = min(least, c*y[k])
	}
	return least
}

func normalise(y, capacity []float64) {
	sum := 0.0
	for k := range y {
		sum += y[k] * capacity[k]
	}
	for k := range y {
		y[k] /= sum
	}
}

// overload is the slot seconds that each kind would have if all work went where it is cheapest.
// Those that ask about the same share it, which makes the search calmer.
func overload(work []float64, cost [][]float64, capacity, y, load []float64) {
	const same = 1.01
	clear(load)
	for row, amount := range work {
		least := cheapest(cost[row], y) * same
		share := 0.0
		for k, c := range cost[row] {
			if c*y[k] <= least {
				share += capacity[k] / c
			}
		}
		for k, c := range cost[row] {
			if c*y[k] <= least {
				load[k] += amount * capacity[k] / share
			}
		}
	}
}
