package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// pushed and fromCode are the stories of code with its own backend, with a state of existing resources. A Stack
// without spec.backend fails, since a plan on an empty state would create all of them again. Then the user selects one
// of two options: the state is pushed to Cairn, or stays where it is. With the first one Kubernetes loses the State,
// and the next change is applied on its backup.
var (
	pushed = story{
		name: "pushed", apply: v1alpha1.ApplyAutomatic, takesOver: true,
		steps: []step{
			inCode,
			{"pushed", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
				return l.pushOwnState(ctx) // the push is the cause of the next Run
			}, sized(1), 700 * time.Millisecond},
			{"forgotten", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
				if err := l.deleteState(ctx); err != nil {
					return err
				}
				return l.patch(ctx, `{"spec":{"variables":[{"name":"size","value":2}]}}`)
			}, sized(2), 1500 * time.Millisecond},
			deletedStep,
		},
		visits: slices.Concat(
			firsts("net-1-plan-1", "GET sources", "GET state", "POST steps (done)"),
			firsts("net-2-plan-1", "GET order", "GET state", "PUT plan"),
			firsts("net-3-plan-1", "GET order", "GET state", "LOCK state", "POST state"),
		),
	}
	fromCode = story{
		name: "from code", apply: v1alpha1.ApplyAutomatic, takesOver: true,
		steps: []step{
			inCode,
			{"adopted", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
				return l.patch(ctx, `{"spec":{"backend":{"fromCode":true}}}`)
			}, sized(1), 700 * time.Millisecond},
			{"changed", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
				return l.patch(ctx, `{"spec":{"variables":[{"name":"size","value":2}]}}`)
			}, sized(2), 1500 * time.Millisecond},
			deletedStep,
		},
		visits: slices.Concat(
			firsts("net-1-plan-1", "GET sources", "POST steps (done)"),
			firsts("net-2-plan-1", "GET sources", "PUT plan"),
			firsts("net-3-plan-1", "LOCK state", "POST steps (done)"),
		),
	}
)

// inCode is the first step of both.
var inCode = step{"made", func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error {
	if err := l.exists(ctx); err != nil {
		return err
	}
	return created(stackWithBackend)(ctx, l, apply)
}, func(_ context.Context, _ *lane, stack *v1alpha1.Stack) error {
	if stack == nil {
		return errors.New("I9: the Stack is gone")
	}
	c := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready")
	ended := stack.Status.ObservedGeneration == stack.Generation && stack.Status.CurrentRun == ""
	if c == nil || c.Reason != "BackendInCode" || c.Status != metav1.ConditionFalse || !ended {
		return fmt.Errorf("I3, I9: the Stack does not say that its code has a backend: %s", standing(stack))
	}
	return nil
}, 700 * time.Millisecond}

const stackWithBackend = `
metadata: {name: net}
spec:
  source:
    inline:
      main.tf: |
        terraform {
          backend "http" {
            address        = "CLOUD/state"
            lock_address   = "CLOUD/state"
            unlock_address = "CLOUD/state"
          }
          required_providers { cloud = { source = "cairn.dev/test/cloud" } }
        }
        variable "size" {}
        resource "cloud_thing" "a" {
          name       = "a"
          attributes = { size = var.size }
        }
        resource "cloud_thing" "b" {
          name       = "b"
          attributes = { beside = cloud_thing.a.name }
        }
        output "size" { value = var.size }
  variables: [{name: size, value: 1}]
  outputs: {secret: {name: net-outputs}, configMap: {name: net-outputs}}
  retry: {backoff: 100ms}
`

// exists creates what the code declares, and its state in the code's backend, as an engine did before Cairn.
func (l *lane) exists(ctx context.Context) error {
	if len(l.cloud.Load().Resources()) == 0 {
		for _, resource := range []string{`{"name":"a","attributes":{"size":"1"}}`,
			`{"name":"b","attributes":{"beside":"a"}}`} {
			if _, err := l.call(ctx, http.MethodPost, "/things/thing", []byte(resource)); err != nil {
				return err
			}
		}
	}
	var resources []string
	for _, t := range l.cloud.Load().Resources() {
		key, dependencies := "size", ""
		if t.Name == "b" {
			key, dependencies = "beside", `"cloud_thing.a"`
		}
		resources = append(resources, fmt.Sprintf(`{
			"mode": "managed", "type": "cloud_thing", "name": %[1]q, "provider": "provider[\"cairn.dev/test/cloud\"]",
			"instances": [{
				"schema_version": 0, "dependencies": [%[6]s],
				"attributes": {"id": %[2]q, "name": %[1]q, "token": %[3]q, "attributes": {%[4]q: %[5]q}}
			}]
		}`, t.Name, t.ID, t.Token, key, t.Attributes[key], dependencies))
	}
	_, err := l.ownState(ctx, http.MethodPost, fmt.Appendf(nil, `{
		"version": 4, "terraform_version": "1.10.0", "serial": 1, "lineage": "0f6c3a52-5a0e-4d8e-9d6b-6d1f6f7f2c11",
		"outputs": {"size": {"value": "1", "type": "string"}}, "resources": [%s]
	}`, strings.Join(resources, ",")))
	return err
}

// ownState reads or writes the state in the backend of the code.
func (l *lane) ownState(ctx context.Context, method string, state []byte) ([]byte, error) {
	return l.call(ctx, method, "/state", state)
}

// pushOwnState pushes that state to Cairn, unless Cairn has one. After a restore of etcd it has: a push is rejected
// that does not follow the backup, which is restored first.
func (l *lane) pushOwnState(ctx context.Context) error {
	known := &v1alpha1.State{}
	err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "net"}, known)
	if known.Status.Version > 0 || client.IgnoreNotFound(err) != nil {
		return err
	}
	state, err := l.ownState(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	user, err := l.stateUser(ctx)
	if err != nil {
		return err
	}
	_, err = user.PushState(ctx, l.space, "net", state, false)
	return err
}

// call sends a request to the cloud, or to the backend beside it.
func (l *lane) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.clouds.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, data)
	}
	return data, err
}

// deleteState deletes the State and its bytes from Kubernetes, bypassing all protections, as when etcd lost them. The
// bucket has its backup.
func (l *lane) deleteState(ctx context.Context) error {
	l.witness.forgetVersions()
	state := &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "net"}}
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := l.Patch(ctx, state, free); client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := l.Delete(ctx, state); client.IgnoreNotFound(err) != nil {
		return err
	}
	secrets := &corev1.SecretList{}
	if err := l.List(ctx, secrets, client.InNamespace(l.space)); err != nil {
		return err
	}
	for i := range secrets.Items {
		if strings.HasPrefix(secrets.Items[i].Name, "net-state-") {
			if err := l.Delete(ctx, &secrets.Items[i]); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
