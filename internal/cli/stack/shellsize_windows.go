package stack

import "context"

// sizeChanges returns nil: Windows has no signal when the size of the terminal changes. The shell keeps the size it
// started with.
func sizeChanges(context.Context) <-chan struct{} { return nil }
