package local

import "syscall"

// childAttributes returns nil: Windows sends Ctrl-C to all processes of a console, so the engine ends by itself.
func childAttributes() *syscall.SysProcAttr { return nil }
