//go:build envtest

package server_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

const sealedText = armor.Header + "\nYWdl\n" + armor.Footer + "\n"

// sealedTo is the state of an attempt as a runner prints it to its pod's log.
func sealedTo(t *testing.T, recipient, attempt string, state []byte) string {
	t.Helper()
	to, err := age.ParseX25519Recipient(recipient)
	must(t, err)
	var text bytes.Buffer
	armored := armor.NewWriter(&text)
	sealed, err := age.Encrypt(armored, to)
	must(t, err)
	packed := gzip.NewWriter(sealed)
	packed.Name = attempt
	_, err = packed.Write(state)
	must(t, errors.Join(err, packed.Close(), sealed.Close(), armored.Close()))
	return "Apply complete!\n\n" + text.String() + "\nexit 73\n"
}

// swapped has two letters in the middle of the last line of a sealed state in each other's place.
func swapped(text string) string {
	end := strings.Index(text, "\n"+armor.Footer)
	for i := end - 20; ; i-- {
		if text[i] != text[i-1] {
			return text[:i-1] + string(text[i]) + string(text[i-1]) + text[i+1:]
		}
	}
}

// someone is a user with all permissions.
func (p *userServer) someone(name string) *userapi.Client {
	p.Helper()
	user, who := p.account(name)
	p.allow(user, mayAll)
	c := p.as(who)
	p.authorized(c)
	return c
}

func TestUserWorksWithAState(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	ns, ctx := e.namespace, t.Context()
	pulls := func(version int64, want []byte) {
		t.Helper()
		if got, err := alice.State(ctx, ns, "net", version); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("version %d: got %s, %v", version, got, err)
		}
	}
	event := func(want string) {
		t.Helper()
		select {
		case got := <-p.events.Events:
			if !strings.Contains(got, want) || !strings.Contains(got, ":alice") {
				t.Errorf("the event is %q; want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Errorf("no event %q", want)
		}
	}
	_, err := alice.State(ctx, ns, "net", 0)
	Result(t, err, http.StatusNotFound, "Stack net has no state yet")
	_, err = alice.State(ctx, ns, "net", 3)
	Result(t, err, http.StatusNotFound, "version 3 of the state of Stack net is not kept")
	_, err = alice.PushState(ctx, ns, "nothing", stateFile(1, "L", ""), false)
	Result(t, err, http.StatusNotFound, "there is no Stack nothing")

	one, two := stateFile(1, "L", "one"), stateFile(2, "L", "two")
	got, err := alice.PushState(ctx, ns, "net", one, false)
	if diff := cmp.Diff(userapi.StateVersion{Version: 1, Serial: 1, Resources: 1}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	event("pushed version 1 (serial 1)")
	_, err = alice.PushState(ctx, ns, "net", two, false)
	must(t, err)
	event("pushed version 2 (serial 2)")
	got, err = alice.PushState(ctx, ns, "net", two, false)
	if diff := cmp.Diff(userapi.StateVersion{Version: 2, Serial: 2, Resources: 1}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	event("pushed what is version 2 (serial 2) already: nothing was written")
	if p.log.line("audit: done", "verb=push", "version=2 serial=2 unchanged=true") == "" {
		t.Error("the audit does not distinguish a push that changed nothing")
	}
	pulls(0, two)
	pulls(1, one)
	if p.log.line("audit: done", "verb=pull", ":alice", "name=net", "version=current") == "" ||
		p.log.line("audit: done", "verb=pull", "version=1") == "" {
		t.Error("a pull is not in the audit")
	}
	_, err = alice.PushState(ctx, ns, "net", one, false)
	Result(t, err, http.StatusConflict, "does not follow")
	if line := p.log.line("audit: not done", "verb=push", ":alice", "does not follow"); line == "" {
		t.Error("a push that is refused is not in the audit")
	}
	_, err = alice.PushState(ctx, ns, "net", stateFile(1, "M", "other"), true)
	must(t, err)
	event("pushed version 3 (serial 3) by force")
	if p.log.line("audit: done", "verb=push", "force=true", "version=3 serial=3") == "" {
		t.Error("the audit does not name the version that was pushed, and that it was by force")
	}
	_, err = alice.Rollback(ctx, ns, "net", 2)
	Result(t, err, http.StatusConflict, "version 2 has lineage L")
	_, err = alice.PushState(ctx, ns, "net", stateFile(2, "L", "two"), true)
	must(t, err)
	event("pushed version 4 (serial 4) by force")
	_, err = alice.At(3).Rollback(ctx, ns, "net", 1)
	Result(t, err, http.StatusConflict, "the state is at version 4 by now, and the request is for version 3")
	_, err = alice.At(3).PushState(ctx, ns, "net", stateFile(9, "L", "nine"), true)
	Result(t, err, http.StatusConflict, "the state is at version 4 by now")
	got, err = alice.At(4).Rollback(ctx, ns, "net", 1)
	if diff := cmp.Diff(userapi.StateVersion{Version: 5, Serial: 5, Resources: 1}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	event("went back to version 1: it is version 5 now (serial 5)")
	if p.log.line("audit: done", "verb=rollback", "to=1 version=5 serial=5") == "" {
		t.Error("the audit does not name the result of a rollback")
	}
	pulls(0, stateFile(5, "L", "one"))
	_, err = alice.PushState(ctx, ns, "net", []byte("not a state"), true)
	Result(t, err, http.StatusBadRequest, "not a state file")
	Result(t, alice.Unlock(ctx, ns, "net", "a"), http.StatusNotFound, "the state is not locked")

	// An apply: nothing of this while it runs.
	r, run := e.applying()
	r.lock("a", 409, "never applied this state, so a user has to approve the plan of Run net-1")
	phase := run.Status.Phase
	run.Status.Phase, run.Status.Plan = v1alpha1.PhaseAwaitingApproval, &v1alpha1.Plan{Digest: e.inputs}
	must(t, apiserver.Kube.Status().Update(ctx, run))
	run.Spec.Approval = &v1alpha1.Approval{By: "bob", PlanDigest: e.inputs}
	must(t, apiserver.Kube.Update(ctx, run))
	run.Status.Phase = phase
	must(t, apiserver.Kube.Status().Update(ctx, run))
	r.lock("a", 200, "")
	_, err = alice.PushState(ctx, ns, "net", stateFile(9, "L", ""), true)
	Result(t, err, http.StatusLocked, "attempt 1 of Run net-1 is at work in pod net-1-apply-1")
	_, err = alice.Rollback(ctx, ns, "net", 2)
	Result(t, err, http.StatusLocked, "cairn cancel net-1")
	Result(t, alice.Unlock(ctx, ns, "net", "a"), http.StatusLocked, "works in pod net-1-apply-1")
	r.write("a", stateFile(6, "L", "six"), 200, "")

	// It dies with its lock.
	finish(e, run)
	Result(t, alice.Unlock(ctx, ns, "net", "a"), http.StatusLocked, "its pod net-1-apply-1 is not known to be gone")
	r.kill()
	Result(t, alice.Unlock(ctx, ns, "net", "b"), http.StatusLocked, "under another ID")
	_, err = alice.PushState(ctx, ns, "net", stateFile(9, "L", ""), false)
	Result(t, err, http.StatusLocked, "cairn state unlock net a")
	must(t, alice.Unlock(ctx, ns, "net", "a"))
	event("ended the lock a")
	pulls(0, stateFile(6, "L", "six"))
	if line := p.log.line("audit: done", "verb=unlock", "by=system:serviceaccount:"+ns+":alice", "name=net",
		`impersonatedBy=""`, "lock=a"); line == "" {
		t.Error("the audit does not name who unlocked")
	}
}

func TestStateIsRecoveredFromAPodsLog(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	ns, ctx := e.namespace, t.Context()
	r, run := e.applying()
	r.lock("a", 200, "")
	r.write("a", stateFile(1, "L", "one"), 200, "")
	now := metav1.NowMicro()
	run.Status.Attempts[0].FinishedAt = &now
	run.Status.Attempts[0].Failure = &v1alpha1.Failure{Class: v1alpha1.FailureStateNotSaved,
		Message: "the server was away"}
	must(t, apiserver.Kube.Status().Update(ctx, run))
	r.kill()

	lost := stateFile(2, "L", "what was made since")
	other, err := age.GenerateX25519Identity()
	must(t, err)
	good := sealedTo(t, e.keys.Recipient(), e.namespace+"/net/net-1/1", lost)
	for _, test := range []struct {
		log  string
		says string
	}{
		{sealedText, "damaged"},
		{sealedTo(t, other.Recipient().String(), ns+"/net/net-1/1", lost), "another install"},
		{swapped(good), "damaged"},
		{sealedTo(t, e.keys.Recipient(), ns+"/other/net-1/1", lost), "of another Stack"},
		{sealedTo(t, e.keys.Recipient(), "other/net/net-1/1", lost), "of another Stack"},
		{sealedTo(t, e.keys.Recipient(), "", lost), "of another Stack"},
		{sealedTo(t, e.keys.Recipient(), ns+"/net", lost), "of another Stack"},
		{sealedTo(t, e.keys.Recipient(), ns+"/net/net-1", lost), "names no attempt of a Run"},
	} {
		_, err := alice.Recover(ctx, ns, "net", strings.NewReader(test.log))
		Result(t, err, http.StatusUnprocessableEntity, test.says)
	}
	if _, err := alice.Recover(ctx, ns, "net", strings.NewReader("nothing")); !errors.Is(err, userapi.ErrNotSealed) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		got, err := alice.Recover(ctx, ns, "net", strings.NewReader(good))
		if diff := cmp.Diff(userapi.StateVersion{Version: 2, Serial: 2, Resources: 1}, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	}
	if got, err := alice.State(ctx, ns, "net", 0); err != nil || !bytes.Equal(got, lost) {
		t.Fatalf("got %s, %v", got, err)
	}
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(ctx, client.ObjectKeyFromObject(e.stack), st))
	if st.Status.Lock != nil || !st.Status.Versions[1].At.After(now.Time) {
		t.Errorf("status %+v", st.Status)
	}
	for _, want := range []string{"it is version 2 (serial 2)",
		"what is version 2 (serial 2) already: nothing was written"} {
		if got := <-p.events.Events; !strings.Contains(got, "StateRescued") || !strings.Contains(got, want) {
			t.Errorf("the event is %q; want %q", got, want)
		}
	}
	_, err = alice.Recover(ctx, ns, "net",
		strings.NewReader(sealedTo(t, e.keys.Recipient(), e.namespace+"/net/net-1/1", stateFile(1, "L", "older"))))
	Result(t, err, http.StatusConflict, "nothing to put back")
	_, err = alice.Recover(ctx, ns, "net",
		strings.NewReader(sealedTo(t, e.keys.Recipient(), e.namespace+"/net/net-1/1", stateFile(9, "L", "forged"))))
	Result(t, err, http.StatusConflict, "no state of Stack net is lost")
	_, err = alice.Recover(ctx, ns, "net",
		strings.NewReader(sealedTo(t, e.keys.Recipient(), e.namespace+"/net/net-1/1", []byte("no state"))))
	Result(t, err, http.StatusBadRequest, "not a state file")
	if p.log.line("what was made since") != "" {
		t.Error("a state is in the server's log")
	}
}

func TestTooLargeBodyIsNotRead(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, mayAll)
	p.authorized(p.as(who))
	for path, size := range map[string]int64{"versions": 256<<20 + 1, "rollback": 64<<10 + 1, "unlock": 64<<10 + 1} {
		url := p.base + "/api/v1/namespaces/" + e.namespace + "/states/net/" + path
		zeros := &endless{}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.LimitReader(zeros, size))
		must(t, err)
		request.ContentLength = size
		answer, err := p.transport(who).RoundTrip(request)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %d", path, answer.StatusCode)
		}
	}
	bomb := sealedTo(t, e.keys.Recipient(), e.namespace+"/net/net-1/1", make([]byte, 1<<20))
	_, err := p.as(who).Recover(t.Context(), e.namespace, "net", strings.NewReader(bomb))
	Result(t, err, http.StatusBadRequest, "not a state file")
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestPlanIsServedInItsForms(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	ctx, ns := t.Context(), e.namespace
	run := e.newRun(e.stack, "net-1")
	_, err := alice.Plan(ctx, ns, "net-2")
	Result(t, err, http.StatusNotFound, "there is no Run net-2")
	_, err = alice.Plan(ctx, ns, "net-1")
	Result(t, err, http.StatusNotFound, "Run net-1 has no plan")

	run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:" + strings.Repeat("a", 64), EngineVersion: "1.12.6"}
	must(t, apiserver.Kube.Status().Update(ctx, run))
	view, err := alice.Plan(ctx, ns, "net-1")
	if diff := cmp.Diff(plan.View{EngineVersion: "1.12.6"}, view); err != nil || diff != "" {
		t.Errorf("without changes: %v %s", err, diff)
	}
	_, err = alice.PlanForm(ctx, ns, "net-1", userapi.FormText)
	Result(t, err, http.StatusNotFound, "has no changes")

	run.Status.Plan.Changes = true
	must(t, apiserver.Kube.Status().Update(ctx, run))
	_, err = alice.PlanForm(ctx, ns, "net-1", userapi.FormJSON)
	Result(t, err, http.StatusNotFound, "is not stored")
	folder := "plans/" + ns + "/" + string(run.UID) + "/" + run.Status.Plan.Digest
	raw := []byte(`{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[{"address":"terraform_data.a","mode":"managed","type":"terraform_data","name":"a",` +
		`"provider_name":"terraform.io/builtin/terraform","change":{"actions":["create"],"before":null,"after":{"input":"x"},"after_unknown":{"id":true}}}]}`)
	must(t, e.bucket.Put(ctx, folder+".json", raw))
	if view, err = alice.Plan(ctx, ns, "net-1"); err != nil || len(view.Changes) != 1 ||
		view.Changes[0].Address != "terraform_data.a" || view.Changes[0].Action != plan.Create {
		t.Errorf("got %+v, %v", view, err)
	}
	for form, want := range map[string]string{userapi.FormJSON: string(raw), userapi.FormText: "Plan: 1 to add"} {
		body, err := alice.PlanForm(ctx, ns, "net-1", form)
		must(t, err)
		if got, err := io.ReadAll(body); err != nil || !strings.Contains(string(got), want) || body.Close() != nil {
			t.Errorf("%s: got %q, %v", form, got, err)
		}
	}
}
