//go:build !linux

package process

import "syscall"

// attributes put a program into a process group of its own. Only Linux can also kill it with the runner.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// HideMemory does nothing: runners run on Linux.
func HideMemory() error { return nil }

// Descendants returns none: runners run on Linux.
func Descendants() []Process { return nil }

// members returns none either.
func members(int) []Process { return nil }

// AdoptOrphans does nothing.
func AdoptOrphans() error { return nil }

// DiskFull returns false.
func DiskFull(string) bool { return false }
