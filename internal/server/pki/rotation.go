package pki

import "time"

// The life of an authority. It is in the bundle that pods are given for as long before it signs as it signs, and stays
// there after: a pod is started with the bundle of its day, and trusts the server for as long as it runs.
//
//	made ──► next ──(signFor)──► signs ──(signFor)──► past ──(signFor)──► expired
//	         └──────────────────── in the bundle ────────────────────┘
const (
	signFor = 120 * 24 * time.Hour
	caLife  = 3 * signFor
	// leafLife is how long a serving certificate is valid. Half of that later there is a new one.
	leafLife = 24 * time.Hour
	// skew is how far a pod's clock may be behind: what is signed now is valid since then.
	skew = time.Hour
)

// Span is when a certificate is valid.
type Span struct{ From, Until time.Time }

// usable returns true if what is signed now stays valid to its end.
func (s *Span) usable(now time.Time) bool {
	return s != nil && !now.Before(s.From) && now.Before(s.Until.Add(-leafLife))
}

// Rotation is what to do about the authorities.
type Rotation string

// What to do about the authorities.
const (
	// RotateNothing: all is well.
	RotateNothing Rotation = ""
	// RotateBoth: none can sign; create one that does, and the next one.
	RotateBoth Rotation = "Both"
	// RotateNext: create the next one.
	RotateNext Rotation = "Next"
	// RotatePromote: the next one signs from now on; create the one after it.
	RotatePromote Rotation = "Promote"
)

// Rotate decides on the authority that signs and the next one; nil where there is none. The next one was created when
// the other began to sign, so its age is how long that one has signed.
func Rotate(now time.Time, signing, next *Span) Rotation {
	switch {
	case !signing.usable(now) && !next.usable(now):
		return RotateBoth
	case !signing.usable(now):
		return RotatePromote
	case !next.usable(now):
		return RotateNext
	case now.After(next.From.Add(skew + signFor)):
		return RotatePromote
	}
	return RotateNothing
}
