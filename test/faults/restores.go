package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/faults/proxy"
)

// restores restores etcd to an earlier moment, or creates objects again, while the cloud, the bucket and the machines
// continue from now. The user repeats the lost step.
var restores = suite{name: "restores", lanes: 1, points: restorePoints}

// A restore has the moments of the copy and of the restore.
type restore struct {
	name string
	// story is the first one if it is nil.
	story *story
	// keeps is the step at whose end etcd is copied; or arm copies it by its own hook.
	keeps string
	arm   func(ctx context.Context, l *lane, kept func(error))
	// asks: the Stack is another one then, so that a user has to restore its backup.
	asks bool
	// back is the step at whose end the copy is restored.
	back string
	// lose changes objects while Cairn is stopped, in place of a restore of etcd.
	lose func(l *lane, ctx context.Context) error
	// retries: the user requests another Run, since the state is of a lost Run, and no user wrote it.
	retries bool
}

func restorePoints(baseline) []point {
	var all []point
	for _, r := range []restore{
		{name: "a backup tool, without status, UIDs and owners", story: &stories[1], lose: (*lane).restoreObjects,
			back: "made", asks: true},
		{name: "another Stack of the name", story: &stories[1], lose: (*lane).dropStack, back: "made"},
		{name: "from changed to made", keeps: "made", back: "changed"},
		{name: "from deleted to changed", keeps: "changed", back: "deleted"},
		{name: "from made to before", story: &stories[1], arm: func(_ context.Context, l *lane, kept func(error)) {
			kept(l.keep())
		}, back: "made", asks: true},
		{name: "from made to the plan", arm: keepAtPlan, back: "made"},
		{name: "from made to the middle of the apply", arm: keepAtApply, back: "made"},
		// A pushed state is lost, and the code has a backend: nothing may be planned on an empty state.
		{name: "pushed, from pushed to made", story: &pushed, keeps: "made", back: "pushed", retries: true},
		{name: "pushed, from forgotten to made", story: &pushed, keeps: "made", back: "forgotten"},
	} {
		for _, restarted := range []bool{true, false} {
			fault := "etcd restored, Cairn goes on"
			switch {
			case r.lose != nil && !restarted:
				continue
			case r.lose != nil:
				fault = "objects created again while Cairn is stopped"
			case restarted:
				fault = "etcd restored, Cairn is restarted"
			}
			all = append(all, point{
				name: r.name + ": " + fault, fault: fault,
				try: func(ctx context.Context, l *lane) (bool, error) { return l.restored(ctx, r, restarted) },
			})
		}
	}
	return all
}

// restored runs a story in which etcd is restored once. The numbers of changes and Runs may differ from the baseline;
// all has to be Ready, created once, and deleted in the end.
func (l *lane) restored(ctx context.Context, r restore, restarted bool) (bool, error) {
	s, done, kept := stories[0], false, make(chan error, 1)
	if r.story != nil {
		s = *r.story
	}
	_, err := l.runStory(ctx, s, hooks{
		begin: func() {
			if r.arm != nil {
				r.arm(ctx, l, func(err error) { kept <- err })
			}
		},
		ended: func(ctx context.Context, step string) error {
			if step == r.keeps {
				kept <- l.keep()
			}
			if step != r.back || done {
				return nil
			}
			if done = true; r.lose == nil {
				if err := <-kept; err != nil {
					return err
				}
			}
			return l.goBack(ctx, s, r, restarted)
		},
	})
	return done, err
}

// goBack restores etcd, and repeats the step of the user, which may be in the restored data or not.
func (l *lane) goBack(ctx context.Context, s story, r restore, restarted bool) error {
	if r.lose != nil {
		lose := func(ctx context.Context) error { return r.lose(l, ctx) }
		if err := l.whileStopped(ctx, lose); err != nil {
			return err
		}
	} else if err := l.restore(ctx); err != nil {
		return err
	}
	l.witness.goBack()
	if restarted && r.lose == nil {
		for _, c := range l.cairns() {
			c.kill()
		}
		for _, c := range l.cairns() {
			if err := c.ready(ctx); err != nil {
				return err
			}
		}
	}
	if err := l.take(ctx, s, r.back); err != nil {
		return err
	}
	if r.back == "deleted" {
		if err := l.letGo(ctx); err != nil {
			return err
		}
	}
	if r.asks {
		if err := l.takeBackup(ctx); err != nil {
			return err
		}
	}
	if r.retries {
		if err := l.retry(ctx); err != nil {
			return err
		}
	}
	if err := l.arrive(ctx, s, r.back); err != nil {
		return err
	}
	return l.rest(ctx, held)
}

// letGo waits until the Stack reports that it cannot be destroyed, since the first deletion removed its inputs, and
// follows the message.
func (l *lane) letGo(ctx context.Context) error {
	stack := &v1alpha1.Stack{}
	key := client.ObjectKey{Namespace: l.space, Name: "net"}
	err := until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, key, stack); err != nil {
			return client.IgnoreNotFound(err)
		}
		if c := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready"); c == nil || c.Reason != "DestroyFailed" {
			return fmt.Errorf("the Stack does not say that it cannot be destroyed: %s", standing(stack))
		}
		return nil
	})
	if err != nil || stack.Name == "" {
		return err
	}
	if err := until(ctx, patience, func(ctx context.Context) error { // the API server may load the CRDs at this moment
		return l.Patch(ctx, stack, client.RawPatch("application/merge-patch+json",
			[]byte(`{"spec":{"deletionPolicy":"Orphan"}}`)))
	}); err != nil {
		return err
	}
	if err := until(ctx, patience, func(ctx context.Context) error {
		err := l.Get(ctx, key, stack)
		if err == nil {
			err = fmt.Errorf("an orphaned Stack stays: %s", standing(stack))
		}
		return client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	// Its State remains, as Orphan requires.
	state := &v1alpha1.State{}
	state.Namespace, state.Name = key.Namespace, key.Name
	return client.IgnoreNotFound(l.Delete(ctx, state))
}

// retry requests another Run of the Stack.
func (l *lane) retry(ctx context.Context) error {
	return l.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		v1alpha1.RequestedAtAnnotation, time.Now().UTC().Format(time.RFC3339Nano), v1alpha1.RequestedByAnnotation,
		dev.Admin))
}

// takeBackup waits until the Stack reports that a user has to restore its backup, and does it, as `cairn state restore`
// does.
func (l *lane) takeBackup(ctx context.Context) error {
	stack := &v1alpha1.Stack{}
	key := client.ObjectKey{Namespace: l.space, Name: "net"}
	if err := until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, key, stack); err != nil {
			return err
		}
		if ready := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready"); ready == nil ||
			!strings.Contains(ready.Message, "cairn state restore net") {
			return fmt.Errorf("the Stack does not ask for its backup: %s", standing(stack))
		}
		return nil
	}); err != nil {
		return err
	}
	stateUser, err := l.stateUser(ctx)
	if err != nil {
		return err
	}
	_, err = stateUser.RestoreState(ctx, key.Namespace, key.Name, false)
	return err
}

// stateUser returns a user who may push and restore States in the lane's namespace, at the server.
func (l *lane) stateUser(ctx context.Context) (*userapi.Client, error) {
	meta := metav1.ObjectMeta{Namespace: l.space, Name: "user"}
	rule := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"states"},
		Verbs: []string{"push", "restore"}}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	for _, o := range []client.Object{
		account, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: l.space, Name: meta.Name}},
		},
		// A permission that the server of a lane does not need otherwise: to review tokens.
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: l.own}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
				Kind: "ClusterRole", Name: "system:auth-delegator"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: l.own, Name: "cairn-server"}},
		},
	} {
		if err := client.IgnoreAlreadyExists(l.Create(ctx, o)); err != nil {
			return nil, err
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := l.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(&rest.Config{Host: l.store, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		return nil, err
	}
	return userapi.New(l.store, transport), nil
}

// keepAtPlan copies etcd when the runner has reported that it plans.
func keepAtPlan(_ context.Context, l *lane, kept func(error)) {
	var once sync.Once
	l.server.OnWrite(func(call *proxy.Call) {
		call.Pass()
		if call.Resource == "runs/status" {
			once.Do(func() { kept(l.keep()) })
		}
	})
}

// keepAtApply copies etcd when the first resource is created and the second one is not yet.
func keepAtApply(ctx context.Context, l *lane, kept func(error)) {
	gate := l.cloud.Load().Inject(cloud.Fault{Verb: cloud.Create, Name: "b", Hold: true})
	go func() {
		err := gate.Held(ctx, 1)
		if err == nil {
			err = l.keep()
		}
		gate.End()
		kept(err)
	}()
}

// whileStopped changes objects while Cairn is stopped, and restarts it.
func (l *lane) whileStopped(ctx context.Context, change func(context.Context) error) error {
	for _, c := range l.cairns() {
		if err := c.signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	err := change(ctx)
	for _, c := range l.cairns() {
		c.kill()
	}
	for _, c := range l.cairns() {
		if err == nil {
			err = c.ready(ctx)
		}
	}
	return err
}

// restoreObjects creates the Stack, its State and the Secrets of its versions again, as a backup tool does: without
// status, UID and owners. Runs are left out, as docs/how-to/restore.md says.
func (l *lane) restoreObjects(ctx context.Context) error {
	secrets := &corev1.SecretList{}
	if err := l.List(ctx, secrets, client.InNamespace(l.space)); err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: l.space, Name: "net"}
	lost := []client.Object{&v1alpha1.Stack{ObjectMeta: meta}, &v1alpha1.State{ObjectMeta: meta}}
	for i := range secrets.Items {
		if strings.HasPrefix(secrets.Items[i].Name, "net-state-") {
			lost = append(lost, &secrets.Items[i])
		}
	}
	for _, o := range lost {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if err := l.remove(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range lost {
		o.SetUID("")
		o.SetResourceVersion("")
		o.SetOwnerReferences(nil)
		o.SetManagedFields(nil)
		switch o := o.(type) {
		case *v1alpha1.Stack:
			o.Status = v1alpha1.StackStatus{}
		case *v1alpha1.State:
			o.Status = v1alpha1.StateStatus{}
		}
		if err := l.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// dropStack deletes the Stack alone, bypassing its finalizer. Its Runs exist until the garbage collector finds them,
// and the step of the user creates another Stack of the name.
func (l *lane) dropStack(ctx context.Context) error {
	return l.remove(ctx, &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "net"}})
}

// remove deletes an object without its finalizers, and leaves o as it was.
func (l *lane) remove(ctx context.Context, o client.Object) error {
	gone := o.DeepCopyObject().(client.Object)
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := l.Patch(ctx, gone, free); err != nil {
		return err
	}
	if err := l.Delete(ctx, gone); client.IgnoreNotFound(err) != nil {
		return err
	}
	return until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %w", o.GetName(), err)
		}
		return nil
	})
}
