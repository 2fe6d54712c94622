// Package state keeps the states of Stacks: their versions, their lock, their backups, the journals of applies, and
// what users request. Package fence alone changes a State; the rules are in package decision, the bytes in package
// storage, and what is known of an engine's file in package document.
package state

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"
)

// MaxSize of a state in bytes.
const MaxSize = document.MaxSize

// Options of a Store.
type Options = fence.Options

// Outcome is what there is after a state was handed in.
type Outcome = fence.Outcome

// Store keeps states: what its four parts do for runners, for users and before each plan, and the end of a State.
type Store struct {
	*Attempts
	*Backups
	*Journals
	*Users
	fence  *fence.Fence
	bucket storage.Bucket
}

// New returns a Store that writes through c and reads through live, which must not be a cache.
func New(c client.Client, live client.Reader, b storage.Bucket, o Options) *Store {
	f := fence.New(c, live, b, o)
	backups := &Backups{f, b}
	f.Written = backups.describe
	journals := &Journals{f, b, backups}
	return &Store{&Attempts{f, b, backups, journals}, backups, journals, &Users{f, b, backups, journals}, f, b}
}
