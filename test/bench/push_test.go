package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
)

// BenchmarkPush measures from a push of one Stack's code, in a repository of 20 Stacks, with a real Git server over
// HTTP and a signed webhook: until its Run is created, and until the Stack is Ready. Goal: the Run in under a second.
func BenchmarkPush(b *testing.B) {
	const namespace, others = "push", 20
	hooks := devcluster.FreeAddress(b)
	c := devcluster.Start(b, "--web-listen="+hooks)
	repos := gitserver.New(b)
	origin, err := repos.Init("infra")
	must(b, err)
	server, err := gitserver.ServeHTTP(repos, false)
	must(b, err)
	b.Cleanup(func() { _ = server.Close() })
	push := func(stack int, text string) {
		_, err := origin.Commit(gitserver.Change{Files: map[string]string{
			fmt.Sprintf("stacks/s%02d/main.tf", stack): fmt.Sprintf("resource \"terraform_data\" \"it\" { "+
				"input = %q }\n", text),
		}})
		must(b, err)
	}
	for i := range others {
		push(i, "first")
	}
	must(b, c.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(b, c.Create(b.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hook"},
		StringData: map[string]string{"token": "secret"}}))
	must(b, c.Create(b.Context(), &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "infra"},
		Spec: v1alpha1.RepositorySpec{URL: server.URL + origin.Path(), Ref: "main",
			Webhook: &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}}},
	}))
	var first *v1alpha1.Stack
	for i := range others {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("s%02d", i)}}
		s.Spec.Apply = v1alpha1.ApplyAutomatic
		s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
			Path: fmt.Sprintf("stacks/s%02d", i)}
		must(b, c.Create(b.Context(), s))
		if i == 0 {
			first = s
		}
	}
	for i := range others {
		s := first.DeepCopy()
		s.Name = fmt.Sprintf("s%02d", i)
		untilReady(b, c, s, "")
	}
	var toRun, toReady time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		must(b, c.Get(b.Context(), client.ObjectKeyFromObject(first), first))
		before := first.Status.AppliedInputsDigest
		runs, err := c.Watch(b.Context(), &v1alpha1.RunList{}, client.InNamespace(namespace))
		must(b, err)
		push(0, fmt.Sprint("push ", b.N, " ", i))
		b.StartTimer()
		start := time.Now()
		webhook(b, "http://"+hooks+"/hooks/"+namespace+"/infra", fmt.Sprint(b.N, "-", i))
		for e := range runs.ResultChan() {
			if r, ok := e.Object.(*v1alpha1.Run); ok && e.Type == watch.Added && r.Spec.Stack.Name == first.Name &&
				r.Name != first.Status.LastRun && !r.Status.Phase.Finished() {
				break
			}
		}
		toRun += time.Since(start)
		runs.Stop()
		untilReady(b, c, first, before)
		toReady += time.Since(start)
	}
	b.ReportMetric(toRun.Seconds()/float64(b.N), "s/to-Run")
	b.ReportMetric(toReady.Seconds()/float64(b.N), "s/to-Ready")
}

// webhook sends the webhook of a push as GitHub does.
func webhook(b *testing.B, url, delivery string) {
	b.Helper()
	status, text, err := gitserver.SendPush(b.Context(), url, "secret", delivery)
	must(b, err)
	if status != http.StatusAccepted {
		b.Fatalf("%d %s", status, text)
	}
}
