package runner

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/internal/engine"
)

// tellLock says of a lock who has it and what to do: the engine's own words are long, and with some backends, and older engines, name this
// pod. Of Cairn's lock the store says it.
func (a *attempt) tellLock(told []engine.Diagnostic) {
	denied := a.proxy.lockDenied()
	for i := range told {
		if !a.backend().Own() {
			if denied != "" && told[i].Summary == engine.LockFailed {
				told[i].Detail = denied
			}
		} else if held, ok := engine.LockedBy(a.backendType, told[i]); ok {
			told[i].Detail = lockedBy(held, a.backendType, a.order.Stack, a.engine.Program())
		}
	}
}

// lockedBy says who has a lock and how it ends. That the Run is tried again is told beside it, as of each failure of that class.
func lockedBy(held engine.HeldLock, backend, stack, program string) string {
	unlock := ""
	if held.ID != "" {
		unlock = fmt.Sprintf("When nobody is at work there any more: cairn shell %s, and there %s force-unlock %s. ", stack, program, held.ID)
	}
	switch {
	case backend == "pg":
		first := ""
		if program == "terraform" && strings.Contains(held.Said, "workspace creation") {
			first = "Terraform locks the whole database while it makes a first state there, so that it may be for another state. "
		}
		return "somebody else has it, and PostgreSQL does not tell who. " + first + "Its connections with locks: select pid, usename, client_addr, backend_start from " +
			"pg_locks join pg_stat_activity using (pid) where locktype = 'advisory'. The lock ends with its connection. The backend says: " + held.Said
	case held.Who == "":
		return fmt.Sprintf("somebody else has it, and backend %s does not tell who. %sThe backend says: %s", backend, unlock, held.Said)
	}
	return fmt.Sprintf("%s has it since %s (%s, ID %s). %sThe backend says: %s", held.Who, held.Since, held.Operation, held.ID, unlock, held.Said)
}
