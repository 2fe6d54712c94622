package check

import (
	"fmt"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"cairn.dev/cairn/internal/base/version"
)

// Level is how a check ended.
type Level string

// Levels of results.
const (
	OK      Level = "OK"
	Warning Level = "warning"
	Error   Level = "error"
)

// Result is the result of a check: what was found, and what to do if that prevents an installation.
type Result struct {
	Level         Level
	Check         string
	Message, ToDo string
}

// docs is the URL of the documentation.
const docs = version.Docs

// oldest is the oldest version of Kubernetes that Cairn runs on, as kubeVersion of the chart.
const oldest = "1.31"

// Decide returns the results of all checks.
func Decide(f Facts) []Result {
	return slices.Concat(
		[]Result{kubernetes(f), rights(f)}, crds(f),
		[]Result{server(f), nodes(f), storage(f), webhooks(f)},
	)
}

// unread is the result of what could not be read.
func unread(check string, err error) Result {
	return Result{Warning, check, fmt.Sprintf("not verified: %v", err),
		"ask a cluster administrator to run this command"}
}

func kubernetes(f Facts) Result {
	const check = "Kubernetes"
	if f.Kubernetes.Err != nil {
		return Result{Error, check, f.Kubernetes.Err.Error(), "check the context of your kubeconfig"}
	}
	got, err := utilversion.ParseGeneric(f.Kubernetes.Value)
	switch {
	case err != nil:
		return unread(check, fmt.Errorf("the API server reports the version %q", f.Kubernetes.Value))
	case got.LessThan(utilversion.MustParseGeneric(oldest)):
		return Result{Error, check, f.Kubernetes.Value, "update it: Cairn needs " + oldest + " or later"}
	}
	return Result{Level: OK, Check: check, Message: f.Kubernetes.Value}
}

// mutating returns whether a version of Kubernetes has mutating admission policies, which the chart then creates.
func mutating(kubernetes string) bool {
	version, err := utilversion.ParseGeneric(kubernetes)
	return err == nil && version.AtLeast(utilversion.MustParseGeneric("1.36"))
}

func rights(f Facts) Result {
	const check = "permissions"
	if f.Rights.Err != nil {
		return unread(check, f.Rights.Err)
	}
	var missing []string
	for _, r := range f.Rights.Value {
		if r.Allowed {
			continue
		}
		name := r.Verb + " " + r.Resource
		if r.Group != "" {
			name += "." + r.Group
		}
		if r.Namespace != "" {
			name += " in namespace " + r.Namespace
		}
		missing = append(missing, name)
	}
	if len(missing) > 0 {
		return Result{Error, check, "you may not " + strings.Join(missing, ", "),
			"install as a cluster administrator, or with fewer permissions: " + docs +
				"how-to/namespaces.md#install-with-roles-alone"}
	}
	return Result{Level: OK, Check: check, Message: fmt.Sprintf("you have all %d that an installation needs",
		len(f.Rights.Value))}
}

// group is the API group of Cairn.
const group = "cairn.dev"

// crds compares the CRDs of Cairn with this program and the release, and finds others of the same names.
func crds(f Facts) []Result {
	const check = "CRDs"
	if f.CRDs.Err != nil {
		return []Result{unread(check, f.CRDs.Err)}
	}
	var clash []string
	var results []Result
	versions, releases := map[string]bool{}, map[string]bool{}
	for _, c := range f.CRDs.Value {
		if _, of, _ := strings.Cut(c.Name, "."); of == group {
			versions[c.Version] = true
			releases[strings.Trim(c.Namespace+"/"+c.Release, "/")] = true
		}
	}
	for _, c := range f.CRDs.Value {
		plural, of, _ := strings.Cut(c.Name, ".")
		if of != group && slices.Contains(shared, plural) {
			clash = append(clash, c.Name)
		}
	}
	switch want := f.Namespace + "/" + f.Release; {
	case len(versions) == 0:
		results = append(results, Result{Level: OK, Check: check, Message: "Cairn's are not installed yet"})
	case len(releases) > 1 || !releases[want]:
		results = append(results, foreign(check, sorted(releases), want))
	default:
		results = append(results, sameVersion(check, sorted(versions), f.Program))
	}
	if len(clash) > 0 {
		slices.Sort(clash)
		results = append(results, Result{Warning, check, "others have the same names: " + strings.Join(clash, ", "),
			"use the names with the group in kubectl, such as stacks." + group})
	}
	return results
}

// shared are plural names of Cairn's CRDs that other projects use too.
var shared = []string{"notifications", "pipelines", "repositories", "runs", "stacks", "stacksets", "states"}

// foreign is the result of CRDs that belong to another release than the one to install.
func foreign(check string, releases []string, want string) Result {
	if len(releases) == 1 && releases[0] == "" {
		return Result{Error, check, "Cairn's are installed without Helm, which would reject them",
			"install with --set crds.install=false, or with kubectl"}
	}
	return Result{Error, check,
		fmt.Sprintf("Cairn's belong to the Helm release %s and not to %s, which Helm would reject",
			strings.Join(releases, ", "), want), "upgrade that release, or install a second one with --set " +
			"crds.install=false: " +
			docs + "how-to/namespaces.md#two-installations-in-one-cluster"}
}

// sameVersion is the result of CRDs of the release to install.
func sameVersion(check string, versions []string, program string) Result {
	if len(versions) > 1 {
		return Result{Warning, check, "Cairn's have several versions: " + strings.Join(versions, ", "),
			"an earlier upgrade did not finish: upgrade the release again"}
	}
	if plain := strings.TrimPrefix(program, "v"); versions[0] != plain {
		return Result{Warning, check, fmt.Sprintf("Cairn's have version %q, and this program %q", versions[0], plain),
			"an installation upgrades them: read " + docs + "how-to/upgrade.md first"}
	}
	return Result{Level: OK, Check: check, Message: "Cairn's have version " + versions[0]}
}

func server(f Facts) Result {
	const check = "server"
	switch {
	case f.Server.Err != nil:
		return unread(check, f.Server.Err)
	case f.Server.Value != "":
		return Result{Warning, check, "an installation has published " + f.Server.Value +
			" in ConfigMap kube-public/cairn",
			"upgrade it, or install a second one with --set publishEndpoint=false"}
	}
	return Result{Level: OK, Check: check, Message: "no other installation has published its address"}
}

// architectures are those of the images.
var architectures = []string{"amd64", "arm64"}

func nodes(f Facts) Result {
	const check = "nodes"
	if f.Nodes.Err != nil {
		return unread(check, f.Nodes.Err)
	}
	fit := 0
	for _, n := range f.Nodes.Value {
		if n.Usable && n.System == "linux" && slices.Contains(architectures, n.Architecture) {
			fit++
		}
	}
	if fit == 0 {
		return Result{Warning, check, fmt.Sprintf("none of %d is ready for pods with Linux on amd64 or arm64",
			len(f.Nodes.Value)),
			"add one, unless the cluster creates nodes for pods that wait"}
	}
	return Result{Level: OK, Check: check, Message: fmt.Sprintf("%d of %d fit", fit, len(f.Nodes.Value))}
}

func webhooks(f Facts) Result {
	const check = "webhooks"
	if f.Webhooks.Err != nil {
		return unread(check, f.Webhooks.Err)
	}
	var down []string
	for _, w := range f.Webhooks.Value {
		if w.Service != "" && !w.Ready {
			down = append(down, fmt.Sprintf("%s (Service %s)", w.Name, w.Service))
		}
	}
	if len(down) > 0 {
		slices.Sort(down)
		return Result{Warning, check, "not ready, and without an answer the API server rejects pods or objects of " +
			"Cairn that they select: " + strings.Join(down, ", "), "repair or delete them"}
	}
	return Result{Level: OK, Check: check,
		Message: fmt.Sprintf("%d can reject pods or objects of Cairn, and none is unavailable",
			len(f.Webhooks.Value))}
}

func sorted(set map[string]bool) []string {
	var all []string
	for value := range set {
		all = append(all, value)
	}
	slices.Sort(all)
	return all
}
