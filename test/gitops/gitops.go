// Package gitops computes the status of an object as GitOps tools do: Flux with the rules of kstatus, Argo CD with the
// Lua scripts in docs/argocd/health.yaml.
package gitops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// scripts is the path of the health checks from the repository's root.
const scripts = "docs/argocd/health.yaml"

// KStatus returns the status of an object by the generic rules of kstatus: InProgress, Failed, Current or Terminating.
func KStatus(t *testing.T, o client.Object) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status.String()
}

// ArgoHealth returns the health of an object of a kind by the script for Argo CD. As in Argo CD a script has the base
// library only.
func ArgoHealth(t *testing.T, kind string, o client.Object) (health, message string) {
	t.Helper()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	vm.SetContext(t.Context())
	vm.Push(vm.NewFunction(lua.OpenBase))
	vm.Call(0, 0)
	vm.SetGlobal("obj", toLua(vm, decoded(t, o)))
	if err := vm.DoString(script(t, kind)); err != nil {
		t.Fatalf("health check of %s: %v", kind, err)
	}
	table, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("health check of %s returns no table", kind)
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String()
}

func script(t *testing.T, kind string) string {
	t.Helper()
	path := scripts
	for range 5 { // the test's package may be some levels below the root
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Join("..", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var patch struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	script, ok := patch.Data["resource.customizations.health.cairn.dev_"+kind]
	if !ok {
		t.Fatalf("%s has no health check of %s", scripts, kind)
	}
	return script
}

func decoded(t *testing.T, o client.Object) (content any) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func toLua(vm *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		table := vm.NewTable()
		for _, item := range value {
			table.Append(toLua(vm, item))
		}
		return table
	case map[string]any:
		table := vm.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(vm, item))
		}
		return table
	}
	return lua.LNil
}
