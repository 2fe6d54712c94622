package scale

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	for name, tt := range map[string]struct {
		y    []float64
		want float64
	}{
		"the same":         {[]float64{7, 7, 7}, 0},
		"in proportion":    {[]float64{5, 50, 500}, 1},
		"as the square":    {[]float64{1, 100, 10_000}, 2},
		"with what is fix": {[]float64{100, 109, 199}, math.Log10(199.0/100) / 2},
	} {
		if got := Exponent([]float64{100, 1000, 10_000}, tt.y); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestGrows(t *testing.T) {
	for name, tt := range map[string]struct {
		samples []float64
		want    bool
	}{
		"flat":           {[]float64{10, 10, 10, 10, 10, 10}, false},
		"up and down":    {[]float64{10, 14, 9, 13, 10, 12, 9, 13}, false},
		"one peak":       {[]float64{10, 10, 10, 60, 10, 10, 10, 10, 10}, false},
		"one late peak":  {[]float64{10, 10, 10, 10, 10, 10, 10, 10, 16}, false},
		"down":           {[]float64{90, 50, 30, 20, 10, 10}, false},
		"one a minute":   {[]float64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, true},
		"in steps":       {[]float64{10, 10, 10, 18, 18, 18, 26, 26, 26}, true},
		"less than that": {[]float64{10, 10, 10, 11, 11, 11, 12, 12, 12}, false},
		"too few":        {[]float64{1, 100}, false},
	} {
		if got := Grows(tt.samples, 5); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
