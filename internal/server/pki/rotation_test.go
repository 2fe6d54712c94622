package pki

import (
	"testing"
	"time"
)

func TestRotate(t *testing.T) {
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	made := func(ago time.Duration) *Span { return &Span{From: now.Add(-ago - skew), Until: now.Add(caLife - ago)} }
	tests := map[string]struct {
		signing, next *Span
		want          Rotation
	}{
		"at the beginning both are made":           {want: RotateBoth},
		"just made, nothing is due":                {signing: made(0), next: made(0)},
		"a day before its time the next one waits": {signing: made(119 * day), next: made(119 * day)},
		"when one has signed long enough the next one does": {signing: made(121 * day), next: made(121 * day),
			want: RotatePromote},
		"one that waited half its life signs the other half": {signing: made(239 * day), next: made(119 * day)},
		"without a next one there is one made":               {signing: made(day), want: RotateNext},
		"a next one made late waits its time all the same":   {signing: made(200 * day), next: made(10 * day)},
		"one that is about to expire stops signing": {signing: made(360*day - time.Hour),
			next: made(10 * day), want: RotatePromote},
		"after a year without Cairn both are made anew": {signing: made(400 * day), next: made(400 * day),
			want: RotateBoth},
		"a next one that is expired is made anew": {signing: made(day), next: made(400 * day),
			want: RotateNext},
		"one from a clock that was ahead does not sign yet": {signing: made(-2 * day), next: made(day),
			want: RotatePromote},
		"when the signing one is lost the next one takes over": {next: made(day), want: RotatePromote},
		"two from a clock that was ahead are made anew together": {signing: made(-2 * day), next: made(-2 * day),
			want: RotateBoth},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Rotate(now, test.signing, test.next); got != test.want {
				t.Fatalf("got %q, want %q", got, test.want)
			}
		})
	}
}
