package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"cairn.dev/cairn/internal/base/jsonsize"
)

// listing is the versions of a provider, in the form of a mirror's index.json: engines read the keys only.
type listing struct {
	Versions map[string]offer `json:"versions"`
}

// offer is what there is of a version.
type offer struct {
	Platforms []string `json:"platforms,omitempty"`
}

// weight is how much memory it takes, about.
func (l listing) weight() int {
	const version, platform = 100, 40 // beside the text
	n := 0
	for name, of := range l.Versions {
		n += version + len(name)
		for _, p := range of.Platforms {
			n += platform + len(p)
		}
	}
	return n
}

// mostValues is how many values an answer of a registry may have: each takes memory, however short it is. The list of a
// provider with a thousand versions for fourteen platforms has 60,000.
const mostValues = 400_000

// decode reads an answer.
func decode(data []byte, answer any) error {
	if jsonsize.HasMoreValues(data, mostValues) {
		return fmt.Errorf("the answer has more than %d values", mostValues)
	}
	return json.Unmarshal(data, answer)
}

// parseVersions reads a registry's list. What has no proper name in it is left out.
func parseVersions(data []byte) (listing, error) {
	var answer struct {
		Versions []struct {
			Version   string
			Platforms []struct{ OS, Arch string }
		}
	}
	if err := decode(data, &answer); err != nil {
		return listing{}, fmt.Errorf("read the list of versions: %w", err)
	}
	list := listing{Versions: map[string]offer{}}
	for _, v := range answer.Versions {
		if !version.MatchString(v.Version) {
			continue
		}
		var o offer
		for _, p := range v.Platforms {
			if platform, ok := parsePlatform(p.OS + "_" + p.Arch); ok {
				o.Platforms = append(o.Platforms, platform.String())
			}
		}
		list.Versions[v.Version] = o
	}
	return list, nil
}

// location is where an archive is according to its registry, and what proves that it is the right one.
type location struct {
	// filename within the list of checksums, and sum as the registry itself reports it, in hex.
	filename, sum            string
	archive, sums, signature *url.URL
	keys                     []string
}

// parseDownload reads a registry's answer to a request for a platform of a version. base is the URL of the request.
func parseDownload(data []byte, base *url.URL, platform Platform) (location, error) {
	var answer struct {
		OS, Arch, Filename, Shasum string
		DownloadURL                string `json:"download_url"`
		SumsURL                    string `json:"shasums_url"`
		SignatureURL               string `json:"shasums_signature_url"`
		SigningKeys                struct {
			GPG []struct {
				Armor string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	if err := decode(data, &answer); err != nil {
		return location{}, fmt.Errorf("read where an archive is: %w", err)
	}
	if (Platform{answer.OS, answer.Arch}) != platform {
		return location{}, fmt.Errorf("requested %s, but the registry's answer is for another platform", platform)
	}
	sum, err := hex.DecodeString(answer.Shasum)
	if err != nil || len(sum) != sha256.Size {
		return location{}, errors.New("the registry's checksum is malformed")
	}
	d := location{filename: answer.Filename, sum: hex.EncodeToString(sum)}
	for _, key := range answer.SigningKeys.GPG {
		d.keys = append(d.keys, key.Armor)
	}
	for reference, to := range map[*string]**url.URL{
		&answer.DownloadURL: &d.archive, &answer.SumsURL: &d.sums, &answer.SignatureURL: &d.signature,
	} {
		if *to, err = resolve(base, *reference); err != nil {
			return location{}, err
		}
	}
	return d, nil
}

// parseDiscovery reads where a host has its registry of providers; it was asked at base.
func parseDiscovery(data []byte, base *url.URL) (*url.URL, error) {
	var services map[string]json.RawMessage
	if err := decode(data, &services); err != nil {
		return nil, fmt.Errorf("read the services of %s: %w", base.Host, err)
	}
	var where string
	if err := json.Unmarshal(services["providers.v1"], &where); err != nil || where == "" {
		return nil, fmt.Errorf("%s has no registry of providers: %w", base.Host, ErrNotFound)
	}
	return resolve(base, where)
}

// longestURL is how long a URL may be that a registry points to: one that is signed has some hundred characters.
const longestURL = 8 << 10

// resolve returns the absolute form of a reference. Only https is followed.
func resolve(base *url.URL, reference string) (*url.URL, error) {
	if len(reference) > longestURL {
		return nil, fmt.Errorf("the registry %s points to a URL of %d characters, %d are the "+
			"most", base.Host, len(reference), longestURL)
	}
	u, err := base.Parse(reference)
	if err != nil {
		return nil, fmt.Errorf("the registry %s points to what is no URL", base.Host)
	}
	if reference == "" || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the registry %s points to %.200q: only https is followed", base.Host, where(u))
	}
	return u, nil
}

// names returns the versions, sorted.
func (l listing) names() []string { return slices.Sorted(maps.Keys(l.Versions)) }
