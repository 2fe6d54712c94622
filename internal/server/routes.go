package server

import "time"

// How long a request may take to arrive and to be answered.
const (
	quick = 30 * time.Second
	long  = 15 * time.Minute // files
)
