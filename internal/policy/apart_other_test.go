//go:build !linux

package policy

func curious() {}
