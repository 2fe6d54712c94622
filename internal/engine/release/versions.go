package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"cairn.dev/cairn/internal/base/jsonsize"
)

// versionPattern is strict, because a version becomes part of addresses and paths.
var versionPattern = regexp.MustCompile(`^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$`)

// parseVersion reads a version as makers write it, without a v.
func parseVersion(text string) (*version.Version, bool) {
	if len(text) > 64 || !versionPattern.MatchString(text) {
		return nil, false
	}
	v, err := version.NewSemver(text)
	return v, err == nil
}

// sorted reads those of the texts that are versions: the newest first, each once.
func sorted(texts []string) []*version.Version {
	var all []*version.Version
	for _, text := range texts {
		if v, ok := parseVersion(text); ok {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *version.Version) int { return b.Compare(a) })
	return slices.CompactFunc(all, (*version.Version).Equal)
}

// wish is a constraint on versions.
type wish struct {
	text string
	all  version.Constraints
	// exact is the one version that is asked for, or nil.
	exact *version.Version
}

const longestConstraint = 256

// parseWish reads a constraint as in required_version. An empty one takes any release.
func parseWish(text string) (wish, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return wish{}, nil
	}
	if len(text) > longestConstraint {
		return wish{}, fmt.Errorf("%w: a version constraint of %d characters", ErrNoVersion, len(text))
	}
	all, err := version.NewConstraint(text)
	if err != nil {
		return wish{}, fmt.Errorf("%w: version constraint %q: %w", ErrNoVersion, text, err)
	}
	w := wish{text: text, all: all}
	if len(all) == 1 {
		if v, err := version.NewSemver(strings.TrimSpace(strings.TrimPrefix(text, "="))); err == nil {
			w.exact = v
		}
	}
	return w, nil
}

// newest returns the newest of the sorted versions that meets the wish. A prerelease has to be asked for by its name.
func (w wish) newest(versions []*version.Version) (string, bool) {
	for _, v := range versions {
		switch {
		case w.exact != nil && (!v.Equal(w.exact) || v.Prerelease() != w.exact.Prerelease()):
			// 1.2.3-rc1 is Equal to 1.2.3.0
		case w.exact == nil && v.Prerelease() != "":
		case w.all.Check(v):
			return v.String(), true
		}
	}
	return "", false
}

var firstVersion = regexp.MustCompile(`\d{1,9}(\.\d{1,9}){0,2}`)

// nearest returns a few releases around the requested one, for a message: the newest ones when none is requested.
func (w wish) nearest(versions []*version.Version) string {
	const few = 5
	var names []string
	at := 0
	asked, err := version.NewVersion(firstVersion.FindString(w.text))
	for _, v := range versions {
		if v.Prerelease() != "" {
			continue
		}
		names = append(names, v.String())
		if err == nil && v.GreaterThan(asked) {
			at = len(names)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	begin := max(0, min(at-few/2, len(names)-few))
	return strings.Join(names[begin:min(begin+few, len(names))], ", ")
}

// mostIndexValues is how many values a list of versions may have: each takes memory, however short it is. HashiCorp's
// list of Terraform has 30,000.
const mostIndexValues = 500_000

// parseIndex reads a list of versions in the format of HashiCorp (an object by version), OpenTofu (a list of ids) or
// GitHub (a list of tags). An entry may be no version.
func parseIndex(data []byte) ([]string, error) {
	if jsonsize.HasMoreValues(data, mostIndexValues) {
		return nil, fmt.Errorf("the list of versions has more than %d values", mostIndexValues)
	}
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
