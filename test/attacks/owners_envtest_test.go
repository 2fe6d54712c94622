//go:build envtest

package attacks

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
)

// pushedState is the state of code("one"), which another system applied.
const pushedState = `{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"6f7c5a52-39c9-44a7-9d9b-6f8b1a2c3d4e","outputs":{},"resources":[
{"mode":"managed","type":"terraform_data","name":"disk","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":
{"id":"disk","input":{"value":"one","type":"string"},"output":{"value":"one","type":"string"},"triggers_replace":null},"sensitive_attributes":[]}]}],"check_results":null}`

// pushes has an administrator push a state of another system for Stack net.
func (s story) pushes() {
	s.Helper()
	file := filepath.Join(s.TempDir(), "net.tfstate")
	must(s.T, os.WriteFile(file, []byte(pushedState), 0o600))
	if out, err := s.administer("state", "push", "net", file, "--yes"); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}

// administer runs a command of an administrator.
func (s story) administer(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(s.Context(), filepath.Join(s.cluster.Bin, "cairn"),
		append([]string{"-n", s.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig)
	return cmd.CombinedOutput()
}

// migrated has bob create a suspended Stack with a pushed state, and see that its plan has no changes.
func (s story) migrated(change func(*v1alpha1.StackSpec)) *v1alpha1.Stack {
	s.Helper()
	net := stack(func(spec *v1alpha1.StackSpec) {
		spec.Suspend = true
		if change != nil {
			change(spec)
		}
	})
	s.creates("bob", net)
	s.pushes()
	s.done(s.patches("bob", net, `{"spec":{"suspend":false}}`))
	s.run("net-1", v1alpha1.PhaseSucceeded)
	s.until("the State has the inputs of the plan", func(context.Context) (bool, error) {
		return s.state().InputsDigest != "", nil
	})
	return net
}

// runOf waits until a Run of a Stack, which may have the name of an earlier one, is in a phase.
func (s story) runOf(stack *v1alpha1.Stack, phase v1alpha1.RunPhase) (found *v1alpha1.Run) {
	s.Helper()
	s.until(fmt.Sprintf("a Run of the new Stack is %s", phase), func(ctx context.Context) (bool, error) {
		runs := &v1alpha1.RunList{}
		err := s.cluster.List(ctx, runs, client.InNamespace(s.namespace))
		for i := range runs.Items {
			if metav1.IsControlledBy(&runs.Items[i], stack) && runs.Items[i].Status.Phase == phase {
				found = &runs.Items[i]
			}
		}
		return found != nil, err
	})
	return found
}

// left fails unless the State of the deleted Stack net is there with its resource, and no Run destroyed anything.
func (s story) left() {
	s.Helper()
	if got := s.state(); got.Resources != 1 || got.Version != 1 {
		s.Errorf("the State is at version %d with %d resources", got.Version, got.Resources)
	}
	s.until("an event tells how to destroy", func(ctx context.Context) (bool, error) {
		events := &corev1.EventList{}
		err := s.cluster.List(ctx, events, client.InNamespace(s.namespace))
		for _, e := range events.Items {
			if e.Reason == v1alpha1.EventStateOrphaned && strings.Contains(e.Message, "cairn destroy net") {
				return true, err
			}
		}
		return false, err
	})
}

// TestStateOfOthersIsNeitherAppliedNorDestroyed has users with cairn-edit, some of whom can approve, act on a state
// that their Stack never applied.
func TestStateOfOthersIsNeitherAppliedNorDestroyed(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)
	evil := func(spec *v1alpha1.StackSpec) { spec.Apply, spec.Source.Inline = v1alpha1.ApplyAutomatic, code("evil") }

	runStory(t, c, "an editor creates a Stack that applies by itself over a state that was pushed", func(s story) {
		net := s.migrated(func(spec *v1alpha1.StackSpec) { spec.DeletionPolicy = v1alpha1.DeletionOrphan })
		s.done(s.deletes("ed", net))
		s.gone(net)
		net = stack(evil)
		s.creates("ed", net)
		if run := s.runOf(net, v1alpha1.PhaseAwaitingApproval); !run.Status.Plan.TakesOverState ||
			s.state().Version != 1 {
			s.Errorf("%+v, version %d", run.Status.Plan, s.state().Version)
		}
	})

	runStory(t, c, "an editor changes the code of a Stack that applies by itself, for which a state was pushed",
		func(s story) {
			net := s.migrated(func(spec *v1alpha1.StackSpec) { spec.Apply = v1alpha1.ApplyAutomatic })
			s.done(s.patches("ed", net, coded("evil", "")))
			run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			s.done(s.approves("bob", run)) // a migration goes on with one approval
			s.run("net-2", v1alpha1.PhaseSucceeded)
			s.done(s.patches("ed", net, coded("two", "")))
			s.run("net-3", v1alpha1.PhaseSucceeded)
		})

	runStory(t, c, "an editor has a Stack that applies by itself before a state is pushed for it", func(s story) {
		net := stack(func(spec *v1alpha1.StackSpec) { spec.Apply = v1alpha1.ApplyAutomatic })
		s.creates("ed", net)
		s.run("net-1", v1alpha1.PhaseSucceeded)
		s.done(s.patches("ed", net, `{"spec":{"source":{"inline":{"main.tf":""}}}}`))
		s.run("net-2", v1alpha1.PhaseSucceeded) // its state is empty, and any other one may be pushed
		s.done(s.patches("ed", net, `{"spec":{"suspend":true}}`))
		s.pushes()
		s.done(s.patches("ed", net, coded("evil", `,"suspend":false`)))
		if run := s.run("net-3", v1alpha1.PhaseAwaitingApproval); !run.Status.Plan.TakesOverState {
			s.Errorf("%+v", run.Status.Plan)
		}
	})

	for name, editor := range map[string]string{"an editor": "ed", "an editor who can approve": "alice"} {
		runStory(t, c, name+" creates a suspended Stack over a state, deletes it, and resumes it", func(s story) {
			net := s.migrated(func(spec *v1alpha1.StackSpec) { spec.DeletionPolicy = v1alpha1.DeletionOrphan })
			s.done(s.deletes(editor, net))
			s.gone(net)
			again := stack(func(spec *v1alpha1.StackSpec) { spec.Suspend, spec.Apply = true, v1alpha1.ApplyAutomatic })
			s.creates(editor, again)
			s.until("the operator has seen the Stack", func(ctx context.Context) (bool, error) {
				err := c.Get(ctx, client.ObjectKeyFromObject(again), again)
				return len(again.Finalizers) > 0, err
			})
			s.done(s.deletes(editor, again))
			_ = s.patches(editor, again, `{"spec":{"suspend":false}}`) // it may be gone by then
			s.gone(again)
			s.left()
		})
	}

	runStory(t, c, "a user with the verb deletes a migrated Stack before it applied anything, and destroys on purpose",
		func(s story) {
			net := s.migrated(nil)
			s.denied(s.deletes("ed", net), "requires the verb destroy on the Stack")
			s.done(s.deletes("carol", net))
			s.gone(net)
			s.left()
			net = stack(nil)
			s.creates("bob", net)
			s.runOf(net, v1alpha1.PhaseSucceeded)
			s.done(s.patches("carol", net,
				`{"metadata":{"annotations":{"cairn.dev/requested-at":"2026-11-24T12:00:00Z","cairn.dev/requested-operation":"Destroy"}}}`))
			destroy := s.runOf(net, v1alpha1.PhaseAwaitingApproval)
			s.done(s.approves("carol", destroy))
			s.run(destroy.Name, v1alpha1.PhaseSucceeded)
		})

	runStory(t, c, "an editor creates a Stack with an owner, whose deletion destroys", func(s story) {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "owner"}}
		must(s.T, c.Create(s.Context(), owner))
		net := func(policy v1alpha1.DeletionPolicy) *v1alpha1.Stack {
			o := stack(func(spec *v1alpha1.StackSpec) { spec.DeletionPolicy = policy })
			o.Namespace = s.namespace
			o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name,
				UID: owner.UID}}
			return o
		}
		for _, user := range []string{"ed", "alice"} {
			s.denied(s.as(user).Create(s.Context(), net("")),
				fmt.Sprintf("%s cannot create Stack net with owners", user))
			s.denied(s.as(user).Create(s.Context(), net(v1alpha1.DeletionDestroy)),
				"requires the verb destroy on the Stack")
		}
		s.creates("ed", net(v1alpha1.DeletionOrphan)) // its deletion keeps the resources
		s.denied(s.patches("ed", net(""), `{"spec":{"deletionPolicy":"Destroy"}}`), "requires the verb destroy")
		must(s.T, c.Delete(s.Context(), net("")))
		s.gone(net(""))
		s.creates("carol", net(""))
	})
}

// TestRecoverTakesNoStateThatWasNotLost has a user who can recover forge the log of a pod: the key that a state in it
// is encrypted to is no secret.
func TestRecoverTakesNoStateThatWasNotLost(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)
	runStory(t, c, "a user forges the log of a pod whose state was not lost", func(s story) {
		s.applied(stack(nil))
		before := s.state()
		keys := &corev1.Secret{}
		must(s.T, c.Get(s.Context(), client.ObjectKey{Namespace: "cairn-system", Name: "cairn-keys"}, keys))
		identities, err := age.ParseIdentities(bytes.NewReader(keys.Data["identity.age"]))
		must(s.T, err)
		forged := strings.Replace(pushedState, "6f7c5a52-39c9-44a7-9d9b-6f8b1a2c3d4e", before.Lineage, 1)
		forged = strings.Replace(forged, `"serial":3`, `"serial":30`, 1)
		for _, name := range []string{"net", "net/net-1/1", "net/net-1/2"} {
			file := filepath.Join(s.TempDir(), "forged.log")
			log := sealed(s.T, identities[0].(*age.X25519Identity).Recipient(), s.namespace+"/"+name, before.SHA256,
				forged)
			must(s.T, os.WriteFile(file, log, 0o600))
			out, err := s.administer("state", "recover", "net", "--file", file)
			if got := s.state(); err == nil || got.Version != before.Version || got.Rescued != nil {
				s.Errorf("%s: %v: %s, version %d", name, err, out, got.Version)
			}
		}
	})
}

// sealed is a state as a runner prints it.
func sealed(t *testing.T, to age.Recipient, name, base, state string) []byte {
	t.Helper()
	var text bytes.Buffer
	armored := armor.NewWriter(&text)
	encrypted, err := age.Encrypt(armored, to)
	must(t, err)
	packed := gzip.NewWriter(encrypted)
	packed.Name, packed.Comment = name, base
	_, err = packed.Write([]byte(state))
	must(t, errors.Join(err, packed.Close(), encrypted.Close(), armored.Close()))
	text.WriteByte('\n')
	return text.Bytes()
}
