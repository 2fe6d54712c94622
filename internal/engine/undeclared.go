package engine

import (
	"path"
	"regexp"
)

// valueUndeclared is the warning about a value of a variable file for which the code has no variable. Of many, engines warn of the
// first two by name.
const valueUndeclared = "Value for undeclared variable"

var undeclaredIn = regexp.MustCompile(`declare a variable named "([^"]+)" but a value was found in file "([^"]+)"`)

// Undeclared is a value for which the code has no variable, and the name of the variable file that has it.
type Undeclared struct{ Variable, File string }

// undeclaredValue reads that warning.
func undeclaredValue(d Diagnostic) (Undeclared, bool) {
	found := undeclaredIn.FindStringSubmatch(d.Detail)
	if d.Summary != valueUndeclared || found == nil {
		return Undeclared{}, false
	}
	return Undeclared{Variable: found[1], File: path.Base(found[2])}, true
}
