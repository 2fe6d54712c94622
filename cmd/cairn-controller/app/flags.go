package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/operator"
	"cairn.dev/cairn/internal/server/auth"
)

// processFlags are the flags of a process that runs the operator, the server or both.
type processFlags struct {
	operator.Options
	oidc         auth.OIDC
	providerMost resource.QuantityValue
	// allowed are networks and addresses that are connected to although they are denied by default.
	allowed []string
	// mirrorSize and namespaceMirrorSize are the limits of mirrors.
	mirrorSize, namespaceMirrorSize resource.QuantityValue
	kubeconfig                      string
	level                           slog.Level
	json                            bool
}

func newProcessFlags(o operator.Options) *processFlags {
	o.RunnerTokens = operator.ReviewTokens
	quantity := func(text string) resource.QuantityValue {
		return resource.QuantityValue{Quantity: resource.MustParse(text)}
	}
	return &processFlags{
		Options: o, providerMost: quantity("10Gi"), mirrorSize: quantity("2Gi"), namespaceMirrorSize: quantity("5Gi"),
	}
}

// addTo adds all flags. It hides those of the operator or of the server if the process does not run it.
func (p *processFlags) addTo(f *pflag.FlagSet) {
	p.addCommon(f)
	forOperator, forServer := p.operatorFlags(), p.serverFlags()
	if !p.Operator {
		hide(forOperator)
	}
	if !p.Server {
		hide(forServer)
	}
	f.AddFlagSet(forOperator)
	f.AddFlagSet(forServer)
}

func hide(f *pflag.FlagSet) { f.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true }) }

func (p *processFlags) addCommon(f *pflag.FlagSet) {
	f.StringVar(&p.kubeconfig, "kubeconfig", "",
		"kubeconfig to use; default: KUBECONFIG, or the ServiceAccount of the pod")
	f.StringVar(&p.Namespace, "namespace", "cairn-system", "namespace of Cairn, with its keys")
	f.StringSliceVar(&p.Namespaces, "namespaces", nil,
		"namespaces of the Stacks that Cairn reconciles, for an installation with Roles in place of ClusterRoles; "+
			"default: all")
	f.StringVar(&p.BucketURL, "bucket", "file:///var/lib/cairn", "bucket for plans, logs and code")
	f.StringVar((*string)(&p.StateStorage), "state-storage", string(v1alpha1.StateStorageSecret),
		"storage of states: Secret or Bucket; large states are always stored in the bucket")
	f.StringVar(&p.CacheDir, "cache", "/var/cache/cairn",
		"directory for mirrors of repositories, engines and providers; a cache, so it can be deleted")
	f.StringVar(&p.ServerURL, "server-url", "https://cairn.cairn-system.svc:8443",
		"address of the server for runners; its host is in the server's certificate")
	f.StringVar(&p.PublicURL, "public-url", "",
		"address of the server for users, for example https://cairn.example.com; default: server-url")
	f.StringVar(&p.SignIn.URL, "web-url", "",
		"address of the web UI for users, which comments on pull requests link to, for example "+
			"https://cairn.example.com; default: public-url, and no links without that")
	f.StringSliceVar(&p.allowed, "allowed-address", nil,
		"addresses and CIDRs of git servers and registries that Cairn may connect to although they are loopback, "+
			"link-local, a metadata service or the API server, for example 127.0.0.0/8; default: none")
	f.StringSliceVar(&p.NotificationHosts, "notification-host", nil,
		"hosts that Notifications may send messages to; *.example.com stands for all hosts below example.com; "+
			"default: all, but for addresses that Cairn does not connect to (allowed-address)")
	f.StringVar(&p.MetricsAddress, "metrics-address", "0", "address for Prometheus metrics; 0 disables them")
	f.StringVar(&p.HealthAddress, "health-address", "0", "address for health and readiness; 0 disables them")
	f.StringVar(&p.PprofAddress, "pprof-address", "0",
		"address for profiles of the process, for example 127.0.0.1:6060; they show the content of its memory to all "+
			"clients; 0 disables them")
	f.TextVar(&p.level, "log-level", p.level, "debug, info, warn or error")
	f.BoolVar(&p.json, "log-json", false, "log as JSON")
}

// operatorFlags are the flags that only the operator uses.
func (p *processFlags) operatorFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	f.DurationVar(&p.BucketGCAfter, "bucket-gc-after", 7*24*time.Hour,
		"garbage collection deletes code and inputs from the bucket that nothing has referred to for this "+
			"long; at least 24h, 0 disables it")
	f.IntVar(&p.MaxRuns, "max-runs", 20, "maximum number of Runs that plan or apply at once; 0 for no limit")
	f.IntVar(&p.MaxRunsPerNamespace, "max-runs-per-namespace", 0,
		"maximum number of Runs of one namespace that plan or apply at once; 0 for no limit")
	f.DurationVar(&p.DriftInterval, "drift-interval", 12*time.Hour,
		"interval of drift checks for Stacks without spec.drift.interval; 0 disables them")
	f.IntVar(&p.MassDrift.Percent, "mass-drift-percent", 10,
		"corrections of drift in a namespace pause when more than this percentage of the Stacks that are "+
			"checked begin to drift within an hour; 0 disables it")
	f.IntVar(&p.MassDrift.Stacks, "mass-drift-stacks", 5,
		"the smallest number of Stacks that pauses the corrections of drift")
	f.Var(&p.mirrorSize, "mirror-size-limit",
		"maximum size of the mirror of a Repository in the cache, with submodules and LFS, for example 2Gi; a "+
			"fetch that exceeds it fails; 0 for no limit")
	f.Var(&p.namespaceMirrorSize, "mirror-size-limit-per-namespace",
		"maximum size of all mirrors of the Repositories of one namespace; 0 for no limit")
	f.BoolVar(&p.LeaderElection, "leader-elect", false, "elect a leader among several operators")
	f.IntVar(&p.Shard.Total, "total-shards", 0,
		"number of operators that divide the namespaces among them, by a hash of their names; at most 16")
	f.IntVar(&p.Shard.Index, "shard", 0, "index of this operator among total-shards, from 0")
	p.addRunnerFlags(f)
	addBuildFlags(f, &p.Pods.Builds)
	return f
}

// addRunnerFlags adds the flags for the pods of Runs.
func (p *processFlags) addRunnerFlags(f *pflag.FlagSet) {
	f.StringVar(&p.Pods.RunnerImage, "runner-image", "", "image that contains cairn-runner")
	f.StringVar(&p.Pods.RunnerCommand, "runner-command", "/usr/local/bin/cairn-runner",
		"path of cairn-runner in the runner image")
	f.StringVar(&p.Pods.EngineImage, "engine-image", "",
		"image that contains the engine, for Stacks without spec.runner.image")
	f.BoolVar(&p.Pods.EngineHasRunner, "engine-image-has-runner", false,
		"the engine image contains cairn-runner of this version at /cairn/bin: pods with that image start "+
			"without copying it, a second sooner")
	f.Var((*pullPolicy)(&p.Pods.RunnerPullPolicy), "runner-image-pull-policy",
		"pull policy of the runner image: Always, IfNotPresent or Never; default: that of Kubernetes")
	f.Var((*pullPolicy)(&p.Pods.EnginePullPolicy), "engine-image-pull-policy",
		"pull policy of the engine image: Always, IfNotPresent or Never; default: that of Kubernetes")
	f.StringSliceVar(&p.Pods.ImagePullSecrets, "image-pull-secret", nil,
		"Secrets for pulling the images of runner pods; they must exist in the namespaces of Stacks and "+
			"replace those of the ServiceAccount")
	f.StringSliceVar(&p.Pods.ProviderImages, "provider-image", nil,
		"images with unpacked providers, which are mounted in the pods of Runs as image volumes: requires Kubernetes "+
			"1.35, and containerd 2.1 or CRI-O 1.31 on the nodes")
	f.BoolVar(&p.AllowShell, "allow-shell", false,
		"allow shells in runner pods (cairn shell) to users with the verb shell: a shell shows secrets in "+
			"clear text, and its commands are in no log")
	f.BoolVar(&p.Pods.AllowUnrestricted, "allow-unrestricted-runners", false,
		"allow spec.runner.template of Stacks to create pods that violate Pod Security \"restricted\"")
	f.StringSliceVar(&p.Pods.TokenAudiences, "runner-token-audience", nil,
		"audiences of ServiceAccount tokens that spec.runner.template may request; those of the Kubernetes API "+
			"are rejected")
	f.StringSliceVar(&p.Pods.MetadataKeys, "runner-metadata-key", nil,
		"labels and annotations with a domain that spec.runner.template can set, such as prometheus.io/ for all "+
			"of a domain ("+version.Docs+"how-to/pod-templates.md); other systems act on them")
}

// serverFlags are the flags that only the server uses.
func (p *processFlags) serverFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("server", pflag.ContinueOnError)
	f.StringVar(&p.ServerAddress, "listen", ":8443", "address that the server listens on, for runners and users (TLS)")
	f.StringVar(&p.WebAddress, "web-listen", ":8080",
		"address for webhooks of Git providers and for the web UI, plain HTTP: put an Ingress in front; 0 "+
			"disables them")
	f.BoolVar(&p.PublicTrusted, "public-trusted", false,
		"the certificate at public-url is from a CA that clients trust, such as an Ingress's; without this "+
			"flag it is the server's own")
	f.BoolVar(&p.PublishEndpoint, "publish-endpoint", true,
		"publish the address of the server in ConfigMap cairn of kube-public, which every user of the "+
			"cluster can read; only one installation of a cluster can")
	f.StringVar(&p.CertDir, "cert-dir", "",
		"directory with tls.crt and tls.key for the host of public-url, loaded again when they change; default: the "+
			"server's own certificate")
	f.BoolVar(&p.ClientCertificates, "client-certificates", true,
		"accept client certificates of users from the cluster's CA; reads a ConfigMap of kube-system")
	f.DurationVar(&p.RunnerPatience, "runner-patience", 10*time.Minute,
		"how long a runner retries requests when the server does not answer")
	f.Var(&p.RunnerTokens, "runner-tokens",
		"how tokens of runners are checked: review asks the API server; jwks needs no permission and accepts "+
			"tokens until they expire, also of deleted pods")
	p.addDownloadFlags(f)
	p.addSignInFlags(f)
	return f
}

// addDownloadFlags adds the flags for engines and providers.
func (p *processFlags) addDownloadFlags(f *pflag.FlagSet) {
	f.StringToStringVar(&p.EngineMirrors, "engine-mirror", nil,
		"source of an engine's releases in place of its vendor's site: OpenTofu=https://..., or file:///... for "+
			"a directory")
	f.StringToStringVar(&p.EngineKeys, "engine-key", nil,
		"file with the public keys for the signatures of an engine's releases, for a mirror with keys of its own: "+
			"Terraform=FILE; default: the vendors' keys, which are built in")
	f.StringToStringVar(&p.EngineUnsigned, "engine-unsigned", nil,
		"releases of engines that are accepted without a signature, each with the SHA-256 digest of its list of "+
			"checksums: Terragrunt@0.90.0=sha256:...; all others must be signed")
	f.BoolVar(&p.ProviderMirror, "provider-mirror", true,
		"serve providers to runners through the server, downloaded and verified once")
	f.StringVar(&p.ProviderFolder, "provider-folder", "",
		"`directory` with providers, as `tofu providers mirror` creates it, that is searched before a registry")
	f.BoolVar(&p.ProviderOffline, "provider-offline", false, "do not download providers from registries")
	f.StringSliceVar(&p.ProviderHosts, "provider-host", nil,
		"registries from which providers may be downloaded; default: all")
	f.Var(&p.providerMost, "provider-cache-size",
		"maximum size of the archives of providers in the cache, for example 10Gi; the least recently used "+
			"are deleted first; 0 for no limit")
}

// addSignInFlags adds the flags for users of the web UI.
func (p *processFlags) addSignInFlags(f *pflag.FlagSet) {
	f.DurationVar(&p.SignIn.Lifetime, "session-lifetime", 12*time.Hour,
		"lifetime of a session in the browser; never longer than that of the token that the user signed in with")
	f.StringVar(&p.SignIn.Links, "signin-links", "",
		"directory of links that sign a user in once, as cairn dev creates them")
	_ = f.MarkHidden("signin-links") // fails only for a flag that does not exist
	o := &p.oidc
	f.StringVar(&o.Issuer, "oidc-issuer-url", "",
		"identity provider for the web UI, for example https://id.example.com/realms/main; writes of its "+
			"users need the permission to impersonate them; default: none")
	f.StringVar(&o.ClientID, "oidc-client-id", "",
		"client ID of Cairn at the identity provider, and the audience of its ID tokens")
	f.StringVar(&o.SecretFile, "oidc-client-secret-file", "",
		"file with the client secret, read each time; default: a client without a secret")
	f.StringVar(&o.CAFile, "oidc-ca-file", "",
		"file with the CA certificates for the identity provider; default: those of the system")
	f.StringVar(&o.Name, "oidc-name", "", "name of the identity provider in the web UI; default: its host")
	f.StringSliceVar(&o.Scopes, "oidc-scopes", []string{"profile", "email", "groups"},
		"scopes that Cairn requests in addition to openid")
	f.StringVar(&o.Claims.Username, "oidc-username-claim", "sub",
		"claim with the name of the user, as for kube-apiserver")
	f.StringVar(&o.Claims.UsernamePrefix, "oidc-username-prefix", "",
		"prefix of the name; default: the issuer and #, and none for the claim email; - for none")
	f.StringVar(&o.Claims.Groups, "oidc-groups-claim", "", "claim with the groups of the user; default: none")
	f.StringVar(&o.Claims.GroupsPrefix, "oidc-groups-prefix", "", "prefix of each group")
}

// The limits of --drift-interval are those of spec.drift.interval.
const (
	shortestDriftInterval = 10 * time.Second
	longestDriftInterval  = 8760 * time.Hour
)

// options returns the options of the process. It rejects values that would otherwise act as another value: an unknown
// storage of states as the bucket, a negative limit as none, a patience of 0 as no retry.
func (p *processFlags) options() (operator.Options, error) {
	o := p.Options
	if o.ProviderMost = p.providerMost.Value(); o.ProviderMost < 0 {
		return o, fmt.Errorf("--provider-cache-size is %s: it must not be negative; 0 is for no limit",
			p.providerMost.String())
	}
	if err := p.setLimits(&o); err != nil {
		return o, err
	}
	if !o.Operator { // a server serves the runners of all parts
		o.Shard = operator.Shard{}
	}
	if p.oidc.Issuer != "" {
		o.SignIn.OIDC = &p.oidc
	} else if p.oidc.ClientID != "" {
		return o, errors.New("--oidc-client-id needs --oidc-issuer-url")
	}
	if o.StateStorage != v1alpha1.StateStorageSecret && o.StateStorage != v1alpha1.StateStorageBucket {
		return o, fmt.Errorf("--state-storage is %q: it must be %s or %s",
			o.StateStorage, v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket)
	}
	if errs := validation.IsDNS1123Label(o.Namespace); len(errs) > 0 {
		return o, fmt.Errorf("--namespace is %q: %s", o.Namespace, errs[0])
	}
	for flag, limit := range map[string]int{"max-runs": o.MaxRuns, "max-runs-per-namespace": o.MaxRunsPerNamespace} {
		if limit < 0 {
			return o, fmt.Errorf("--%s is %d: it must not be negative; 0 is for no limit", flag, limit)
		}
	}
	for flag, d := range map[string]time.Duration{
		"runner-patience": o.RunnerPatience, "session-lifetime": o.SignIn.Lifetime,
	} {
		if d <= 0 {
			return o, fmt.Errorf("--%s is %s: it must be more than 0", flag, d)
		}
	}
	if o.DriftInterval != 0 && (o.DriftInterval < shortestDriftInterval || o.DriftInterval > longestDriftInterval) {
		return o, fmt.Errorf("--drift-interval is %s: it must be from %s to %s, or 0 for no checks",
			o.DriftInterval, shortestDriftInterval, longestDriftInterval)
	}
	if p := o.MassDrift.Percent; p < 0 || p > 100 {
		return o, fmt.Errorf("--mass-drift-percent is %d: it must be from 1 to 100, or 0 to disable it", p)
	}
	if n := o.MassDrift.Stacks; o.MassDrift.Percent > 0 && n < 1 {
		return o, fmt.Errorf("--mass-drift-stacks is %d: it must be at least 1", n)
	}
	if u, err := url.Parse(o.ServerURL); err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return o, fmt.Errorf("--server-url is %q: it must be an https address, for example "+
			"https://cairn.cairn-system.svc:8443", o.ServerURL)
	}
	return o, nil
}
