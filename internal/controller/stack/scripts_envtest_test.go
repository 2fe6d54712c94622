//go:build envtest

package stack

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/test/apiserver"
)

// counted is a reader that counts the reads of whole ConfigMaps.
type counted struct {
	client.Reader
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.ConfigMap); ok {
		c.reads++
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

// newScriptsTestEnv creates a Stack with a hook and policies from ConfigMaps.
func newScriptsTestEnv(t *testing.T) (*testEnv, *counted) {
	t.Helper()
	r := newTestEnv(t)
	live := &counted{Reader: r.Env.Live}
	r.Reconciler.Live, r.Reconciler.Sources = live, source.NewSources(live, r.bucket)
	r.Code.Live = live
	r.Make(
		configMap("scripts", "check.sh", "#!/bin/sh\necho checked\n"),
		configMap("commands", "destroy.sh", "#!/bin/sh\ntofu destroy\n"),
		configMap("rules", "names.yaml", "validations: [{expression: 'true', message: fine}]"),
	)
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Hooks = []v1alpha1.Hook{
			{Step: "plan", When: v1alpha1.HookBefore, Script: "echo first"},
			{Step: "plan", When: v1alpha1.HookAfter, ConfigMap: &v1alpha1.KeyRef{Name: "scripts", Key: "check.sh"},
				OnFailure: v1alpha1.HookContinue},
		}
		s.Commands = &v1alpha1.Commands{
			Apply:   &v1alpha1.Command{Script: "tofu apply"},
			Destroy: &v1alpha1.Command{ConfigMap: &v1alpha1.KeyRef{Name: "commands", Key: "destroy.sh"}},
		}
		s.Policies = []v1alpha1.Policy{{ConfigMap: v1alpha1.ObjectRef{Name: "rules"}}}
	})
	return r, live
}

func configMap(name string, files ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{}}
	for i := 0; i < len(files); i += 2 {
		cm.Data[files[i]] = files[i+1]
	}
	return cm
}

// spec updates the Stack's spec.
func (r *testEnv) spec(change func(*v1alpha1.StackSpec)) {
	r.Helper()
	r.Seen(r.stack)
	change(&r.stack.Spec)
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), r.stack))
	r.Seen(r.stack)
}

// updateConfigMap changes a ConfigMap and waits until the cache has the change.
func (r *testEnv) updateConfigMap(name string, change func(*corev1.ConfigMap)) {
	r.Helper()
	cm := &corev1.ConfigMap{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, cm))
	change(cm)
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), cm))
	r.Seen(apiserver.Metadata("ConfigMap", r.stack.Namespace, name))
}

// pinned returns the inputs document of a Run.
func (r *testEnv) pinned(name string) inputs.Document {
	r.Helper()
	run := &v1alpha1.Run{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, run))
	doc, err := r.Inputs.Get(r.Context(), run.Spec.InputsDigest)
	apiserver.Must(r.T, err)
	return doc
}

func TestInputsContainTheTextOfHooksAndPolicies(t *testing.T) {
	r, live := newScriptsTestEnv(t)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	doc := r.pinned("net-1")
	if diff := cmp.Diff([]inputs.Hook{
		{Step: "plan", When: v1alpha1.HookBefore, Script: "echo first"},
		{Step: "plan", When: v1alpha1.HookAfter, Script: "#!/bin/sh\necho checked\n", OnFailure: v1alpha1.HookContinue},
	}, doc.Hooks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]inputs.Policy{
		{Name: "rules", Files: map[string]string{"names.yaml": "validations: [{expression: 'true', message: fine}]"}},
	}, doc.Policies); diff != "" {
		t.Error(diff)
	}
	if want := (inputs.Commands{Apply: "tofu apply", Destroy: "#!/bin/sh\ntofu destroy\n"}); doc.Commands != want {
		t.Errorf("%+v", doc.Commands)
	}
	for name := range doc.Versions {
		if strings.HasPrefix(name, "ConfigMap/") {
			t.Errorf("the version of %s is among the inputs", name)
		}
	}
	reads := live.reads
	r.reconcile()
	if live.reads != reads || reads != 3 {
		t.Errorf("three ConfigMaps were read %d times, and then %d", reads, live.reads)
	}

	// The digest depends on their text, not on their version.
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.updateConfigMap("scripts", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"a": "b"} })
	r.updateConfigMap("rules", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"a": "b"} })
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")

	r.updateConfigMap("scripts", func(cm *corev1.ConfigMap) {
		cm.Data["check.sh"] = "#!/bin/sh\necho the second edition\n"
	})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	if got := r.pinned("net-2").Hooks[1].Script; !strings.Contains(got, "second edition") {
		t.Errorf("the hook is %q", got)
	}
	if got := r.pinned("net-1").Hooks[1].Script; !strings.Contains(got, "checked") {
		t.Errorf("the hook of the earlier Run is %q", got)
	}
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.updateConfigMap("rules", func(cm *corev1.ConfigMap) {
		cm.Data["names.yaml"] = "validations: [{expression: 'true', message: other}]"
	})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	r.ends("net-3", v1alpha1.PhaseSucceeded)
	r.updateConfigMap("commands", func(cm *corev1.ConfigMap) { cm.Data["destroy.sh"] = "tofu destroy -parallelism=1" })
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 net-4 ")
	run := &v1alpha1.Run{}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: "net-4"}, run))
	if got := run.Spec.Cause; got.Message != "spec.commands changed" || got.By != "" {
		t.Errorf("the cause is %+v", got)
	}
}

func TestErrorsOfHooksAndPoliciesNameTheField(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*testEnv)
		reason string
		parts  []string
	}{
		"a script's ConfigMap is missing": {
			func(r *testEnv) { r.deleteConfigMap("scripts") }, "ConfigMapNotFound", []string{"ConfigMap scripts",
				"spec.hooks[1]"},
		},
		"the policies' ConfigMap is missing": {
			func(r *testEnv) { r.deleteConfigMap("rules") }, "ConfigMapNotFound", []string{"ConfigMap rules",
				"spec.policies[0]"},
		},
		"the key is missing": {
			func(r *testEnv) {
				r.updateConfigMap("scripts", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"other.sh": ""} })
			},
			"ConfigMapKeyNotFound", []string{"ConfigMap scripts has no key check.sh", "spec.hooks[1]"},
		},
		"the script is not text": {
			func(r *testEnv) {
				r.updateConfigMap("scripts", func(cm *corev1.ConfigMap) {
					cm.Data, cm.BinaryData = nil, map[string][]byte{"check.sh": {0xff}}
				})
			},
			"HookInvalid", []string{"key check.sh of ConfigMap scripts is not text", "spec.hooks[1]"},
		},
		"the script is too long": {
			func(r *testEnv) {
				r.updateConfigMap("scripts", func(cm *corev1.ConfigMap) {
					cm.Data["check.sh"] = strings.Repeat("#", 64<<10+1)
				})
			},
			"HookInvalid", []string{"65537 bytes", "at most 65536", "spec.hooks[1]"},
		},
		"a command's ConfigMap is missing": {
			func(r *testEnv) { r.deleteConfigMap("commands") }, "ConfigMapNotFound", []string{"ConfigMap commands",
				"spec.commands.destroy"},
		},
		"a command's key is missing": {
			func(r *testEnv) {
				r.updateConfigMap("commands", func(cm *corev1.ConfigMap) {
					cm.Data = map[string]string{"other.sh": ""}
				})
			},
			"ConfigMapKeyNotFound", []string{"ConfigMap commands has no key destroy.sh", "spec.commands.destroy"},
		},
		"a command is not text": {
			func(r *testEnv) {
				r.updateConfigMap("commands", func(cm *corev1.ConfigMap) {
					cm.Data, cm.BinaryData = nil, map[string][]byte{"destroy.sh": {0xff}}
				})
			},
			"CommandInvalid", []string{"key destroy.sh of ConfigMap commands is not text", "spec.commands.destroy"},
		},
		"a command is too long": {
			func(r *testEnv) {
				r.updateConfigMap("commands", func(cm *corev1.ConfigMap) {
					cm.Data["destroy.sh"] = strings.Repeat("#", 64<<10+1)
				})
			},
			"CommandInvalid", []string{"65537 bytes", "at most 65536", "spec.commands.destroy"},
		},
		"a command is empty": {
			func(r *testEnv) {
				r.updateConfigMap("commands", func(cm *corev1.ConfigMap) { cm.Data["destroy.sh"] = "" })
			},
			"CommandInvalid", []string{"key destroy.sh of ConfigMap commands is empty", "spec.commands.destroy"},
		},
		"the ConfigMap has no policy": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) { delete(cm.Data, "names.yaml") })
			},
			"PolicyInvalid", []string{"ConfigMap rules has no key that ends in", "spec.policies[0]"},
		},
		"a policy's name is misspelled": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) { cm.Data["tags.reg0"] = "package main" })
			},
			"PolicyInvalid", []string{"key tags.reg0 of ConfigMap rules ends in none of .rego, .yaml and .yml",
				"spec.policies[0]"},
		},
		"a binary policy's name is misspelled": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) {
					cm.BinaryData = map[string][]byte{"a.reg0": {0xff}}
				})
			},
			"PolicyInvalid", []string{"key a.reg0 of ConfigMap rules ends in none of"},
		},
		"a policy is not text": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) {
					cm.BinaryData = map[string][]byte{"a.rego": {0xff}}
				})
			},
			"PolicyInvalid", []string{"key a.rego of ConfigMap rules is not text"},
		},
		"the inputs document is too large": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) {
					for _, name := range []string{"a", "b", "c"} {
						cm.Data[name+".yaml"] = "validations: [{expression: 'true', message: fine}]\n#" +
							strings.Repeat("x", 250<<10)
					}
				})
				r.spec(func(s *v1alpha1.StackSpec) {
					for range 11 {
						s.Policies = append(s.Policies, s.Policies[0])
					}
				})
			},
			"InputsTooLarge", []string{"spec.hooks, spec.commands and spec.policies", "at most 8388608"},
		},
		"a policy does not compile": {
			func(r *testEnv) {
				r.updateConfigMap("rules", func(cm *corev1.ConfigMap) {
					cm.Data["a.rego"] = "package main\ndeny contains msg if {"
				})
			},
			"PolicyInvalid", []string{"rules/a.rego", "spec.policies[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newScriptsTestEnv(t)
			tt.change(r)
			r.reconcile()
			r.expect("False", tt.reason, "")
			message := ""
			for _, c := range r.stack.Status.Conditions {
				message += c.Message
			}
			for _, part := range tt.parts {
				if !strings.Contains(message, part) {
					t.Errorf("the message is %q, without %q", message, part)
				}
			}
		})
	}
}

// deleteConfigMap deletes a ConfigMap and waits until the cache has the deletion.
func (r *testEnv) deleteConfigMap(name string) {
	r.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: name}}
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), cm))
	r.Gone(apiserver.Metadata("ConfigMap", cm.Namespace, name))
}

// TestTextsAreReadFromTheAPIServer checks that a stale cache returns neither an earlier text of a ConfigMap nor one
// that is deleted.
func TestTextsAreReadFromTheAPIServer(t *testing.T) {
	r, _ := newScriptsTestEnv(t)
	key := client.ObjectKey{Namespace: r.stack.Namespace, Name: "scripts"}
	text, err := r.Sources.Text(t.Context(), key, "a version from before")
	apiserver.Must(t, err)
	if !strings.Contains(text.Files["check.sh"], "checked") {
		t.Errorf("got %v", text.Files)
	}
	key.Name = "none"
	if text, err := r.Sources.Text(t.Context(), key, "a version from before"); err != nil || text != nil {
		t.Errorf("a deleted ConfigMap returns %v, %v", text, err)
	}
}
