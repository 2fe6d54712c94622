// Package attacks tests Cairn against an attacker: a tenant who writes a repository, a Stack, a plan or a state, a
// client of the server, or a registry. It reads as a list: each test is one attack, and its name is a sentence that
// states what the attacker does. The test passes when the attack has no effect on others. docs/concepts/hardening.md
// and docs/concepts/attacks.md refer to these tests.
//
// memory_test.go measures how much memory each parser of foreign bytes takes at its limit, repositories_test.go reads
// generated repositories in a process with little memory.
package attacks
