package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/operator"
	"cairn.dev/cairn/internal/policy"
)

func serveCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "serve",
		Short: "Run the operator and the server in one process",
		Long: `Runs all of Cairn in one process: the operator, which reconciles, and the server, which serves runners, users and
Git providers. To run them separately, see cairn-controller operator and cairn-controller server.`,
	}, operator.Options{Operator: true, Server: true})
}

// processCommand makes a command of Cairn's own process, which is what options say.
func processCommand(cmd *cobra.Command, o operator.Options) *cobra.Command {
	var (
		kubeconfig string
		home       string
		level      = slog.LevelInfo
		json       bool
		oidc       oidcFlags
		// What it may take beside mirrors and engines.
		providerMost = resource.QuantityValue{Quantity: resource.MustParse("10Gi")}
	)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.StateStorage = v1alpha1.StateStorage(home)
		if err := check(o); err != nil {
			return err
		}
		loading := clientcmd.NewDefaultClientConfigLoadingRules()
		loading.ExplicitPath = kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
		if err != nil {
			return err
		}
		if o.ProviderMost = providerMost.Value(); o.ProviderMost < 0 {
			return fmt.Errorf("--provider-cache-size is %s: 0 is for no limit", providerMost.String())
		}
		if o.Policies, err = policy.NewApart(evaluatePolicies); err != nil {
			return err
		}
		if o.SignIn.OIDC = oidc.provider(); o.SignIn.OIDC == nil && oidc.ClientID != "" {
			return errors.New("--oidc-client-id takes --oidc-issuer-url")
		}
		o.Log = logger(level, json)
		return operator.Run(cmd.Context(), config, o)
	}
	f := cmd.Flags()
	f.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use; default: KUBECONFIG, or the ServiceAccount of the pod")
	f.StringVar(&o.Namespace, "namespace", "cairn-system", "namespace of Cairn, with its keys")
	f.StringVar(&o.BucketURL, "bucket", "file:///var/lib/cairn", "where plans, logs and sources are kept")
	f.DurationVar(&o.BucketGCAfter, "bucket-gc-after", 7*24*time.Hour, "garbage collection deletes code and inputs from the bucket that nothing has referred to for this long; at least 24h, 0 disables it")
	f.StringVar(&o.CacheDir, "cache", "/var/cache/cairn", "folder for mirrors of repositories, engines and providers; what is in it can be fetched again")
	f.StringToStringVar(&o.EngineMirrors, "engine-mirror", nil, "where an engine's releases are, instead of its vendor's own site: OpenTofu=https://..., or file:///... for a folder")
	f.StringToStringVar(&o.EngineKeys, "engine-key", nil, "file with the public keys that an engine's releases are signed with, for a mirror that signs with its own: Terraform=FILE; default: the vendors' keys; OpenTofu's and HashiCorp's are built in, Terragrunt's is fetched and must have the built-in fingerprint")
	f.StringSliceVar(&o.EngineUnsigned, "engine-unsigned", nil, "engines whose releases are taken on their checksum alone when they publish no signature")
	f.BoolVar(&o.ProviderMirror, "provider-mirror", true, "serve providers to runners through the server, downloaded and verified once")
	f.StringVar(&o.ProviderFolder, "provider-folder", "", "folder with providers, as `tofu providers mirror` creates it, that is searched before a registry")
	f.BoolVar(&o.ProviderOffline, "provider-offline", false, "ask no registry for providers")
	f.StringSliceVar(&o.ProviderHosts, "provider-host", nil, "the only registries that are asked for providers; default: any")
	f.Var(&providerMost, "provider-cache-size", "most that archives of providers may take in the cache folder, as in 10Gi; those that were not asked for for the longest time go first; 0 for no limit")
	f.StringVar(&home, "state-storage", string(v1alpha1.StateStorageSecret), "where states are kept: Secret or Bucket; large ones always go to the bucket")
	f.StringVar(&o.StoreAddress, "listen", ":8443", "address that the server listens on, for runners and users (TLS)")
	f.StringVar(&o.WebAddress, "web-listen", ":8080", "address for webhooks of Git providers and for the web UI, plain HTTP: put an Ingress in front; 0 for none")
	f.StringVar(&o.MetacontrollerAddress, "metacontroller", "0", "address for the hooks of metacontroller, plain HTTP, as in :8082 (docs/metacontroller.md); 0 for none")
	f.StringVar(&o.SignIn.URL, "web-url", "", "address of the web UI, as in https://cairn.example.com; default: public-url")
	f.DurationVar(&o.SignIn.Lifetime, "session-lifetime", 12*time.Hour, "lifetime of a session in the browser; never longer than that of the token that the user signed in with")
	f.StringVar(&o.SignIn.Links, "signin-links", "", "directory of links that sign a user in once, as cairn dev creates them")
	_ = f.MarkHidden("signin-links") // it is there
	oidc.addFlags(f)
	f.StringVar(&o.StoreURL, "store-url", "https://cairn.cairn-system.svc:8443", "address of the server for runners; its host is in the server's certificate")
	f.StringVar(&o.PublicURL, "public-url", "", "address of the server for users, as in https://cairn.example.com; default: store-url")
	f.BoolVar(&o.PublishEndpoint, "publish-endpoint", true, "publish the address of the server in ConfigMap cairn of kube-public, which every user of the cluster can read; only one installation of a cluster can")
	f.BoolVar(&o.PublicTrusted, "public-trusted", false, "the certificate at public-url is from a CA that clients trust, such as an Ingress's; without this it is the server's own")
	f.DurationVar(&o.RunnerPatience, "runner-patience", 10*time.Minute, "how long a runner retries requests when the server does not answer")
	f.StringVar(&o.RunnerImage, "runner-image", "", "image that has cairn-runner")
	f.StringVar(&o.RunnerCommand, "runner-command", "/usr/local/bin/cairn-runner", "cairn-runner within the runner image")
	f.StringVar(&o.EngineImage, "engine-image", "", "image that has the engine, for Stacks that name none")
	f.BoolVar(&o.EngineHasRunner, "engine-image-has-runner", false, "the engine image has cairn-runner of this version at /cairn/bin: pods of Stacks that name no image start without copying it, a second sooner")
	f.Var((*pullPolicy)(&o.RunnerPullPolicy), "runner-image-pull-policy", "when the runner image is pulled: Always, IfNotPresent or Never; default: Kubernetes's")
	f.Var((*pullPolicy)(&o.EnginePullPolicy), "engine-image-pull-policy", "when the engine image is pulled: Always, IfNotPresent or Never; default: Kubernetes's")
	f.StringSliceVar(&o.ImagePullSecrets, "image-pull-secret", nil, "Secrets that runner pods pull their images with; each has to be in the namespaces of Stacks, and takes the place of those of the pod's account")
	f.IntVar(&o.MaxRuns, "max-runs", 20, "how many Runs may plan or apply at once; 0 for no limit")
	f.IntVar(&o.MaxRunsPerNamespace, "max-runs-per-namespace", 0, "how many Runs of one namespace may plan or apply at once; 0 for no limit")
	f.DurationVar(&o.DriftInterval, "drift-interval", 12*time.Hour, "how often Stacks are checked for drift that do not set spec.drift.interval; 0 for not at all")
	f.BoolVar(&o.AllowShell, "allow-shell", false, "allow shells in runner pods (cairn shell) to users with the verb shell: secrets are in clear there, and no log has what they do")
	f.BoolVar(&o.AllowUnrestrictedRunners, "allow-unrestricted-runners", false, "let spec.runner.template of Stacks create pods that do not fit Pod Security \"restricted\"")
	addBuildFlags(f, &o.Builds)
	f.StringSliceVar(&o.RunnerTokenAudiences, "runner-token-audience", nil, "audiences for which spec.runner.template may ask for tokens of the pod's account; never one of the Kubernetes API's")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "the only namespaces whose Stacks are run; Roles in them are enough then. Default: all")
	f.IntVar(&o.Shard.Total, "total-shards", 0, "how many operators divide the namespaces among them, by a hash of their names; 16 at most")
	f.IntVar(&o.Shard.Index, "shard", 0, "index of this operator among total-shards, from 0")
	o.RunnerTokens = operator.ReviewTokens
	f.Var(&o.RunnerTokens, "runner-tokens", "how runners' tokens are checked: review asks the API server, jwks needs no permission and takes them until they expire, also when their pod was deleted")
	f.BoolVar(&o.ClientCertificates, "client-certificates", true, "accept client certificates of users from the cluster's CA; reads a ConfigMap of kube-system")
	f.StringVar(&o.CertDir, "cert-dir", "", "folder with tls.crt and tls.key for the host of public-url, read again when they change; default: the server's own certificate")
	f.BoolVar(&o.LeaderElection, "leader-elect", false, "elect a leader among several operators")
	f.StringVar(&o.MetricsAddress, "metrics-address", "0", "address for Prometheus metrics; 0 for none")
	f.StringVar(&o.HealthAddress, "health-address", "0", "address for health and readiness; 0 for none")
	f.StringVar(&o.PprofAddress, "pprof-address", "0", "address for profiles of the process, as in 127.0.0.1:6060; who reaches it sees what is in memory; 0 for none")
	f.TextVar(&level, "log-level", level, "debug, info, warn or error")
	f.BoolVar(&json, "log-json", false, "log as JSON")
	hideOthers(f, o)
	return cmd
}

// The limits of --drift-interval are those of spec.drift.interval.
const (
	shortestDriftInterval = 10 * time.Second
	longestDriftInterval  = 8760 * time.Hour
)

// check refuses what cannot be meant, and for which something else would be done without a word: a home of states that is not known is the
// bucket, a limit below 0 is none, a patience of 0 gives a state up that the store does not take at once.
func check(o operator.Options) error {
	if o.StateStorage != v1alpha1.StateStorageSecret && o.StateStorage != v1alpha1.StateStorageBucket {
		return fmt.Errorf("--state-storage is %q: it is %s or %s", o.StateStorage, v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket)
	}
	if errs := validation.IsDNS1123Label(o.Namespace); len(errs) > 0 {
		return fmt.Errorf("--namespace is %q: %s", o.Namespace, errs[0])
	}
	for flag, limit := range map[string]int{"max-runs": o.MaxRuns, "max-runs-per-namespace": o.MaxRunsPerNamespace} {
		if limit < 0 {
			return fmt.Errorf("--%s is %d: 0 is for no limit", flag, limit)
		}
	}
	for flag, d := range map[string]time.Duration{"runner-patience": o.RunnerPatience, "session-lifetime": o.SignIn.Lifetime} {
		if d <= 0 {
			return fmt.Errorf("--%s is %s: it has to be more than 0", flag, d)
		}
	}
	if o.DriftInterval != 0 && (o.DriftInterval < shortestDriftInterval || o.DriftInterval > longestDriftInterval) {
		return fmt.Errorf("--drift-interval is %s: it has to be from %s to %s, or 0 for no checks", o.DriftInterval, shortestDriftInterval, longestDriftInterval)
	}
	if u, err := url.Parse(o.StoreURL); err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("--store-url is %q: an address with https is needed, as in https://cairn.cairn-system.svc:8443", o.StoreURL)
	}
	return nil
}

// logger writes to standard error.
func logger(level slog.Level, json bool) logr.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, options))
}
