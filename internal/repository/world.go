// Package repository is the Repository's room: when its mirror is fetched, what its status says, and what a Stack's code
// is at a ref of it.
package repository

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// World is all that Decide looks at.
type World struct {
	Now        time.Time
	Repository *v1alpha1.Repository
	// Problem says why nothing can be fetched.
	Problem *Problem
	// Ask is what a fetch that began now would be for.
	Ask Ask
	// Fetching says that one is under way.
	Fetching bool
	// Last is the last fetch of this process; nil before the first.
	Last *Fetch
	// Refs are the refs that are wanted, with what they name in the mirror now.
	Refs []v1alpha1.RefStatus
	// Subject of the commit that the default ref names.
	Subject string
	// Unknown is a wanted commit that is not in the mirror.
	Unknown bool
	// Deaf says why webhooks are refused; empty when nothing is known against them.
	Deaf string
}

// Problem says why nothing can be fetched, until a person acts.
type Problem struct{ Reason, Message string }

// Ask is what a fetch is for. Another one than the last fetch's makes a new fetch due.
type Ask struct {
	// Generation of the Repository's spec.
	Generation int64
	// Credentials is the version of the Secret.
	Credentials string
	// Request is what the annotation says.
	Request string
	// Commits that Stacks name and that no branch may have, joined.
	Commits string
}

// Fetch is how a fetch ended.
type Fetch struct {
	Ask
	At   time.Time
	Took time.Duration
	// Moved says that it brought something.
	Moved bool
	// Reason and Message say why it failed; empty when it did not.
	Reason, Message string
	// Failures is how many failed in a row, this one included.
	Failures int
}
