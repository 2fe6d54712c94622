//go:build envtest

package cairn

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/test/apiserver"
)

// The API server rejects invalid Stacks by the schema, with a message for the user.
func TestStackSchema(t *testing.T) {
	c := connect(t)
	for name, tt := range map[string]struct {
		name string
		spec string
		want string // part of the refusal; empty when it is accepted
	}{
		"the least":  {spec: `{source: {inline: {main.tf: ""}}}`},
		"everything": {spec: everything},
		"a name of 200 characters": {name: strings.Repeat("n", 200),
			spec: `{source: {inline: {main.tf: ""}}}`},
		"a name of 201 characters": {name: strings.Repeat("n", 201),
			spec: `{source: {inline: {main.tf: ""}}}`, want: "can have at most 200 characters"},
		"no source": {spec: `{apply: Manual}`,
			want: "spec.source: Required value"},
		"an empty source": {spec: `{source: {}}`,
			want: "exactly one of the fields in [configMap inline git] must be set"},
		"two sources": {
			spec: `{source: {inline: {main.tf: ""}, configMap: {name: x}}}`,
			want: "exactly one of the fields in [configMap inline git] must be set"},
		"a source in git": {
			spec: `{source: {git: {repository: {name: x, namespace: other}, path: envs/a, ref: main, triggers: ["x/**"]}}}`},
		"a path that leaves": {
			spec: `{source: {git: {repository: {name: x}, path: a/../../b}}}`,
			want: "relative to the root of the repository"},
		"a Secret by a path": {
			spec: `{source: {inline: {main.tf: ""}}, variableFiles: [{secret: {name: ../../etc}}]}`,
			want: "spec.variableFiles[0].secret.name"},
		"a key of a Secret by a path": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a, valueFrom: {secret: {name: a/b, key: k}}}]}`,
			want: "spec.variables[0].valueFrom.secret.name"},
		"an output by a path": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a, valueFrom: {stack: {name: a/b, output: k}}}]}`, want: "spec.variables[0].valueFrom.stack.name"},
		"a dependency by a path": {
			spec: `{source: {inline: {main.tf: ""}}, dependsOn: [{name: a/b}]}`, want: "spec.dependsOn[0].name"},
		"a Repository by a path": {spec: `{source: {git: {repository: {name: a/b}}}}`,
			want: "spec.source.git.repository.name"},
		"a namespace by a path": {
			spec: `{source: {git: {repository: {name: x, namespace: a/b}}}}`,
			want: "spec.source.git.repository.namespace"},
		"a path from the top": {
			spec: `{source: {git: {repository: {name: x}, path: /a}}}`, want: "relative to the root of the repository"},
		"variables of the source": {
			spec: `{source: {inline: {main.tf: ""}}, variableFiles: [{path: a.tfvars}, {path: a/b..c.tfvars.json}]}`},
		"variables that are code": {
			spec: `{source: {inline: {main.tf: ""}}, variableFiles: [{path: a.tf}]}`,
			want: "must be a relative path of a .tfvars"},
		"an output of a Stack": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a, valueFrom: {stack: {name: vpc, output: id}}}]}`},
		"drift": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {interval: 4h}}`},
		"drift, turned off": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {interval: 0s, onDrift: Apply}}`},
		"drift that is ignored": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {ignore: [{addresses: ["a.b[*]"], attributes: ["tags[\"x\"]"], reason: r, until: "2027-01-31T00:00:00Z"}]}}`},
		"ignored for no reason": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {ignore: [{addresses: [a.b]}]}}`,
			want: "spec.drift.ignore[0].reason"},
		"ignored for an empty reason": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {ignore: [{addresses: [a.b], reason: ""}]}}`,
			want: "spec.drift.ignore[0].reason"},
		"ignored for no resource": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {ignore: [{addresses: [], reason: r}]}}`,
			want: "spec.drift.ignore[0].addresses"},
		"ignored until some day": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {ignore: [{addresses: [a.b], reason: r, until: soon}]}}`,
			want: "spec.drift.ignore[0].until"},
		"kinds of drift to correct": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {onDrift: Apply, applyFor: [Create, Update, Replace, Delete, Action]}}`},
		"a kind that is no drift": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {onDrift: Apply, applyFor: [StackDeletion]}}`,
			want: "must be Create, Update, Replace, Delete or Action"},
		"drift all the time": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {interval: 1s}}`, want: "at least 10s"},
		"drift now and then": {
			spec: `{source: {inline: {main.tf: ""}}, drift: {interval: often}}`, want: "spec.drift.interval"},
		"kinds to be asked about": {
			spec: `{source: {inline: {main.tf: ""}}, apply: Automatic, requireApprovalFor: [Create, Update, Replace, Delete, Action, StackDeletion]}`},
		"such kinds beside Manual": {
			spec: `{source: {inline: {main.tf: ""}}, apply: Manual, requireApprovalFor: [Delete]}`},
		"a kind that is none": {
			spec: `{source: {inline: {main.tf: ""}}, requireApprovalFor: [Destroy]}`,
			want: "supported values: \"Create\", \"Update\", \"Replace\", \"Delete\", \"Action\", \"StackDeletion\""},
		"a kind twice": {
			spec: `{source: {inline: {main.tf: ""}}, requireApprovalFor: [Delete, Delete]}`, want: "Duplicate value"},
		"a window": {
			spec: `{source: {inline: {main.tf: ""}}, windows: [{kind: Deny, schedule: "0 18 * * 5", duration: 62h, timeZone: Europe/Berlin, operations: [Apply]}]}`},
		"a window of no length": {
			spec: `{source: {inline: {main.tf: ""}}, windows: [{kind: Deny, schedule: "0 18 * * 5", duration: 0s}]}`,
			want: "more than 0s"},
		"a window of any length": {
			spec: `{source: {inline: {main.tf: ""}}, windows: [{kind: Deny, schedule: "0 18 * * 5", duration: long}]}`,
			want: "spec.windows[0].duration"},
		"a dependency in a namespace": {
			spec: `{source: {inline: {main.tf: ""}}, dependsOn: [{name: a, namespace: b}]}`},
		"a dependency in no namespace": {
			spec: `{source: {inline: {main.tf: ""}}, dependsOn: [{name: a, namespace: b.c}]}`,
			want: "spec.dependsOn[0].namespace"},
		"a dependency twice": {
			spec: `{source: {inline: {main.tf: ""}}, dependsOn: [{name: a}, {name: a}]}`, want: "Duplicate value"},
		"credentials for a URL": {
			spec: `{source: {inline: {main.tf: ""}}, moduleCredentials: [{host: "https://x", secret: {name: s}}]}`,
			want: "spec.moduleCredentials[0].host"},
		"an unknown field": {spec: `{source: {inline: {main.tf: ""}}, later: 1}`,
			want: `unknown field "spec.later"`},
		"a variable without a value": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a}]}`, want: "spec.variables[0]"},
		"a variable with two": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a, value: 1, valueFrom: {secret: {name: s, key: k}}}]}`, want: "spec.variables[0]"},
		"a value from nowhere": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: a, valueFrom: {}}]}`,
			want: "exactly one of the fields in [secret configMap stack]"},
		"a variable with a bad name": {
			spec: `{source: {inline: {main.tf: ""}}, variables: [{name: "a b", value: 1}]}`,
			want: "spec.variables[0].name"},
		"Cairn's own env": {
			spec: `{source: {inline: {main.tf: ""}}, env: [{name: CAIRN_SERVER_CA_PEM, value: x}]}`,
			want: "names that start with CAIRN_ are reserved"},
		"an unknown engine": {
			spec: `{source: {inline: {main.tf: ""}}, engine: {name: Pulumi}}`, want: "supported values"},
		"a wrong policy": {
			spec: `{source: {inline: {main.tf: ""}}, apply: Yes please}`, want: "supported values"},
		"a duration that is none": {spec: `{source: {inline: {main.tf: ""}}, timeout: soon}`,
			want: "spec.timeout"},
		"a duration past counting": {
			spec: `{source: {inline: {main.tf: ""}}, timeout: 9999999h}`, want: "at most 8760h"},
		"a duration of many digits": {
			spec: `{source: {inline: {main.tf: ""}}, retry: {backoff: 99999999999999999999999h}}`, want: "Too long"},
		"a timeout of nothing": {spec: `{source: {inline: {main.tf: ""}}, timeout: 0s}`,
			want: "more than 0s"},
		"a quantity that is none": {
			spec: `{source: {inline: {main.tf: ""}}, runner: {resources: {requests: {cpu: "1e1.5"}}}}`,
			want: "spec.runner.resources.requests.cpu"},
		"a resource as env": {
			spec: `{source: {inline: {main.tf: ""}}, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1e1.5"}}}]}`, want: "resourceFieldRef"},
		"a file as env": {
			spec: `{source: {inline: {main.tf: ""}}, env: [{name: A, valueFrom: {fileKeyRef: {volumeName: a, path: b, key: c}}}]}`, want: "fileKeyRef"},
		"a retry limit below zero": {
			spec: `{source: {inline: {main.tf: ""}}, retry: {limit: -1}}`, want: "greater than or equal to 0"},
		"outputs to nowhere": {spec: `{source: {inline: {main.tf: ""}}, outputs: {}}`, want: "spec.outputs"},
		"the team's own scripts, in an image that is built": {spec: legacy},
		"an image that is built": {
			spec: build(`image: registry.example.com/a, dockerfile: images/Dockerfile, context: ".", target: final, args: [{name: A, value: b}], builder: Kaniko, builderImage: mine:1, insecure: true, cache: "localhost:5000/a/cache"`)},
		"an image and one that is built": {
			spec: `{source: {inline: {main.tf: ""}}, runner: {image: a:1, build: {image: registry.example.com/a}}}`,
			want: "image and build are mutually exclusive"},
		"an image with a tag": {spec: build(`image: "registry.example.com/a:1"`),
			want: "spec.runner.build.image"},
		"an image with a digest": {spec: build(`image: "registry.example.com/a@sha256:1"`),
			want: "spec.runner.build.image"},
		"an image that is an option": {spec: build(`image: "--a/b"`), want: "spec.runner.build.image"},
		"an image with more in it": {spec: build(`image: "registry.example.com/a,push=false"`),
			want: "spec.runner.build.image"},
		"a cache with more in it": {
			spec: build(`image: registry.example.com/a, cache: "registry.example.com/a,x=y"`),
			want: "spec.runner.build.cache"},
		"a Dockerfile elsewhere": {spec: build(`image: registry.example.com/a, dockerfile: ../Dockerfile`),
			want: "relative to the root of the code"},
		"a Dockerfile from the top": {spec: build(`image: registry.example.com/a, dockerfile: /etc/passwd`),
			want: "relative to the root of the code"},
		"a context elsewhere": {spec: build(`image: registry.example.com/a, context: a/../../b`),
			want: "relative to the root of the code"},
		"an unknown builder": {spec: build(`image: registry.example.com/a, builder: Docker`),
			want: "supported values"},
		"a value twice": {
			spec: build(`image: registry.example.com/a, args: [{name: A}, {name: A}]`), want: "Duplicate value"},
		"a value with a bad name": {spec: build(`image: registry.example.com/a, args: [{name: "A=B"}]`),
			want: "spec.runner.build.args[0].name"},
		"a backend for code without one": {
			spec: backend(`type: s3, fromCode: true, create: true, config: {bucket: b, key: k}`)},
		"the backend of the code": {spec: backend(`fromCode: true`)},
		"a backend of nothing": {spec: backend(`config: {bucket: b}`),
			want: "set type, or set fromCode: true"},
		"a backend that is not of the code": {spec: backend(`type: s3, fromCode: false`),
			want: "fromCode must be true or unset"},
		"a backend to create, of no type": {spec: backend(`fromCode: true, create: true`),
			want: "create requires type"},
		"a runHistoryLimit below zero": {spec: `{source: {inline: {main.tf: ""}}, runHistoryLimit: -1}`,
			want: "greater than or equal to 0"},
		"zeros that mean zero": {
			spec: `{source: {inline: {main.tf: ""}}, runHistoryLimit: 0, retry: {limit: 0, backoff: 0s}, runner: {idleTimeout: 0s}}`},
	} {
		t.Run(name, func(t *testing.T) {
			stack := object(t, "Stack", tt.spec)
			if tt.name != "" {
				stack.SetName(tt.name)
			}
			check(t, c.Create(t.Context(), stack, client.DryRunAll), tt.want)
		})
	}
}

// The API server rejects invalid Repositories by the schema.
func TestRepositorySchema(t *testing.T) {
	c := connect(t)
	for name, tt := range map[string]struct {
		spec string
		want string // part of the refusal; empty when it is accepted
	}{
		"the least": {spec: `{url: "https://git.example.com/a.git"}`},
		"everything": {
			spec: `{url: "ssh://git@git.example.com:2222/a.git", ref: main, interval: 5m, timeout: 1m, credentials: {secret: {name: c}}, webhook: {secret: {name: w}}, allowedNamespaces: [a, "*"], submodules: true, lfs: true, limits: {runs: 3}}`},
		"SSH in scp syntax": {spec: `{url: "git@git.example.com:acme/infra.git"}`},
		"no URL":            {spec: `{ref: main}`, want: "spec.url: Required value"},
		"a file":            {spec: `{url: "file:///etc"}`, want: "an https://, http:// or ssh:// URL"},
		"a helper of git's": {spec: `{url: "ext::sh -c whoami"}`, want: "an https://, http:// or ssh:// URL"},
		"an option":         {spec: `{url: "--upload-pack=whoami"}`, want: "an https://, http:// or ssh:// URL"},
		"a password": {spec: `{url: "https://me:secret@git.example.com/a.git"}`,
			want: "must not contain credentials"},
		"no waiting":     {spec: `{url: "https://git.example.com/a.git", interval: 10ms}`, want: "at least 1s"},
		"webhooks alone": {spec: `{url: "https://git.example.com/a.git", interval: 0s}`},
		"no namespace's name": {spec: `{url: "https://git.example.com/a.git", allowedNamespaces: ["a*"]}`,
			want: "spec.allowedNamespaces[0]"},
		"a limit below zero": {spec: `{url: "https://git.example.com/a.git", limits: {runs: -1}}`,
			want: "greater than or equal to 0"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, c.Create(t.Context(), object(t, "Repository", tt.spec), client.DryRunAll), tt.want)
		})
	}
}

// The API server rejects invalid StackGrants by the schema.
func TestStackGrantSchema(t *testing.T) {
	c := connect(t)
	for name, tt := range map[string]struct {
		spec string
		want string // part of the refusal; empty when it is accepted
	}{
		"the least": {spec: `{from: [{kind: Stack, namespace: shop}]}`},
		"everything": {
			spec: `{from: [{kind: Stack, namespace: shop}, {kind: Stack, namespace: web}], stacks: [net, dns]}`},
		"no namespace":   {spec: `{from: []}`, want: "spec.from"},
		"all namespaces": {spec: `{from: [{kind: Stack, namespace: "*"}]}`, want: "spec.from[0].namespace"},
		"another kind":   {spec: `{from: [{kind: Run, namespace: shop}]}`, want: "spec.from[0].kind"},
		"a namespace twice": {spec: `{from: [{kind: Stack, namespace: shop}, {kind: Stack, namespace: shop}]}`,
			want: "Duplicate value"},
		"a Stack by a path": {spec: `{from: [{kind: Stack, namespace: shop}], stacks: [a/b]}`, want: "spec.stacks[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, c.Create(t.Context(), object(t, "StackGrant", tt.spec), client.DryRunAll), tt.want)
		})
	}
}

// check compares what the API server said with part of a refusal; empty when it is to be accepted.
func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want one with %q", err, want)
	}
}

// Zero is kept, and what is left out gets its default.
func TestStackDefaults(t *testing.T) {
	c := connect(t)
	stack := object(t, "Stack", `{source: {inline: {main.tf: ""}}, retry: {limit: 0}}`)
	if err := c.Create(t.Context(), stack, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(stack.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	want := `apply: Manual
deletionPolicy: Destroy
engine: {}
retry:
  backoff: 15s
  limit: 0
  maxBackoff: 10m
runHistoryLimit: 10
runner:
  idleTimeout: 30s
source:
  inline:
    main.tf: ""
timeout: 1h
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const everything = `
source: {configMap: {name: code}}
variables:
- {name: number, value: 3}
- {name: flag, value: false}
- {name: object, value: {a: [1, {b: c}]}}
- {name: secret, valueFrom: {secret: {name: s, key: k}}}
- {name: config, valueFrom: {configMap: {name: s, key: k}}}
- {name: output, valueFrom: {stack: {name: s, output: o}}}
variableFiles: [{secret: {name: s}}, {configMap: {name: c}}, {path: x.tfvars}]
env: [{name: A, value: b}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]
envFrom: [{prefix: X_, configMapRef: {name: c}}]
engine: {name: OpenTofu, version: "~> 1.12"}
apply: Automatic
drift: {interval: 1h, onDrift: Apply, applyFor: [Update], ignore: [{addresses: [a.b], attributes: [size], reason: r, until: "2027-01-31T00:00:00Z"}]}
windows: [{kind: Allow, schedule: "@daily", duration: 8h, timeZone: Europe/Berlin, operations: [Plan, Apply, Destroy]}]
dependsOn: [{name: s}]
moduleCredentials: [{host: "git.example.com:8443", secret: {name: g}}]
outputs: {secret: {name: o}, configMap: {name: o}}
retry: {limit: 5, backoff: 1s, maxBackoff: 1h30m}
timeout: 90m
deletionPolicy: Protect
suspend: true
runHistoryLimit: 3
runner: {serviceAccountName: sa, image: registry.example.com/tools:1, idleTimeout: 1m, resources: {requests: {cpu: 2, memory: 1.5Gi}, limits: {cpu: 100m}}}
`

// build is a Stack in an image that is built.
func build(fields string) string {
	return `{source: {inline: {main.tf: ""}}, runner: {build: {` + fields + `}}}`
}

// backend is a Stack that keeps its state in one of the engine's.
func backend(fields string) string {
	return `{source: {inline: {main.tf: ""}}, backend: {` + fields + `}}`
}

// legacy is what a team brings that has an S3 bucket, scripts of its own, and a Dockerfile.
const legacy = `
source: {git: {repository: {name: legacy}, path: terraform}}
variables:
- {name: var1, value: value1}
backend:
  type: s3
  config: {bucket: s3-store, key: legacy.tfstate, region: us-east-1, dynamodb_table: db-table}
  create: true
commands:
  apply: {script: "tofu apply -auto-approve"}
  destroy: {configMap: {name: terraform-scripts, key: destroy-script.sh}}
apply: Automatic
runner:
  build:
    image: registry.example.com/acme/terraform
    dockerfile: Dockerfile
    pushSecret: {name: registry-push}
`

func object(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cairn.dev/v1alpha1", "kind": kind}}
	o.SetNamespace("default")
	o.SetName("a")
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	o.Object["spec"] = fields
	return o
}

func TestMain(m *testing.M) { apiserver.Main(m, "files/crds") }

func connect(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(apiserver.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, "Strict")
}
