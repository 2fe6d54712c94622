package migrate

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/generate"
)

// uncovered returns the fields of an object that no note mentions.
func uncovered(u unstructured.Unstructured, notes []manifest.Note) []string {
	noted := map[string]bool{}
	for _, n := range notes {
		if n.Object.Name == u.GetName() && n.Object.Namespace == u.GetNamespace() && n.Object.Kind == u.GetKind() &&
			n.Object.APIVersion == u.GetAPIVersion() {
			noted[n.Field] = true
		}
	}
	if noted[""] && len(noted) == 1 { // the note is about the whole object
		return nil
	}
	var left []string
	var walk func(f manifest.Field)
	walk = func(f manifest.Field) {
		if !f.Exists() || noted[f.Path] {
			return
		}
		var in []manifest.Field
		switch f.Value.(type) {
		case map[string]any:
			in = f.Fields()
		case []any:
			in = f.Items()
		}
		for _, inner := range in {
			walk(inner)
		}
		if len(in) == 0 {
			left = append(left, f.Path)
		}
	}
	walk(manifest.NewObject(u).At("spec"))
	return left
}

// TestNoFieldIsDroppedSilently checks that each field, known or unknown, has a note.
func TestNoFieldIsDroppedSilently(t *testing.T) {
	for _, file := range inputs(t) {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := Read(text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range objects {
				if objects[i].GroupVersionKind().Group == v1alpha1.GroupVersion.Group ||
					objects[i].Object["spec"] == nil {
					continue
				}
				if spec, ok := objects[i].Object["spec"].(map[string]any); ok {
					spec["unknownField"] = map[string]any{"a.b": int64(1)}
				}
			}
			r, err := Convert(objects)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range objects {
				if left := uncovered(u, r.Notes); len(left) > 0 && convert.IndexOf(kinds, u.GetAPIVersion(),
					u.GetKind()) >= 0 {
					t.Errorf("%s %s: no note mentions %v", u.GetKind(), u.GetName(), left)
				}
			}
		})
	}
}

func TestUnknownFieldHasANote(t *testing.T) {
	r := convertText(t, []byte(
		`{apiVersion: tf.tf-operator.io/v1alpha1, kind: Stack, metadata: {name: a, labels: {}}, spec: {tfconfig: {name: c, more: 1}, other: {"a.b": [x]}}}`))
	var unknown []string
	for _, n := range r.Notes {
		if n.Outcome == manifest.Unknown {
			unknown = append(unknown, n.Field)
		}
	}
	if diff := cmp.Diff([]string{`spec.other["a.b"][0]`, "spec.tfconfig.more"}, unknown); diff != "" {
		t.Error(diff)
	}
}

// TestSecretsAreNotCopied checks that neither the manifests nor the notes contain a value of a Secret or a secret
// argument of a backend. The inputs contain these words.
func TestSecretsAreNotCopied(t *testing.T) {
	for _, file := range inputs(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := convertText(t, text)
		output := append(manifests(t, r), manifest.Text(r.Notes)...)
		for _, secret := range []string{"shh-canary", "c2hoLWNhbmFyeQ=="} {
			if i := bytes.Index(output, []byte(secret)); i >= 0 {
				t.Errorf("%s: %s", file, output[max(i-200, 0):min(i+100, len(output))])
			}
		}
	}
}

func TestNameConflictsBetweenSystems(t *testing.T) {
	const two = `
apiVersion: tf.tf-operator.io/v1alpha1
kind: Stack
metadata: {name: demo, namespace: a}
spec: {tfconfig: {name: c}}
---
apiVersion: tf.galleybytes.com/v1beta1
kind: Terraform
metadata: {name: demo, namespace: a}
spec: {terraformVersion: 1.5.5, terraformModule: {inline: x}, backend: 'backend "http" {}'}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: demo, namespace: b}
spec: {sourceRef: {kind: GitRepository, name: x}, interval: 1m}
`
	r := convertText(t, []byte(two))
	var names []string
	for _, s := range r.Stacks {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"a/demo", "a/demo-tf-operator", "b/demo"}, names); diff != "" {
		t.Error(diff)
	}
	if text := manifest.Text(r.Notes); !strings.Contains(text,
		"metadata.name demo-tf-operator: Terraform a/demo (terraform-operator) has the name demo") {
		t.Error(text)
	}
	// Existing objects of Cairn keep their names, and the others are renamed.
	r = convertText(t, []byte(two+`
---
apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata: {name: demo, namespace: a}
spec: {source: {inline: {main.tf: ""}}}
`))
	names = nil
	for _, s := range r.Stacks {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"a/demo", "a/demo-terraform-operator", "a/demo-tf-operator", "b/demo"},
		names); diff != "" {
		t.Error(diff)
	}
}

func TestLongNamesAreTruncated(t *testing.T) {
	name := strings.Repeat("n", 250)
	r := convertText(t, fmt.Appendf(nil,
		`{apiVersion: tf.tf-operator.io/v1alpha1, kind: Stack, metadata: {name: %s}, spec: {tfconfig: {name: c}}}`,
		name))
	if got := r.Stacks[0].Name; len(got) != convert.MaxStackName || got != convert.Shorten(name, convert.MaxStackName) {
		t.Error(got)
	}
}

func TestInvalidInputIsRejected(t *testing.T) {
	const layer = "apiVersion: config.terraform.padok.cloud/v1alpha1\nkind: TerraformLayer\nmetadata: {name: a, " +
		"namespace: ns}\nspec: "
	for name, tt := range map[string]struct{ text, want string }{
		"no kind": {"{apiVersion: v1}", "an object without apiVersion and kind"},
		"a namespace of no text": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}}",
			"ConfigMap a: metadata.namespace: a string is wanted, and this is true or false"},
		"no name":     {"{apiVersion: v1, kind: ConfigMap}", "metadata.name is missing"},
		"no object":   {"[1]", "document 1: it is not an object of Kubernetes"},
		"no YAML":     {"a: b: c", "document 1: "},
		"a key twice": {"a: 1\na: 2", "document 1: "},
		"two without a line": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n{apiVersion: v1, kind: " +
			"ConfigMap, metadata: {name: b}}", "document 1: something follows the end of its object"},
		"one behind an end": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n...\napiVersion: v1",
			"document 1: something follows the end of its object"},
		"a list of no objects": {"{kind: List, apiVersion: v1, items: [1]}",
			"items[0] is not an object of Kubernetes"},
		"a number for a path": {layer + "{path: 3}", "TerraformLayer ns/a: spec.path: a string is wanted, and this " +
			"is a number"},
		"a path that leaves": {layer + "{path: ../x}", "TerraformLayer ns/a: spec.path: the path ../x leaves " +
			"the repository"},
		"a text for a truth": {layer + `{remediationStrategy: {autoApply: "yes"}}`,
			"true or false is wanted, and this is a string"},
		"half a number": {layer + `{runHistoryPolicy: {runs: 1.5}}`,
			"a whole number is wanted, and this is 1.5"},
		"a map for a list": {layer + `{overrideRunnerSpec: {env: {a: b}}}`, "a list is wanted, and this is a map"},
		"the same, differently": {layer + "{path: a}\n---\n" + layer + "{path: b}",
			"TerraformLayer ns/a is there twice, and not the same"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Read([]byte(tt.text))
			var r convert.Result
			if err == nil {
				r, err = Convert(objects)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if len(r.Stacks)+len(r.Repositories)+len(r.Notes) > 0 {
				t.Error("there is a result")
			}
		})
	}
}

// TestConcatenatedJSONObjects checks the output of jq, and of commands in a loop.
func TestConcatenatedJSONObjects(t *testing.T) {
	objects, err := Read([]byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]} {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
---
# YAML ends with an optional line.
{apiVersion: v1, kind: ConfigMap, metadata: {name: d}} # and a comment
...
`))
	var names []string
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, names); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestDuplicateObjects(t *testing.T) {
	const stack = "apiVersion: tf.tf-operator.io/v1alpha1\nkind: Stack\nmetadata: {name: a}\nspec: {tfconfig: " +
		"{name: c}}\n"
	if r := convertText(t, []byte(stack+"---\n"+stack)); len(r.Stacks) != 1 {
		t.Error(r.Stacks)
	}
}

func TestDeletedObjectsAreSkipped(t *testing.T) {
	r := convertText(t, []byte(
		`{apiVersion: tf.tf-operator.io/v1alpha1, kind: Stack, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {tfconfig: {name: c}}}`))
	if len(r.Stacks) != 0 || !strings.Contains(manifest.Text(r.Notes), "it is being deleted") {
		t.Error(r.Stacks, manifest.Text(r.Notes))
	}
}

func TestUnknownVersionIsReported(t *testing.T) {
	r := convertText(t, []byte(`{apiVersion: tf.galleybytes.com/v9, kind: Terraform, metadata: {name: a}, spec: {}}`))
	if len(r.Stacks) != 0 || !strings.Contains(manifest.Text(r.Notes), "of this kind the versions v1beta1 are known") {
		t.Error(r.Stacks, manifest.Text(r.Notes))
	}
}

func TestHeldStacksNeitherApplyNorDestroy(t *testing.T) {
	for _, file := range inputs(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := convertText(t, text)
		was := convertText(t, text)
		objects, err := Read(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Hold()
		for i, s := range r.Stacks {
			if slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
				return o.GetAPIVersion() == s.APIVersion && o.GetNamespace() == s.Namespace && o.GetName() == s.Name &&
					o.GetKind() == "Stack"
			}) {
				if diff := cmp.Diff(was.Stacks[i], s); diff != "" {
					t.Errorf("%s: an existing %s is changed: %s", file, s.Name, diff)
				}
				continue
			}
			if s.Spec.Apply == v1alpha1.ApplyAutomatic || s.Spec.DeletionPolicy == v1alpha1.DeletionDestroy ||
				s.Spec.DeletionPolicy == "" {
				t.Errorf("%s: %s has apply %s and deletion %s", file, s.Name, s.Spec.Apply, s.Spec.DeletionPolicy)
			}
		}
	}
	r := convertText(t, []byte(
		`{apiVersion: tf.tf-operator.io/v1alpha1, kind: Stack, metadata: {name: a}, spec: {tfconfig: {name: c}}}`))
	r.Hold()
	if text := manifest.Text(r.Notes); !strings.Contains(text, "Manual for now") ||
		!strings.Contains(text, "Orphan for now") {
		t.Error(text)
	}
}

// TestLabelsOfToolsAreDropped checks labels and annotations by which a tool selects the objects that it manages: the
// tool would delete or overwrite the Stack.
func TestLabelsOfToolsAreDropped(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: tf.tf-operator.io/v1alpha1
kind: Stack
metadata:
  name: a
  labels: {team: net, kustomize.toolkit.fluxcd.io/name: x, app.kubernetes.io/managed-by: Helm}
  annotations: {owner: me, argocd.argoproj.io/tracking-id: x, kubectl.kubernetes.io/last-applied-configuration: "{}"}
  ownerReferences: [{kind: App, name: b}]
spec: {tfconfig: {name: c}}
`))
	s := r.Stacks[0]
	if diff := cmp.Diff([]map[string]string{{"team": "net"}, {"owner": "me"}},
		[]map[string]string{s.Labels, s.Annotations}); diff != "" || len(s.OwnerReferences) > 0 {
		t.Error(diff, s.OwnerReferences)
	}
	if text := manifest.Text(r.Notes); !strings.Contains(text, "the owner of the old object has to create the Stack") {
		t.Error(text)
	}
}

// TestRepositoriesOfTheSameName checks that objects of two systems with the same name get different Repositories, also
// if one of them does not exist yet. Otherwise a Stack would run the code of another.
func TestRepositoriesOfTheSameName(t *testing.T) {
	const layer = `
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: layer, namespace: a}
spec: {path: x, branch: main, repository: {name: infra}}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: tofu, namespace: a}
spec: {path: code, interval: 1m, sourceRef: {kind: GitRepository, name: infra}}
---
apiVersion: alustan.io/v1alpha1
kind: Terraform
metadata: {name: infra, namespace: a}
spec: {provider: aws, scripts: {deploy: deploy.sh}, containerRegistry: {imageName: i, semanticVersion: 1.0.0}}
`
	const sources = `
---
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformRepository
metadata: {name: infra, namespace: a}
spec: {repository: {url: "https://git.example.com/acme/burrito.git"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: infra, namespace: NAMESPACE}
spec: {url: "https://git.example.com/acme/flux.git", interval: 1m}
`
	const mine = `
---
apiVersion: cairn.dev/v1alpha1
kind: Repository
metadata: {name: infra, namespace: a}
spec: {url: "https://git.example.com/acme/mine.git"}
`
	for name, tt := range map[string]struct{ text, want string }{
		"all": {layer + strings.ReplaceAll(sources, "NAMESPACE", "a"),
			"burrito:infra flux:infra-flux | infra:infra-alustan layer:infra tofu:infra-flux"},
		"Cairn's": {layer + strings.ReplaceAll(sources, "NAMESPACE", "a") + mine,
			"mine:infra burrito:infra-burrito flux:infra-flux | infra:infra-alustan layer:infra-burrito " +
				"tofu:infra-flux"},
		"one absent": {layer + strings.ReplaceAll(sources, "NAMESPACE", "b"),
			"burrito:infra | infra:infra-alustan layer:infra tofu:infra-tofu-controller"},
		"one deleted": {layer + strings.ReplaceAll(sources, "NAMESPACE",
			`a, deletionTimestamp: "2026-01-01T00:00:00Z"`),
			"burrito:infra | infra:infra-alustan layer:infra tofu:infra-tofu-controller"},
		"all absent": {layer, " | infra:infra layer:infra-burrito tofu:infra-tofu-controller"},
	} {
		r := convertText(t, []byte(tt.text))
		var repositories, stacks []string
		for _, repo := range r.Repositories {
			repositories = append(repositories,
				strings.TrimSuffix(strings.TrimPrefix(repo.Spec.URL, "https://git.example.com/acme/"), ".git")+
					":"+repo.Name)
		}
		for _, s := range r.Stacks {
			stacks = append(stacks, s.Name+":"+s.Spec.Source.Git.Repository.Name)
		}
		if got := strings.Join(repositories, " ") + " | " + strings.Join(stacks, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestRepositoriesOfAddresses checks that objects with the same address and Secret share a Repository, and that others
// do not.
func TestRepositoriesOfAddresses(t *testing.T) {
	const one = `
apiVersion: tf.galleybytes.com/v1beta1
kind: Terraform
metadata: {name: NAME, namespace: ns}
spec: {terraformVersion: 1.5.5, terraformModule: {source: "SOURCE"}, backend: 'backend "http" {}'}
`
	var text string
	for name, source := range map[string]string{
		"a": "https://git.example.com/acme/infra.git//a?ref=main",
		"b": "https://git.example.com/acme/infra.git//b?ref=v1", "c": "https://other.example.com/acme/infra.git",
	} {
		text += "---" + strings.NewReplacer("NAME", name, "SOURCE", source).Replace(one)
	}
	r := convertText(t, []byte(text))
	var got []string
	for _, repo := range r.Repositories {
		got = append(got, repo.Name+" "+repo.Spec.URL)
	}
	for _, s := range r.Stacks {
		got = append(got, s.Name+" "+s.Spec.Source.Git.Repository.Name+" "+s.Spec.Source.Git.Path+" "+
			s.Spec.Source.Git.Ref)
	}
	other := "acme-infra-" + convert.Digest("https://other.example.com/acme/infra.git")
	want := []string{
		"acme-infra https://git.example.com/acme/infra.git", other + " https://other.example.com/acme/infra.git",
		"a acme-infra a main", "b acme-infra b v1", "c " + other + "  master",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCommandsInNotesAreQuoted checks that a command in a note has no command from a manifest.
func TestCommandsInNotesAreQuoted(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: alustan.io/v1alpha1
kind: Terraform
metadata: {name: a, namespace: n-1}
spec:
  scripts: {apply: {inline: x}}
  gitRepo: {url: "git@git.example.com:acme/infra.git", branch: main, sshKeySecret: {name: "k; touch /tmp/a", key: "x}'; touch /tmp/b; '"}}
`))
	text := manifest.Text(r.Notes)
	for _, want := range []string{`get secret 'k; touch /tmp/a' -o`,
		`'{{index .data "x}'\''; touch /tmp/b; '\''" | base64decode}}'`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestNotesAreEscaped checks that values of a manifest neither contain control sequences nor imitate a note.
func TestNotesAreEscaped(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: "v1\e[2J"
kind: "Widget\nStack b (v1)"
metadata: {name: "a\e]0;x\a\u202e"}
---
apiVersion: tf.galleybytes.com/v1beta1
kind: Terraform
metadata: {name: b}
spec: {terraformVersion: "1.5.5\n  spec.apply  became  spec.apply Never\e[1A", terraformModule: {inline: x}, backend: 'backend "http" {}'}
`))
	text := manifest.Text(r.Notes)
	if strings.ContainsAny(text, "\x1b\a\u202e") || strings.Contains(text, "\nStack b") ||
		strings.Contains(text, "\n  spec.apply  became") {
		t.Errorf("%q", text)
	}
}

// TestQuotesOfArgumentsAreRemoved checks arguments in the quotes of a shell: with the quotes in a key, the engine would
// read another state.
func TestQuotesOfArgumentsAreRemoved(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: l, namespace: a}
spec:
  path: net
  branch: main
  opentofu: {enabled: true}
  repository: {name: infra}
  overrideRunnerSpec:
    extraInitArgs:
    - -backend-config="bucket=my states"
    - -backend-config=key="net.tfstate" --backend-config='region=eu-west-1'
    - -backend-config=profile=a\ b
    - -backend-config="open=1
    extraPlanArgs: ['-var-file="../prod.tfvars"', "-var 'password=shh-canary'"]
`))
	s := r.Stacks[0].Spec
	config := map[string]string{}
	for name, value := range s.Backend.Config {
		config[name] = string(value.Raw)
	}
	want := map[string]string{"bucket": `"my states"`, "key": `"net.tfstate"`, "region": `"eu-west-1"`,
		"profile": `"a b"`}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
	if text := manifest.Text(r.Notes); strings.Contains(text, "shh-canary") ||
		!strings.Contains(text, "a quote in it does not end") {
		t.Error(text)
	}
}

// TestEmptyRepositoryNameIsRejected checks an object without a repository, whose Stack the API server would reject.
func TestEmptyRepositoryNameIsRejected(t *testing.T) {
	for _, text := range []string{
		`{"apiVersion": "config.terraform.padok.cloud/v1alpha1", "kind": "TerraformLayer", "metadata": {"name": "net"}, "spec": {"path": "net", "branch": "main", "repository": {"name": ""}}}`,
		`{"apiVersion": "config.terraform.padok.cloud/v1alpha1", "kind": "TerraformLayer", "metadata": {"name": "net"}, "spec": {"path": "net", "branch": "main"}}`,
		`{"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform", "metadata": {"name": "net"}, "spec": {"path": "net", "sourceRef": {"kind": "GitRepository", "name": ""}}}`,
	} {
		objects, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Convert(objects); err == nil || !strings.Contains(err.Error(), "it names no object") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Burrito 0.2 to 0.4 had Terragrunt below terraform, and no other engine than Terraform.
func TestTerragruntOfOldBurrito(t *testing.T) {
	const repository = `{"apiVersion": "config.terraform.padok.cloud/v1alpha1", "kind": "TerraformRepository", "metadata": {"name": "infra"},
		"spec": {"repository": {"url": "https://git.example.com/acme/infra.git"}, "terraform": {"version": "1.5.7", "terragrunt": {"enabled": %t, "version": "0.45.4"}}}}`
	const layer = `{"apiVersion": "config.terraform.padok.cloud/v1alpha1", "kind": "TerraformLayer", "metadata": {"name": "net"},
		"spec": {"path": "net", "branch": "main", "repository": {"name": "infra"}%s}}`
	grunt := func(version string) v1alpha1.Engine {
		return v1alpha1.Engine{
			Name: v1alpha1.EngineTerragrunt, Version: version,
			Wrapped: &v1alpha1.WrappedEngine{Name: v1alpha1.EngineTerraform, Version: "1.5.7"},
		}
	}
	for _, c := range []struct {
		repository bool
		layer      string
		want       v1alpha1.Engine
	}{
		{true, ``, grunt("0.45.4")},
		{false, ``, v1alpha1.Engine{Name: v1alpha1.EngineTerraform, Version: "1.5.7"}},
		{false, `, "terraform": {"terragrunt": {"enabled": true, "version": "0.44.5"}}`, grunt("0.44.5")},
		{true, `, "terraform": {"version": "1.3.1", "terragrunt": {"enabled": false}}`,
			v1alpha1.Engine{Name: v1alpha1.EngineTerraform, Version: "1.3.1"}},
	} {
		objects, err := Read([]byte(fmt.Sprintf(repository, c.repository) + "\n---\n" + fmt.Sprintf(layer, c.layer)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Convert(objects)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, r.Repositories[0].EngineFor(&r.Stacks[0])); diff != "" {
			t.Errorf("%t%s:\n%s", c.repository, c.layer, diff)
		}
		for _, n := range r.Notes {
			if n.Outcome == manifest.Unknown {
				t.Errorf("%t%s: %s is unknown", c.repository, c.layer, n.Field)
			}
		}
		for _, u := range objects {
			if left := uncovered(u, r.Notes); len(left) > 0 {
				t.Errorf("%s: no note mentions %v", u.GetKind(), left)
			}
		}
	}
}

// TestStateKeyInTheAlustanBucket checks that the key of a state is that of the object, whatever the name of the Stack:
// two objects do not share a state.
func TestStateKeyInTheAlustanBucket(t *testing.T) {
	object := func(namespace, name string) string {
		return fmt.Sprintf(`
apiVersion: alustan.io/v1alpha1
kind: Terraform
metadata: {namespace: %q, name: %s}
spec:
  backend: {provider: aws, s3: states}
  gitRepo: {url: "https://git.example.com/acme/net.git"}
---
`, namespace, name)
	}
	const own = `
apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata: {namespace: a, name: net}
spec: {source: {inline: {main.tf: ""}}}
`
	r := convertText(t, []byte(object("a", "net")+object("a", "dns")+object("b", "net")+object("", "net")+own))
	got := map[string]string{}
	for _, s := range r.Stacks {
		if s.Spec.Backend != nil {
			got[s.Namespace+"/"+s.Name] = string(s.Spec.Backend.Config["key"].Raw)
		}
	}
	want := map[string]string{
		"a/net-alustan": `"a/net/terraform.tfstate"`, "a/dns": `"a/dns/terraform.tfstate"`,
		"b/net": `"b/net/terraform.tfstate"`, "/net": `"default/net/terraform.tfstate"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWorkspaces checks objects that select a workspace: two of one folder without spec.workspace would apply to one
// state, that of the default workspace. Where the name is in another object the Stack is suspended.
func TestWorkspaces(t *testing.T) {
	const layer = `
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: a}
spec: {path: net, branch: main, repository: {name: infra}, remediationStrategy: {autoApply: true}, overrideRunnerSpec: {env: [{name: TF_WORKSPACE, WORKSPACE}]}}
`
	const repository = `
---
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformRepository
metadata: {name: infra}
spec: {repository: {url: "https://git.example.com/acme/infra.git"}, overrideRunnerSpec: {env: [{name: TF_WORKSPACE, WORKSPACE}]}}
`
	const flux = `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: a}
spec: {interval: 1m, approvePlan: auto, sourceRef: {kind: GitRepository, name: infra}, backendConfig: {disable: true}, WORKSPACE}
`
	const script = `
apiVersion: alustan.io/v1alpha1
kind: Terraform
metadata: {name: a}
spec: {variables: {WORKSPACE}, scripts: {apply: {inline: x}}, gitRepo: {url: "https://git.example.com/acme/infra.git"}}
`
	const task = `
apiVersion: tf.galleybytes.com/v1beta1
kind: Terraform
metadata: {name: a}
spec: {terraformVersion: 1.5.5, terraformModule: {inline: x}, backend: 'backend "http" {}', taskOptions: [{for: ["*"], env: [{name: TF_WORKSPACE, WORKSPACE}]}]}
`
	for name, tt := range map[string]struct {
		text, workspace string
		want            string
		suspended       bool
	}{
		"of a layer":  {layer, "value: prod", "prod", false},
		"of a Secret": {layer, "valueFrom: {secretKeyRef: {name: a, key: b}}", "", true},
		"of the repository of a layer": {
			strings.Replace(layer, ", overrideRunnerSpec: {env: [{name: TF_WORKSPACE, WORKSPACE}]}", "",
				1) + repository, "value: prod", "prod", false},
		"the default one of a layer":       {layer, "value: default", "", false},
		"of the code's backend":            {flux, "workspace: prod", "prod", false},
		"the default of the code's":        {flux, "workspace: default", "", false},
		"of scripts":                       {script, "TF_WORKSPACE: prod", "prod", false},
		"the default one of scripts":       {script, "TF_WORKSPACE: default", "", false},
		"of a task":                        {task, "value: prod", "prod", false},
		"the default one of a task's pods": {task, "value: default", "", false},
	} {
		r := convertText(t, []byte(strings.ReplaceAll(tt.text, "WORKSPACE}", tt.workspace+"}")))
		s, note := r.Stacks[0].Spec, "set spec.workspace to that name"
		if s.Workspace != tt.want || s.Suspend != tt.suspended ||
			strings.Contains(manifest.Text(r.Notes), note) != tt.suspended || len(s.Env) > 0 {
			t.Errorf("%s: workspace %q, suspend is %v, env %v\n%s", name, s.Workspace, s.Suspend, s.Env,
				manifest.Text(r.Notes))
		}
	}
}

// TestRefsOfFluxSources checks that a Stack gets the code of the branch that Flux fetched, which is master where the
// source names none.
func TestRefsOfFluxSources(t *testing.T) {
	const source = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: infra}
spec: {url: "https://git.example.com/acme/infra.git", interval: 1m, REF}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: net}
spec: {interval: 1m, sourceRef: {kind: GitRepository, name: infra}}
`
	for ref, want := range map[string]string{
		"":                                "master",
		"ref: {}":                         "master",
		"ref: {branch: main}":             "main",
		"ref: {branch: main, tag: v1}":    "v1",
		"ref: {name: refs/heads/release}": "release",
		`ref: {semver: ">=1.0"}`:          "",
	} {
		r := convertText(t, []byte(strings.Replace(source, "REF", ref, 1)))
		if got := r.Repositories[0].Spec.Ref; got != want {
			t.Errorf("%s: spec.ref is %q, want %q", ref, got, want)
		}
	}
}

// TestPasswordInAnAlustanAddress checks that the password of an address is not in the Repository, which the API server
// would reject.
func TestPasswordInAnAlustanAddress(t *testing.T) {
	for _, at := range []string{"git.example.com/acme/infra.git", "github.com/acme/infra"} {
		r := convertText(t, []byte(`
apiVersion: alustan.io/v1alpha1
kind: Terraform
metadata: {name: a}
spec: {scripts: {apply: {inline: x}}, gitRepo: {url: "https://me:shh-canary@`+at+`"}}
`))
		text := manifest.Text(r.Notes)
		if url := r.Repositories[0].Spec.URL; url != "https://"+at || strings.Contains(text, "shh-canary") ||
			!strings.Contains(text, "spec.credentials") {
			t.Errorf("%s\n%s", url, text)
		}
	}
}

// TestCommandsForStatesNameTheNamespace checks that a command of a note pushes a state to the Stack of the note: in the
// namespace of the user's kubeconfig, another Stack can have the name.
func TestCommandsForStatesNameTheNamespace(t *testing.T) {
	commands := regexp.MustCompile(`cairn (-n \S+ )?(state push|resume) [a-z-]+`)
	for _, file := range append(inputs(t), "testdata/generate/monorepo.txtar") {
		var r convert.Result
		if strings.HasSuffix(file, ".txtar") {
			var err error
			if r, err = generate.Generate(generate.Code{Files: repositoryOf(t, file),
				URL: "https://git.example.com/acme/infra", Namespace: "infra"}); err != nil {
				t.Fatal(err)
			}
		} else {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r = convertText(t, text)
		}
		for _, n := range r.Notes {
			namespace := n.Object.Namespace
			if n.Object.Kind == "Folder" {
				namespace = "infra"
			}
			for _, found := range commands.FindAllStringSubmatch(n.Text, -1) {
				if namespace != "" && found[1] != "-n "+namespace+" " &&
					!strings.HasSuffix(found[0], "state push before") {
					t.Errorf("%s: %s: %q", file, n.Object, found[0])
				}
			}
		}
	}
}

// TestStateOfAWorkspaceIsPulled checks that the command for a state to move pulls that of the object's workspace: that
// of the default one may be of another object.
func TestStateOfAWorkspaceIsPulled(t *testing.T) {
	const object = `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: a}
spec: {interval: 1m, sourceRef: {kind: GitRepository, name: infra}, SPEC}
`
	for spec, want := range map[string]string{
		`workspace: blue, backendConfig: {customConfiguration: 'backend "local" {}'}`: "tofu init && tofu workspace " +
			"select blue && tofu state pull > a.tfstate",
		`backendConfig: {customConfiguration: 'backend "local" {}'}`: "tofu init && tofu state pull > a.tfstate",
		"workspace: blue, cloud: {organization: acme}":               "tofu init && tofu state pull > a.tfstate",
	} {
		r := convertText(t, []byte(strings.Replace(object, "SPEC", spec, 1)))
		if text := manifest.Text(r.Notes); !strings.Contains(text, "backend: "+want) || !r.Stacks[0].Spec.Suspend {
			t.Errorf("%s:\n%s", spec, text)
		}
	}
}

// TestObjectsOfPullRequestsAreNoStacks checks the objects that systems create for pull requests: each is a copy of
// another object, with the code of the pull request and the state of the other.
func TestObjectsOfPullRequestsAreNoStacks(t *testing.T) {
	r := convertText(t, []byte(`
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformRepository
metadata: {name: infra, namespace: a}
spec: {repository: {url: "https://git.example.com/acme/infra.git"}}
---
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: layer, namespace: a}
spec: {path: x, branch: main, repository: {name: infra}}
---
apiVersion: config.terraform.padok.cloud/v1alpha1
kind: TerraformLayer
metadata: {name: layer-pr-1a2b-x7, namespace: a, labels: {burrito/managed-by: pr-1a2b}, ownerReferences: [{kind: TerraformPullRequest, name: infra-1}]}
spec: {path: x, branch: change, repository: {name: infra}, remediationStrategy: {autoApply: false}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux, namespace: a}
spec: {url: "https://git.example.com/acme/flux.git", interval: 1m, ref: {branch: main}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-change-1, namespace: a, labels: {infra.weave.works/branch-planner: "true", infra.weave.works/pr-id: "1"}}
spec: {url: "https://git.example.com/acme/flux.git", interval: 1m, ref: {branch: change}}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: tofu, namespace: a}
spec: {path: code, interval: 1m, sourceRef: {kind: GitRepository, name: flux}}
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: tofu-change-1, namespace: a, labels: {infra.weave.works/branch-planner: "true", infra.weave.works/pr-id: "1"}}
spec: {path: code, interval: 1m, planOnly: true, sourceRef: {kind: GitRepository, name: flux-change-1}, backendConfig: {secretSuffix: tofu, inClusterConfig: true}}
`))
	var names []string
	for _, s := range r.Stacks {
		names = append(names, s.Name)
	}
	for _, repo := range r.Repositories {
		names = append(names, repo.Name)
	}
	if diff := cmp.Diff([]string{"layer", "tofu", "flux", "infra"}, names); diff != "" ||
		strings.Contains(manifest.Text(r.Notes), "nothing is known") {
		t.Errorf("%s\n%s", diff, manifest.Text(r.Notes))
	}
}
