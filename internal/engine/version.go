package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-version"
)

// ParseVersion reads what an engine answers to Version.
func ParseVersion(data []byte) (string, error) {
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", fmt.Errorf("read the engine's version: %w", err)
	}
	if answer.Version == "" {
		return "", errors.New("the engine does not tell its version")
	}
	return answer.Version, nil
}

// Meets says whether a version satisfies a constraint as in required_version. As there, a prerelease counts as the
// release that it precedes.
func Meets(have, constraint string) (bool, error) {
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return false, fmt.Errorf("version constraint %q: %w", constraint, err)
	}
	v, err := version.NewVersion(have)
	if err != nil {
		return false, fmt.Errorf("engine version %q: %w", have, err)
	}
	return wanted.Check(v.Core()), nil
}
