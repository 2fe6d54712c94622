//go:build !linux

package runner

// descendants are not known here: runners run on Linux.
func descendants() []descendant { return nil }

// members are not known here either.
func members(int) []descendant { return nil }
