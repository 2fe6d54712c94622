// Package states reads where other systems keep states, and has the notes on how a state gets to its Stack.
package states

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// SecretArgument is the name of an argument that has, or may have, a secret for its value.
var SecretArgument = regexp.MustCompile(
	`(?i)(secret(_key)?$|secret_key|password|token|private_key|client_key|sas_|access_key|credentials$|conn_str|encryption_key|customer_key|http_auth|client_certificate$)`)

// ReadBackend reads a backend block, with or without the terraform block around it. An error contains no values.
func ReadBackend(text string) (*convert.Backend, error) {
	body, err := hclparse.ParseAny([]byte(text), "backend", false)
	if err != nil {
		return nil, fmt.Errorf("it is not HCL that can be read")
	}
	root, ok := body.(*hclsyntax.Body)
	if !ok {
		return nil, fmt.Errorf("it is not HCL that can be read")
	}
	found, err := backendBlocks(root)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d backend blocks are in it, and one is wanted", len(found))
	}
	return readArguments(found[0])
}

// backendBlocks are those of a body and of its terraform blocks. A cloud block keeps the state where no backend can.
func backendBlocks(body *hclsyntax.Body) ([]*hclsyntax.Block, error) {
	var found []*hclsyntax.Block
	for _, b := range body.Blocks {
		switch {
		case b.Type == "backend" && len(b.Labels) == 1:
			found = append(found, b)
		case b.Type == "cloud":
			return nil, fmt.Errorf("a cloud block runs the engine elsewhere")
		case b.Type == "terraform":
			in, err := backendBlocks(b.Body)
			if err != nil {
				return nil, err
			}
			found = append(found, in...)
		}
	}
	return found, nil
}

func readArguments(block *hclsyntax.Block) (*convert.Backend, error) {
	p := &convert.Backend{Backend: v1alpha1.Backend{Type: block.Labels[0]}}
	switch p.Type {
	case "local":
		return nil, fmt.Errorf("a local state is gone with its pod")
	case "remote", "cloud":
		return nil, fmt.Errorf("backend %s runs the engine elsewhere", p.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(block.Body.Attributes)) {
		if SecretArgument.MatchString(name) {
			p.Secrets = append(p.Secrets, name)
			continue
		}
		value, diags := LiteralValue(block.Body.Attributes[name].Expr)
		if diags.HasErrors() {
			return nil, fmt.Errorf("the value of %s is no plain value", name)
		}
		if err := put(p, name, value); err != nil {
			return nil, err
		}
	}
	for _, b := range block.Body.Blocks {
		if SecretArgument.MatchString(b.Type) {
			p.Secrets = append(p.Secrets, b.Type)
			continue
		}
		value, err := blockValue(b.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Type, err)
		}
		if err := put(p, b.Type, value); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// blockValue is a block as a value: what a backend takes as a block in its own is an argument in a file of arguments.
func blockValue(body *hclsyntax.Body) (cty.Value, error) {
	if len(body.Blocks) > 0 {
		return cty.NilVal, fmt.Errorf("a block in a block cannot be taken along")
	}
	values := map[string]cty.Value{}
	for name, attribute := range body.Attributes {
		if SecretArgument.MatchString(name) {
			return cty.NilVal, fmt.Errorf("the secret %s in it cannot be taken along", name)
		}
		var diags hcl.Diagnostics
		if values[name], diags = LiteralValue(attribute.Expr); diags.HasErrors() {
			return cty.NilVal, fmt.Errorf("the value of %s is no plain value", name)
		}
	}
	return cty.ObjectVal(values), nil
}

// put adds an argument.
func put(p *convert.Backend, name string, value cty.Value) error {
	if !value.IsWhollyKnown() {
		return fmt.Errorf("the value of %s is no plain value", name)
	}
	raw, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return fmt.Errorf("the value of %s is no plain value", name)
	}
	p.SetRaw(name, raw)
	return nil
}

// longestExpression is how many bytes an expression may have: its evaluation is recursive.
const longestExpression = 16 << 10

// LiteralValue is what an expression means without variables and functions.
func LiteralValue(e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if r := e.Range(); r.End.Byte-r.Start.Byte > longestExpression {
		return cty.NilVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "it is too long"}}
	}
	return e.Value(nil)
}

// AddSecretArguments takes the backend's secret arguments from a Secret, and adds a note on how to create it.
func AddSecretArguments(p *convert.Backend, o *convert.Object, at manifest.Field) {
	if len(p.Secrets) == 0 {
		return
	}
	name := backendSecret(o)
	p.AddSecret(name)
	slices.Sort(p.Secrets)
	files := make([]string, 0, 2*len(p.Secrets))
	for _, argument := range p.Secrets {
		files = append(files, argument, "FILE_WITH_"+strings.ToUpper(argument))
	}
	at.ToDo("create Secret %s, whose keys are the backend's secret arguments (values are not copied): %s", name,
		convert.CreateSecret(o.Ref.Namespace, name, files...))
}

// backendSecret is the Secret of a Stack's arguments of its backend.
func backendSecret(o *convert.Object) string { return convert.Shorten(o.StackName, 190) + "-backend" }

// NoKubeconfig is no file. The engine takes host and token from arguments only where a kubeconfig is named: one that
// does not exist it ignores, and without a name it wants one.
const NoKubeconfig = "/none"

// RequireKubernetesToken has the engine reach the cluster's API with a token of its own, from a Secret.
func RequireKubernetesToken(o *convert.Object, p *convert.Backend) {
	for _, name := range []string{"in_cluster_config", "config_path", "config_context", "config_paths"} {
		delete(p.Config, name)
	}
	name := backendSecret(o)
	p.Secrets = slices.DeleteFunc(p.Secrets, func(s string) bool { return s == "token" })
	if len(p.Secrets) == 0 {
		p.AddSecret(name)
	}
	p.Set("config_path", NoKubeconfig)
	o.Note(manifest.ToDo, "spec.backend", "runners have no token of Kubernetes: create Secret %s with keys host, "+
		"token and cluster_ca_certificate, of a ServiceAccount that can only store states ("+version.Docs+
		"how-to/migrate-states.md#use-states-in-secrets)", name)
}

// MoveState is for states that cannot stay where they are: Cairn keeps them, and nothing is planned before they are
// here. The state is that of a workspace; of the default one if it is empty.
func MoveState(o *convert.Object, s *v1alpha1.StackSpec, at manifest.Field, workspace, why string) {
	s.Suspend = true
	path, selected := at.Path, ""
	if !convert.IsDefaultWorkspace(workspace) {
		selected = " && tofu workspace select " + convert.Quote(workspace)
	}
	o.Note(manifest.Unsupported, path, "%s: Cairn keeps the state, and the Stack is suspended until it is here", why)
	o.Note(manifest.ToDo, path, "with the old code and backend: tofu init%s && tofu state pull > %s.tfstate. Then %s ("+
		version.Docs+"how-to/migrate-states.md#move-a-state-to-cairn)",
		selected, convert.Quote(o.StackName), PushState(o))
}

// PushState is the commands that push the state of a suspended Stack from the file of its name, and resume the Stack.
func PushState(o *convert.Object) string {
	name := convert.Quote(o.StackName)
	return convert.Cairn(o.Ref.Namespace, "state push %s %s.tfstate --yes", name, name) + "; " +
		convert.Cairn(o.Ref.Namespace, "resume %s", name)
}

// OtherWorkspace is the note on what selects a workspace whose name is in another object. The Stack is suspended:
// without spec.workspace it would use the state of the default workspace, which may be that of another Stack.
const OtherWorkspace = "the name of the workspace is in another object. The Stack is suspended: set spec.workspace " +
	"to that name, and resume it (" + version.Docs + "how-to/migrate-states.md#workspaces)"
