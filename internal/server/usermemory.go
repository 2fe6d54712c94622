package server

import (
	"cairn.dev/cairn/internal/state"
)

const (
	// peopleMemory is how much of people's large states is in memory at a time. It is apart from bodyMemory: whoever pulls or
	// pushes slowly must not keep a runner from saving its state.
	peopleMemory = 4 * state.MaxSize
	// peoplePart is how much of it they have for one namespace.
	peoplePart = 3 * state.MaxSize
)
