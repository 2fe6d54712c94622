package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-version"
)

// ParseVersion reads what an engine answers to Version: JSON or, from Terragrunt, a line of text.
func ParseVersion(data []byte) (string, error) {
	if words := strings.Fields(string(data)); len(words) == 3 && words[0] == "terragrunt" {
		return strings.TrimPrefix(words[2], "v"), nil
	}
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
// release that it precedes; it also meets a constraint that names it.
func Meets(have, constraint string) (bool, error) {
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return false, fmt.Errorf("version constraint %q: %w", constraint, err)
	}
	v, err := version.NewVersion(have)
	if err != nil {
		return false, fmt.Errorf("engine version %q: %w", have, err)
	}
	return wanted.Check(v.Core()) || wanted.Check(v), nil
}
