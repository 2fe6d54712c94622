// Package release downloads engines: it finds the version that meets a constraint, downloads it once, and returns it
// only after the maker's signature and checksum were verified. It knows nothing of Kubernetes.
//
// Releases are at their makers' official places, or on a mirror: a web server, or a folder (file:///...) for an
// installation without a network. A mirror keeps the makers' names:
//
//	<base>/opentofu/index.json or api.json          the versions: HashiCorp's layout, or OpenTofu's
//	<base>/opentofu/1.12.6/tofu_1.12.6_linux_amd64.zip
//	<base>/opentofu/1.12.6/tofu_1.12.6_SHA256SUMS
//	<base>/opentofu/1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig
//	<base>/terraform/1.5.7/terraform_1.5.7_linux_amd64.zip
//	<base>/terraform/1.5.7/terraform_1.5.7_SHA256SUMS
//	<base>/terraform/1.5.7/terraform_1.5.7_SHA256SUMS.72D7468F.sig or terraform_1.5.7_SHA256SUMS.sig
//	<base>/terragrunt/0.99.0/terragrunt_linux_amd64
//	<base>/terragrunt/0.99.0/SHA256SUMS
//	<base>/terragrunt/0.99.0/SHA256SUMS.gpgsig
//
// A folder needs no list: without one, its folders are the versions. A company's own mirror may sign with its own key.
//
// The signed list of OpenTofu and Terraform names the version, so an old release cannot be passed off as a new one.
// Terragrunt's does not: there a mirror that lies can do that, with a release that its maker signed. The runner asks
// the program for its version before it uses it.
package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/hashicorp/go-version"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/internal/engine"
)

// What is read at most, and how long it may take.
const (
	largestIndex     = 16 << 20
	largestSums      = 1 << 20
	largestSignature = 64 << 10
	largestArchive   = 512 << 20
	largestProgram   = 1 << 30

	listAge     = 10 * time.Minute // how long a list of versions counts
	listRest    = 30 * time.Second // how long a place that does not answer is left alone
	refusedRest = time.Minute      // how long a rejected release is not downloaded again
	listTime    = 2 * time.Minute
	getTime     = 15 * time.Minute
)

// Options of Releases.
type Options struct {
	// Mirrors are the addresses that hold a product's releases: https://, http:// or file:// with an absolute path.
	// User and password may be in it. Without one, a product comes from its maker's official place.
	Mirrors map[Product]string
	// Dir is the folder that verified programs are kept in; it is created if need be. Required.
	Dir string
	// Client fetches. Its rule for redirects is replaced: none leads from https to http. Nil means one that knows the
	// proxies of the environment.
	Client *http.Client
	// Egress are the addresses that it connects to, if Client is nil. Nil means the default.
	Egress *egress.Guard
	// Keys are armored OpenPGP public keys, in place of the maker's, which are built in.
	Keys map[Product][]string
	// Unsigned are the releases that are accepted without a signature, as Terragrunt published none before 0.98.0: by
	// product and version, the digest of the list of checksums, sha256: and hex. That digest replaces the signature of
	// this one version. All others must be signed, so that the removal of a signature gains an attacker nothing.
	Unsigned map[Product]map[string]string
	// Observe is called for each program that is requested, with whether it was cached already (a hit), and otherwise
	// with the result of the download. Nil is allowed.
	Observe func(hit bool, err error)
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// Releases finds and downloads engines. It is safe for concurrent use.
type Releases struct {
	makers   map[Product]engine.Release
	sources  map[Product]source
	keys     map[Product]sigverify.Keys
	unsigned map[Product]map[string]string
	observe  func(hit bool, err error)
	shelf    shelf
	lists    *cache[[]*version.Version]
	programs *cache[Program]
	// transfers are the files on their way, by the key of the program and the name of the product for its list of
	// versions.
	transfers download.Transfers
	largest   int64 // archive that is downloaded
}

// New opens Dir and checks the options. It fetches nothing. The caller closes it.
func New(o Options) (*Releases, error) {
	if o.Dir == "" {
		return nil, errors.New("release: no folder to keep programs in")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(bool, error) {}
	}
	r := &Releases{
		observe: o.Observe, makers: makers(), sources: map[Product]source{}, keys: map[Product]sigverify.Keys{},
		unsigned: o.Unsigned, largest: largestArchive,
		lists: newCache[[]*version.Version](o.Now, listTime, func(err error) time.Duration {
			if err != nil {
				return listRest
			}
			return listAge
		}),
		programs: newCache[Program](o.Now, getTime, func(err error) time.Duration {
			if errors.Is(err, sigverify.ErrSignature) || errors.Is(err, ErrChecksum) || errors.Is(err, ErrMalformed) {
				return refusedRest
			}
			return 0
		}),
	}
	if err := r.configure(o); err != nil {
		return nil, err
	}
	var err error
	if r.shelf, err = openShelf(o.Dir, o.Now()); err != nil {
		return nil, fmt.Errorf("open the folder of programs: %w", err)
	}
	return r, nil
}

// configure applies the options of each product.
func (r *Releases) configure(o Options) error {
	named := slices.AppendSeq(slices.Collect(maps.Keys(o.Unsigned)), maps.Keys(o.Mirrors))
	for _, p := range slices.AppendSeq(named, maps.Keys(o.Keys)) {
		if _, err := r.maker(p); err != nil {
			return err
		}
	}
	for p, versions := range o.Unsigned {
		for version, digest := range versions {
			if _, ok := parseVersion(version); !ok || !digestPattern.MatchString(digest) {
				return fmt.Errorf("%s %.80q without a signature: the digest of its list of checksums has to be "+
					"sha256: and 64 hexadecimal digits in lower case, not %.80q", p, version, digest)
			}
		}
	}
	client := careful(o.Client, o.Egress)
	for p, m := range r.makers {
		var err error
		if r.sources[p], err = newSource(m, o.Mirrors[p], client); err != nil {
			return fmt.Errorf("mirror of %s: %w", p, err)
		}
		armored := []string{m.Key}
		if own := o.Keys[p]; len(own) > 0 {
			armored = own
		}
		if r.keys[p], err = sigverify.ParseKeys(armored...); err != nil {
			return fmt.Errorf("keys of %s: %w", p, err)
		}
	}
	return nil
}

// Close breaks off all downloads and waits for them.
func (r *Releases) Close() error {
	r.lists.close()
	r.programs.close()
	return r.shelf.root.Close()
}

func (r *Releases) maker(p Product) (engine.Release, error) {
	m, ok := r.makers[p]
	if !ok {
		return engine.Release{}, fmt.Errorf("%w: %.40q; known are %s", ErrUnknownProduct, p, known(r.makers))
	}
	return m, nil
}

// Find returns the newest version of a product that meets a constraint as in required_version; an empty one takes the
// newest release. A prerelease has to be asked for by its exact name. Lists of versions are kept for 10 minutes. When
// there is none to be had, the programs that are here still serve; so does, always, one that is asked for by its exact
// version. Errors: ErrUnknownProduct, ErrNoVersion, ErrUnreachable.
func (r *Releases) Find(ctx context.Context, product Product, constraint string) (string, error) {
	m, err := r.maker(product)
	if err != nil {
		return "", err
	}
	wish, err := parseWish(constraint)
	if err != nil {
		return "", err
	}
	here := sorted(r.shelf.versions(m))
	if wish.exact != nil {
		if v, ok := wish.newest(here); ok {
			return v, nil
		}
	}
	versions, err := r.list(ctx, product)
	if err != nil {
		if v, ok := wish.newest(here); ok {
			return v, nil
		}
		return "", advise(product, err)
	}
	v, ok := wish.newest(versions)
	if !ok {
		return "", fmt.Errorf("%w: no %s meets %q; near it are %s, at %s",
			ErrNoVersion, product, wish.text, wish.nearest(versions), r.sources[product])
	}
	return v, nil
}

// list returns all versions of a product, the newest first.
func (r *Releases) list(ctx context.Context, product Product) ([]*version.Version, error) {
	return r.lists.get(ctx, string(product), func(ctx context.Context) ([]*version.Version, error) {
		r.transfers.Begin(string(product), r.sources[product].String())
		defer r.transfers.End(string(product))
		names, err := versionsOf(ctx, r.sources[product])
		if err != nil {
			err = fmt.Errorf("versions of %s: %w", product, err)
			if errors.Is(err, ErrUnreachable) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return sorted(names), nil
	})
}

// Progress is how far the download is that Find, with an empty version, or else Get waits for; the zero Transfer when
// there is none.
func (r *Releases) Progress(product Product, version, os, arch string) download.Transfer {
	if version == "" {
		return r.transfers.Of(string(product))
	}
	return r.transfers.Of(wanted{product: product, version: version, os: os, arch: arch}.key())
}

var (
	platformPattern = regexp.MustCompile(`^[a-z0-9]{1,16}$`)
	digestPattern   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Get returns the program of a version, as Find names it, for an operating system and an architecture as Go names them.
// The first caller starts the download; it continues when that caller leaves, and all callers meanwhile wait for the
// same one. A rejected release is not downloaded again for a minute. Errors: ErrUnknownProduct, ErrNoVersion,
// ErrChecksum, ErrMalformed, sigverify.ErrSignature, ErrUnreachable.
func (r *Releases) Get(ctx context.Context, product Product, version, os, arch string) (Program, error) {
	m, err := r.maker(product)
	if err != nil {
		return Program{}, err
	}
	if _, ok := parseVersion(version); !ok {
		return Program{}, fmt.Errorf("%w: %.80q is none", ErrNoVersion, version)
	}
	if !platformPattern.MatchString(os) || !platformPattern.MatchString(arch) {
		return Program{}, fmt.Errorf("%w: %.40q %.40q is no platform", ErrNoVersion, os, arch)
	}
	w := wanted{product: product, version: version, os: os, arch: arch, pin: r.unsigned[product][version]}
	p, err := r.programs.get(ctx, w.key(), func(ctx context.Context) (Program, error) {
		return r.fetch(ctx, m, w)
	})
	if errors.Is(err, errMissing) {
		return Program{}, r.noVersion(ctx, w, err)
	}
	return p, advise(product, err)
}

// noVersion is the error with the versions that exist instead, when they are known.
func (r *Releases) noVersion(ctx context.Context, w wanted, missing error) error {
	err := fmt.Errorf("%w: %s %s for %s: %w", ErrNoVersion, w.product, w.version, w.platform(), missing)
	if versions, bad := r.list(ctx, w.product); bad == nil {
		err = fmt.Errorf("%w; near it are %s, at %s", err, wish{text: w.version}.nearest(versions),
			r.sources[w.product])
	}
	return err
}
