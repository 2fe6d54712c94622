package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/engine/release"
	"cairn.dev/cairn/internal/server/runnerhandler"
)

// Downloads configure where engines and providers come from. They are downloaded once, verified, and served to
// runners.
type Downloads struct {
	// EngineMirrors are addresses in place of the makers' own, by engine: https://, http:// or file:// for a folder.
	EngineMirrors map[string]string
	// EngineKeys are files with the armored OpenPGP public keys that an engine's releases are signed with, by engine.
	// They replace the makers' keys, which are built in.
	EngineKeys map[string]string
	// EngineUnsigned are the releases of engines that are accepted without a signature: by ENGINE@VERSION, the digest
	// of the list of checksums.
	EngineUnsigned map[string]string
	// ProviderMirror serves providers to runners. ProviderFolder is a packed mirror that is searched first,
	// ProviderOffline asks no registry, ProviderHosts are the only ones that are asked; empty for any.
	ProviderMirror  bool
	ProviderFolder  string
	ProviderOffline bool
	ProviderHosts   []string
	// ProviderMost is how many bytes of archives the mirror of providers keeps; 0 for any number.
	ProviderMost int64
	// Egress are the addresses that Cairn connects to for tenants: git servers, engines, providers. Nil means the
	// default.
	Egress *egress.Guard
}

// owned closes what the server uses once the process ends.
type owned []func() error

// Start waits for the end.
func (o owned) Start(ctx context.Context) error {
	<-ctx.Done()
	var errs []error
	for _, c := range o {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// NeedLeaderElection is false: every process has its own.
func (o owned) NeedLeaderElection() bool { return false }

// open returns the engines and providers that a server serves.
func (d Downloads) open(cache string, t *telemetry) (runnerhandler.Engines, *providers.Mirror, owned, error) {
	o := release.Options{
		Dir: filepath.Join(cache, "engines"), Mirrors: map[release.Product]string{},
		Keys: map[release.Product][]string{}, Observe: t.download("engine"), Egress: d.Egress,
	}
	for name, address := range d.EngineMirrors {
		o.Mirrors[release.Product(name)] = address
	}
	for name, path := range d.EngineKeys {
		key, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("key of %s: %w", name, err)
		}
		o.Keys[release.Product(name)] = []string{string(key)}
	}
	if err := d.addUnsigned(&o); err != nil {
		return nil, nil, nil, err
	}
	engines, err := release.New(o)
	if err != nil {
		return nil, nil, nil, err
	}
	if !d.ProviderMirror {
		return engines, nil, owned{engines.Close}, nil
	}
	mirror, err := providers.New(providers.Options{
		Dir: filepath.Join(cache, "providers"), Folder: d.ProviderFolder, Offline: d.ProviderOffline,
		Hosts: d.ProviderHosts, Most: d.ProviderMost, Requested: t.download("provider"), Egress: d.Egress,
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, engines.Close())
	}
	return engines, mirror, owned{engines.Close, func() error { mirror.Close(); return nil }}, nil
}

// addUnsigned reads EngineUnsigned.
func (d Downloads) addUnsigned(o *release.Options) error {
	o.Unsigned = map[release.Product]map[string]string{}
	for name, digest := range d.EngineUnsigned {
		product, version, ok := strings.Cut(name, "@")
		if !ok {
			return fmt.Errorf("--engine-unsigned=%s: the engine has to be followed by its version, as in "+
				"Terragrunt@0.90.0", name)
		}
		p := release.Product(product)
		if o.Unsigned[p] == nil {
			o.Unsigned[p] = map[string]string{}
		}
		o.Unsigned[p][version] = digest
	}
	return nil
}
