package main

import "regexp"

// A carrier is a valid spec of a type with fields, so that each of them can be set to other values. A field is tried in
// the first carrier that has it.
type carrier struct {
	kind, spec string
}

// carriers have all fields together: one that no carrier has must be in uncovered. GIT is the address of a real Git
// server.
var carriers = []carrier{
	{"Stack", `
source: {inline: {main.tf: 'output "x" { value = 1 }'}}
apply: Automatic
requireApprovalFor: [StackDeletion]
deletionPolicy: Orphan
preventSelfApproval: false
runHistoryLimit: 5
suspend: false
timeout: 1h
retry: {limit: 0, backoff: 100ms, maxBackoff: 1s}
engine: {name: OpenTofu, version: ">= 1.6"}
workspace: prod
commands: {apply: {script: 'tofu apply "$CAIRN_PLAN_FILE"'}, destroy: {script: 'tofu apply "$CAIRN_PLAN_FILE"'}}
drift: {interval: 0s, onDrift: Report}
outputs: {secret: {name: OWN-s}, configMap: {name: OWN-c}}
runner: {image: "cairn-tools:dev", idleTimeout: 1s, serviceAccountName: given, resources: {limits: {memory: 2Gi}, requests: {memory: 1Mi}}, template: {metadata: {labels: {a: b}}}}
`},
	{"Stack", `
source: {configMap: {name: given}}
dependsOn: [{name: given}]
envFrom: [{prefix: A_, configMapRef: {name: envs, optional: false}}]
variableFiles: [{path: all.tfvars}]
hooks: [{step: plan, when: Before, onFailure: Fail, script: "true"}]
windows: [{kind: Allow, schedule: "0 0 * * *", duration: 24h, timeZone: Etc/UTC, operations: [Apply]}]
moduleCredentials: [{host: git.example.com, secret: {name: given}}]
policies: [{configMap: {name: policies}}]
variables: [{name: v, value: "1"}]
`},
	{"Stack", `
source: {configMap: {name: given}}
envFrom: [{prefix: A_, secretRef: {name: envs, optional: false}}]
env: [{name: TF_VAR_x, value: "1"}]
variables: [{name: v, valueFrom: {secret: {name: given, key: v}}}]
variableFiles: [{secret: {name: tfvars}}]
hooks: [{step: plan, when: After, configMap: {name: given, key: script}}]
commands: {apply: {configMap: {name: given, key: apply}}, destroy: {configMap: {name: given, key: apply}}}
`},
	{"Stack", `
source: {configMap: {name: given}}
env: [{name: A, valueFrom: {configMapKeyRef: {name: given, key: v, optional: false}}}]
variables: [{name: v, valueFrom: {configMap: {name: given, key: v}}}]
variableFiles: [{configMap: {name: tfvars}}]
`},
	{"Stack", `
source: {configMap: {name: given}}
env: [{name: A, valueFrom: {secretKeyRef: {name: given, key: v, optional: false}}}]
variables: [{name: v, valueFrom: {stack: {name: given, output: x}}}]
`},
	{"Stack", `
source: {configMap: {name: given}}
env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]
variables: [{name: v, value: 1}]
`},
	{"Stack", `source: {git: {repository: {name: given, namespace: SPACE}, path: env, ref: main, triggers: ["shared/**"]}}`},
	{"Repository", `
url: GIT/infra.git
ref: main
interval: 1h
timeout: 1m
lfs: false
submodules: false
allowedNamespaces: [SPACE]
limits: {runs: 5}
engine: {name: OpenTofu, version: ">= 1.6"}
credentials: {secret: {name: given}}
webhook: {secret: {name: given}, keys: [token]}
`},
	// A Run that waits for an approval: its other fields are immutable.
	{"Run", `
stack: {name: OWN}
operation: Apply
cause: {type: Spec, message: m, by: b}
inputsDigest: sha256:0000000000000000000000000000000000000000000000000000000000000000
revision: r
source: {repository: a/b, ref: r, url: "https://git.example.com/b.git", defaultRef: d, submodules: false, lfs: false, engine: OpenTofu}
causedBy: [{kind: Author, name: c, users: [c], of: r}]
causedByUnknown: u
preventSelfApproval: false
selfApprovalRemovedBy: c
cancel: false
canceledBy: ""
approval: {planDigest: "sha256:0000000000000000000000000000000000000000000000000000000000000000", by: b}
rejection: {planDigest: "sha256:0000000000000000000000000000000000000000000000000000000000000000", by: b, reason: r}
`},
}

// A reason explains an exception for the fields and values that the patterns match completely.
type reason struct {
	fields, values string
	why            string
}

func (r reason) of(f field, value string) bool {
	whole := func(pattern, text string) bool {
		return pattern == "" || regexp.MustCompile("^(?:"+pattern+")$").MatchString(text)
	}
	return whole(r.fields, f.String()) && whole(r.values, value)
}

// uncovered are fields that no carrier has.
var uncovered = []reason{
	{`\w+ status\..*`, "", "Cairn's own: no other client may write it, and it is computed again from the objects"},
	{`Stack spec\.env\[\]\.valueFrom\.(resourceFieldRef|fileKeyRef)\..*`, "",
		"refused whatever is in it (charts/cairn/crds_test.go)"},
	{`Stack spec\.runner\.build\..*`, "", "an image is built on a real node: test/e2e/testdata/build.txtar, and " +
		"internal/controller/stack and internal/controller/run have right and wrong ones"},
	{`(Stack|Repository) spec\.engine\.wrapped\..*`, "", "of Terragrunt, which has to be fetched from its maker " +
		"first (internal/runner/terragrunt_test.go and internal/controller/stack/engine_envtest_test.go)"},
	{`(PullRequest|(Repository|Stack) spec\.pullRequests|Run spec\.pullRequest)\b.*`, "",
		"pull requests need a Git provider, which test/gitea runs"},
	{`StackGrant spec\..*`, "",
		"what a grant changes is of other namespaces: internal/controller/stack/grants_envtest_test.go"},
	{`Stack spec\.(dependsOn\[\]|variables\[\]\.valueFrom\.stack)\.namespace`, "",
		"another namespace needs a StackGrant: internal/controller/stack/grants_envtest_test.go"},
	{`Run spec\.(afterPartial|planOptions.*)`, "",
		"of a request with options, which test/scripts/testdata/partial.txtar runs"},
	{`Run spec\.(afterHold|requirements\b.*)`, "", "of a pull request that was applied, which test/gitea runs; " +
		"internal/controller/stack/hold_envtest_test.go has what sets it"},
	{`Stack spec\.drift\.(applyFor|ignore)\b.*`, "", "no Run here finds drift: test/scripts/testdata/drift.txtar, " +
		"and charts/cairn/crds_test.go has right and wrong ones"},
	{`StackSet spec\..*`, "", "a set writes Stacks: internal/controller/stackset has right and wrong ones"},
	{`Pipeline spec\..*`, "", "no Run has them: internal/controller/pipeline/decision/decide_test.go has each, and " +
		"charts/cairn/users_test.go who may change them"},
	{`Notification spec\..*`, "", "no Run depends on it, and internal/controller/notification/envtest_test.go has " +
		"right and wrong ones"},
	{`DriftPause spec\..*`, "", "the decision of a user about a pause, which no Run has: charts/cairn/users_test.go " +
		"has right and wrong ones"},
	{`StackPolicy spec\..*`, "",
		"its fields are those of a Stack, and internal/controller/stack/stackpolicies_envtest_test.go has right " +
			"and wrong ones"},
	{`VariableSet spec\..*`, "",
		"its fields are those of a Stack, and internal/controller/stack/variablesets_envtest_test.go has right " +
			"and wrong ones"},
	{`State spec\..*`, "", "Cairn's own: internal/state/restored_envtest_test.go has a State that lost its status"},
	{`Stack spec\.backend\..*`, "",
		"a backend of the engine's own wants a server: test/scripts/testdata/backends.txtar and " +
			"internal/runner/backend_test.go have right and wrong ones"},
}

// harmless are odd values that are accepted and after which an object is Ready.
var harmless = []reason{
	{`Repository spec\.engine\.version`, "nothing of this name|out of the folder|spaces|a line break|an option",
		"no Stack takes it here; the Run of one that does says what is wrong"},
	{`Repository spec\.allowedNamespaces\[\]`, "nothing of this name", "a namespace that may come"},
	{`Repository spec\.(ref|engine\.version)|Stack spec\.(engine\.version|runner\.serviceAccountName|windows\[\]\.timeZone)`, "empty", "as if it were not there"},
	{`Stack spec\.dependsOn\[\]\.name`, "nothing of this name",
		"nothing is due, so nothing waits for it; the next Run does, and says so"},
	{`Stack spec\.env\[\]\.name`, "nothing of this name|out of the folder|spaces|an option",
		"Kubernetes takes any name of an environment variable"},
	{`Stack spec\.envFrom\[\]\.prefix`, "empty|nothing of this name|out of the folder|spaces|an option",
		"so it takes any prefix"},
	{`Stack spec\.commands\.(apply|destroy)\.script`, "nothing of this name|out of the folder|spaces|a line " +
		"break|an option", "any text is a script, and these run when there are changes"},
	{`Stack spec\.moduleCredentials\[\]\.host`, "nothing of this name", "a host that the code does not ask"},
	{`Stack spec\.workspace`, "nothing of this name|an option", "a name that the user chooses"},
	{`Stack spec\.outputs\.(configMap|secret)\.name`, "nothing of this name", "it is made"},
	{`Stack spec\.source\.git\.path`, "empty|null", "it says of which folder: the repository's root"},
	{`Stack spec\.runner\.image`, "empty|nothing of this name|out of the folder|spaces|a line break|an option",
		"the pretend kubelet has no images; a real one says so in the pod, and the Run with it " +
			"(internal/controller/run/podwaits.go)"},
	{`Stack spec\.env\[\]\.value`, "empty|nothing of this name|out of the folder|spaces|a line break|an option",
		"any text is a value"},
	{`Stack spec\.env\[\]\.valueFrom\.fieldRef\.apiVersion`, "empty", "as if it were not there"},
}

// elsewhere are values that are only sent to the API server, since their requirements are not available here.
var elsewhere = []reason{
	{`(Stack|Repository) spec\.engine\.name`, "Terraform|Terragrunt",
		"engines that have to be fetched from their makers first (internal/server/runnerhandler/engines_test.go)"},
}

// final are values that cannot be reverted.
var final = []reason{
	{`Run spec\.cancel`, "", "cancel cannot be unset"},
}
