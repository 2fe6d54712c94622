package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseIndex reads a list of versions as HashiCorp (an object by version), OpenTofu (a list of ids) and GitHub (a list of
// tags) give it. What is listed may be no version.
func parseIndex(data []byte) ([]string, error) {
	if trimmed := strings.TrimLeft(string(data[:min(len(data), 512)]), " \t\r\n"); strings.HasPrefix(trimmed, "[") {
		return parseTags(data)
	}
	var index struct {
		Versions json.RawMessage `json:"versions"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("read the list of versions: %w", err)
	}
	var byVersion map[string]json.RawMessage
	var ids []struct {
		ID string `json:"id"`
	}
	var names []string
	switch {
	case len(index.Versions) == 0, string(index.Versions) == "null":
		return nil, errors.New("read the list of versions: it has no \"versions\"")
	case json.Unmarshal(index.Versions, &byVersion) == nil:
		for name := range byVersion {
			names = append(names, name)
		}
		return names, nil
	}
	if err := json.Unmarshal(index.Versions, &ids); err != nil {
		return nil, fmt.Errorf("read the list of versions: %w", err)
	}
	for _, one := range ids {
		names = append(names, one.ID)
	}
	return names, nil
}

// parseTags reads GitHub's list of a repository's tags.
func parseTags(data []byte) ([]string, error) {
	var tags []struct {
		Ref string `json:"ref"`
	}
	if err := json.Unmarshal(data, &tags); err != nil {
		return nil, fmt.Errorf("read the list of tags: %w", err)
	}
	var names []string
	for _, tag := range tags {
		if name, ok := strings.CutPrefix(tag.Ref, "refs/tags/v"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
