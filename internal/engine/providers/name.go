package providers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Provider is the address of a provider, as a lock file has it. Example: registry.opentofu.org/hashicorp/time.
type Provider struct {
	// Hostname of its registry, with the port if that is not 443; in ASCII, as DNS has it.
	Hostname string
	// Namespace and Type within the registry.
	Namespace, Type string
}

// Names become folders, files and parts of URLs, so they are taken only in the one form that engines send.
var (
	label   = regexp.MustCompile(`^[0-9a-z]([0-9a-z-]{0,61}[0-9a-z])?$`)
	part    = regexp.MustCompile(`^[0-9a-z]([0-9a-z_-]{0,62}[0-9a-z])?$`)
	version = regexp.MustCompile(
		`^(0|[1-9][0-9]{0,9})(\.(0|[1-9][0-9]{0,9})){2}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$`)
	system    = regexp.MustCompile(`^[0-9a-z]{1,32}$`)
	wholePort = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)
)

// ParseProvider returns the Provider of its parts: ErrNotFound when there can be none of that name.
func ParseProvider(hostname, namespace, typ string) (Provider, error) {
	p := Provider{Hostname: hostname, Namespace: namespace, Type: typ}
	return p, p.check()
}

// String returns the address.
func (p Provider) String() string { return p.dir() }

func (p Provider) check() error {
	if !isHost(p.Hostname) || !part.MatchString(p.Namespace) || !part.MatchString(p.Type) {
		return fmt.Errorf("%.200q is no address of a provider: %w", p.dir(), ErrNotFound)
	}
	return nil
}

// isHost reports whether a name is a host's, or a host's with a port.
func isHost(name string) bool {
	host, port, found := strings.Cut(name, ":")
	if found {
		number, err := strconv.Atoi(port)
		if err != nil || !wholePort.MatchString(port) || number > 65535 {
			return false
		}
	}
	if len(host) > 253 {
		return false
	}
	for l := range strings.SplitSeq(host, ".") {
		if !label.MatchString(l) {
			return false
		}
	}
	return true
}

// Platform is an operating system and a processor, as Go names them.
type Platform struct{ OS, Arch string }

// String returns it as engines write it. Example: linux_amd64.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

func parsePlatform(text string) (Platform, bool) {
	os, arch, found := strings.Cut(text, "_")
	return Platform{os, arch}, found && system.MatchString(os) && system.MatchString(arch)
}

// Filename is what the archive of a version for a platform is called, here and in lists of checksums.
func (p Provider) Filename(version string, platform Platform) string {
	return "terraform-provider-" + p.Type + "_" + version + "_" + platform.String() + ".zip"
}

// ParseFilename takes an archive's name apart. It is false for what no archive of this provider is called.
func (p Provider) ParseFilename(name string) (v string, platform Platform, ok bool) {
	name, prefixed := strings.CutPrefix(name, "terraform-provider-"+p.Type+"_")
	name, suffixed := strings.CutSuffix(name, ".zip")
	v, rest, found := strings.Cut(name, "_")
	if !prefixed || !suffixed || !found || !version.MatchString(v) {
		return "", Platform{}, false
	}
	platform, ok = parsePlatform(rest)
	return v, platform, ok
}

// checkVersion rejects what is no version.
func (p Provider) checkVersion(v string) error {
	if !version.MatchString(v) {
		return fmt.Errorf("%s: %.100q is no version: %w", p, v, ErrNotFound)
	}
	return nil
}

// dir is where what is known of a provider is, in Dir and in Folder.
func (p Provider) dir() string { return p.Hostname + "/" + p.Namespace + "/" + p.Type }
