package server

import (
	"cairn.dev/cairn/internal/state"
)

// bodyMemory is how much of what runners send and read is in memory at a time; further ones wait. What is small does not count, but
// for its namespace.
const bodyMemory = 1 << 30

// bodyPart is how much of it one namespace has: the largest state, and what is small beside that. A pod runs code of anybody, which
// may send many bodies at once and none of them to its end.
const bodyPart = state.MaxSize + 64<<20

// jsonWeight is how much larger than its text JSON may be once it is read: a list of empty objects. Of what a runner sends, as
// far as it is an honest one, that makes some megabytes.
const jsonWeight = 64
