package scale

import "math"

// Exponent returns the exponent of the power law that fits best, by linear regression of the logarithms: 1 is
// proportional growth.
func Exponent(n, y []float64) float64 {
	lx, ly := make([]float64, len(n)), make([]float64, len(y))
	for i := range n {
		lx[i], ly[i] = math.Log(n[i]), math.Log(y[i])
	}
	_, slope := Line(lx, ly)
	return slope
}

// Line returns the intercept and the slope of the line that fits points best.
func Line(x, y []float64) (begin, slope float64) {
	var mx, my float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	var up, across float64
	for i := range x {
		up += (x[i] - mx) * (y[i] - my)
		across += (x[i] - mx) * (x[i] - mx)
	}
	if across == 0 {
		return my, 0
	}
	slope = up / across
	return my - slope*mx, slope
}

// Grows reports whether samples at equal intervals grow: the fitted line rises by more than slack over the whole time,
// and the mean of the last third exceeds that of the first one by more than slack. A single peak does neither.
func Grows(samples []float64, slack float64) bool {
	if len(samples) < 3 {
		return false
	}
	x := make([]float64, len(samples))
	for i := range x {
		x[i] = float64(i)
	}
	_, slope := Line(x, samples)
	third := len(samples) / 3
	return slope*float64(len(samples)-1) > slack && mean(samples[len(samples)-third:])-mean(samples[:third]) > slack
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
