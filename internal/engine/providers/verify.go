package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn.dev/cairn/internal/base/sigverify"
)

// verify asks the registry about a version. What all its archives must be is in one list of checksums, so it is asked
// for any platform.
func (m *Mirror) verify(ctx context.Context, p Provider, version string) (Release, error) {
	list, err := m.list(ctx, p)
	if err != nil {
		return Release{}, err
	}
	offered := list.Versions[version].Platforms
	if len(offered) == 0 {
		return Release{}, fmt.Errorf("%s %s: %w", p, version, ErrNotFound)
	}
	platform, _ := parsePlatform(slices.Min(offered))
	d, err := m.registry.download(ctx, p, version, platform)
	if err != nil {
		return Release{}, err
	}
	checksums, _, err := m.registry.get(ctx, d.sums)
	if err != nil {
		return Release{}, err
	}
	release := Release{Signed: true}
	if len(d.keys) == 0 && slices.Contains(m.Unsigned, p.Hostname) {
		release.Signed = false
	} else if err := m.checkSignature(ctx, d, checksums); err != nil {
		return Release{}, fmt.Errorf("%s %s: %w", p, version, err)
	}
	if release.Archives, err = archives(p, version, platform, d, checksums); err != nil {
		return Release{}, fmt.Errorf("%s %s: %w: %w", p, version, ErrVerify, err)
	}
	return release, nil
}

// checkSignature verifies that one of the keys that the registry names signed the list of checksums.
func (m *Mirror) checkSignature(ctx context.Context, d location, checksums []byte) error {
	if len(d.keys) == 0 {
		return fmt.Errorf("%w: the registry names no key of its maker", ErrVerify)
	}
	keys, err := sigverify.ParseKeys(d.keys...)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVerify, err)
	}
	signature, _, err := m.registry.get(ctx, d.signature)
	if err != nil {
		return err
	}
	if err := keys.Verify(checksums, signature); err != nil {
		return fmt.Errorf("%w: %w", ErrVerify, err)
	}
	return nil
}

// archives returns those that a list of checksums has for a version. The list and the registry have to agree about the
// platform that was asked for, or one of them describes another file.
func archives(p Provider, version string, platform Platform, d location, checksums []byte) (map[string]Package, error) {
	all, err := sigverify.ParseSums(checksums)
	if err != nil {
		return nil, err
	}
	if all[d.filename] != d.sum {
		return nil, errors.New("the registry's checksum is not the one in the list")
	}
	found := map[string]Package{platform.String(): {URL: p.Filename(version, platform),
		Hashes: []string{"zh:" + d.sum}}}
	for name, sum := range all {
		if v, other, ok := p.ParseFilename(name); ok && v == version && other != platform {
			found[other.String()] = Package{URL: name, Hashes: []string{"zh:" + sum}}
		}
	}
	return found, nil
}
