// Package repository is the controller of Repositories: it decides when a mirror is fetched and what the status is.
// What the code of a Stack is in a mirror is the matter of package code.
package repository

import (
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now        time.Time
	Repository *v1alpha1.Repository
	// Problem prevents fetches; nil when none is known.
	Problem *Problem
	// Ask is what a fetch that began now would be for.
	Ask Ask
	// Fetching: a fetch is under way.
	Fetching bool
	// Last is the last fetch of this process; nil before the first.
	Last *Fetch
	// Refs are the refs that are wanted, with what they name in the mirror now.
	Refs []v1alpha1.RefStatus
	// Subject of the commit that the default ref names.
	Subject string
	// Unknown is a wanted commit that is not in the mirror.
	Unknown bool
	// WebhookProblem is why webhooks are denied; empty when nothing is known against them.
	WebhookProblem string
}

// Problem is a reason why nothing can be fetched, until a user acts.
type Problem struct {
	Reason, Message string
	// Again is when it is checked again, without an event; 0 for one that an event ends.
	Again time.Duration
}

// Ask is what a fetch is for. When it differs from the last fetch's, a new fetch is due.
type Ask struct {
	// Generation of the Repository's spec.
	Generation int64
	// Credentials is the version of the Secret.
	Credentials string
	// Request is the value of the annotation.
	Request string
	// Commits that Stacks name and that no branch may have, joined.
	Commits string
}

// Fetch is how a fetch ended.
type Fetch struct {
	Ask
	At   time.Time
	Took time.Duration
	// Moved: it received new commits or tags.
	Moved bool
	// Reason and Message are those of its failure; empty when it succeeded.
	Reason, Message string
	// Failures is how many failed in a row, this one included.
	Failures int
}
