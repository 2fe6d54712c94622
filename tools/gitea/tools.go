//go:build tools

// Package gitea pins the Git provider that the tests of pull requests run.
package gitea

import _ "code.gitea.io/gitea"
