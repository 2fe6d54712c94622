//go:build envtest

package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

func entry(action, address, id string) runnerapi.JournalEntry {
	return runnerapi.JournalEntry{Address: address, Type: "aws_vpc", Action: action, IDKey: "id", ID: id}
}

// did appends a batch to the journal.
func (r *runner) did(batch int, entries ...runnerapi.JournalEntry) {
	r.Helper()
	must(r.T, r.client().AppendJournal(r.Context(), batch, runnerapi.JournalEntries{Entries: entries}))
}

// journal checks the entries that the next plan receives.
func (r *runner) journal(want ...runnerapi.JournalEntry) {
	r.Helper()
	got, err := r.client().Journal(r.Context())
	must(r.T, err)
	var received []runnerapi.JournalEntry // without what the state had
	for _, e := range got.Entries {
		if e.Action != "held" && e.Action != "instead" {
			received = append(received, e)
		}
	}
	if diff := cmp.Diff(want, received); diff != "" {
		r.Fatal(diff)
	}
}

// missing is what the next one to plan finds that the state does not have.
func (r *runner) missing(want ...string) {
	r.Helper()
	var got []string
	for _, m := range r.compare() {
		got = append(got, m.Address)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatal(diff)
	}
}

func (r *runner) compare() []engine.Missing {
	r.Helper()
	journal, err := r.client().Journal(r.Context())
	must(r.T, err)
	now, err := r.client().State(r.Context(), "GET", "", nil)
	if runnerapi.Code(err) != 404 {
		must(r.T, err)
	}
	instances, err := engine.ReadInstances(now)
	must(r.T, err)
	return engine.FindMissing(journal.Entries, instances)
}

// vpcState is a state with these resources of type aws_vpc, whose IDs are their names.
func vpcState(serial int, names ...string) []byte {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf(
			`{"mode":"managed","type":"aws_vpc","name":%q,"instances":[{"schema_version":0,"attributes":{"id":%q}}]}`,
			name, name))
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"L","outputs":{},"resources":[%s]}`, serial, strings.Join(all, ","))
}

func vpc(name string) runnerapi.JournalEntry { return entry("create", "aws_vpc."+name, name) }

// killedApply leaves a state with a and b, and a journal that has c too.
func (e *env) killedApply() *v1alpha1.Run {
	e.Helper()
	r, run := e.applying()
	r.lock("a", 200, "")
	r.did(0, vpc("a"), vpc("b"))
	r.write("a", vpcState(1, "a", "b"), 200, "")
	r.did(1, vpc("c"))
	r.unlock("a", 200, "")
	finish(e, run)
	r.kill()
	return run
}

// A resource that a user removes belongs to the user: a plan does not import it again, whatever way it was removed.
func TestUserRemovesResourcesFromAState(t *testing.T) {
	ways := map[string]func(*env, *userapi.Client){
		"by a push": func(e *env, alice *userapi.Client) {
			_, err := alice.PushState(e.Context(), e.namespace, "net", vpcState(2, "b"), false)
			must(e.T, err)
		},
		"by a push by force": func(e *env, alice *userapi.Client) {
			_, err := alice.PushState(e.Context(), e.namespace, "net", bytes.Replace(vpcState(1, "b"), []byte(`"L"`),
				[]byte(`"M"`), 1), true)
			must(e.T, err)
		},
		"by two pushes": func(e *env, alice *userapi.Client) {
			_, err := alice.PushState(e.Context(), e.namespace, "net", vpcState(2), false)
			must(e.T, err)
			_, err = alice.PushState(e.Context(), e.namespace, "net", vpcState(3, "b"), false)
			must(e.T, err)
		},
		"by a rollback": func(e *env, alice *userapi.Client) {
			_, err := alice.PushState(e.Context(), e.namespace, "net", vpcState(2, "b", "x"), false)
			must(e.T, err)
			_, err = alice.PushState(e.Context(), e.namespace, "net", vpcState(3, "a", "b"), false)
			must(e.T, err)
			_, err = alice.Rollback(e.Context(), e.namespace, "net", 2)
			must(e.T, err)
		},
		"in a shell": func(e *env, _ *userapi.Client) {
			shell := e.newRunTo(v1alpha1.OperationShell, e.stack, "net-2")
			r := e.newPod("net-2-shell-1", shell).begin(shell, v1alpha1.AttemptShell)
			r.lock("s", 200, "")
			r.write("s", vpcState(2, "b"), 200, "")
			r.unlock("s", 200, "")
			finish(e, shell)
		},
		"by an apply that was killed too": func(e *env, _ *userapi.Client) {
			run := e.newRun(e.stack, "net-2")
			e.newPod("net-2-plan-1", run).begin(run, v1alpha1.AttemptPlan).missing("aws_vpc.c")
			r := e.newPod("net-2-apply-2", run).begin(run, v1alpha1.AttemptApply)
			r.lock("s", 200, "")
			r.write("s", vpcState(2, "b"), 200, "") // the code forgets it, which no engine tells
			r.unlock("s", 200, "")
			finish(e, run)
		},
	}
	for name, take := range ways {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			alice := e.serveUsers().someone("alice")
			e.killedApply()
			take(e, alice)
			next := e.newRun(e.stack, "net-3")
			e.newPod("net-3-plan-1", next).begin(next, v1alpha1.AttemptPlan).missing("aws_vpc.c")
		})
	}
}

// A resource that the engine of a user removes belongs to the user too. The engine starts after the resources of a
// killed apply are imported: it would create them again.
func TestEngineOfAUserRemovesResourcesFromAState(t *testing.T) {
	e := newEnv(t)
	e.killedApply()
	alice := e.serveUsers().laptopOf("alice", "pull", "push")
	alice.lock("u", 423, "an apply that was killed created aws_vpc.c, which is not in the state")
	next := e.newRun(e.stack, "net-2")
	r := e.newPod("net-2-apply-1", next).begin(next, v1alpha1.AttemptApply)
	r.lock("s", 200, "")
	r.write("s", vpcState(2, "a", "b", "c"), 200, "")
	r.unlock("s", 200, "")
	finish(e, next)
	alice.lock("u", 200, "")
	alice.write("u", vpcState(3, "b"), 200, "")
	alice.unlock("u", 200, "")
	last := e.newRun(e.stack, "net-3")
	e.newPod("net-3-plan-1", last).begin(last, v1alpha1.AttemptPlan).missing()
}

// A resource that a user replaces is not one that a killed apply replaced, which the next plan would destroy.
func TestUserReplacesResourcesOfAState(t *testing.T) {
	theirs := func(serial int, names ...string) []byte {
		return bytes.Replace(vpcState(serial, names...), []byte(`"id":"c"`), []byte(`"id":"theirs"`), 1)
	}
	push := func(serial int, names ...string) func(*env, *userapi.Client) {
		return func(e *env, alice *userapi.Client) {
			_, err := alice.PushState(e.Context(), e.namespace, "net", theirs(serial, names...), false)
			must(e.T, err)
		}
	}
	for name, tt := range map[string]struct {
		had  []byte
		puts func(*env, *userapi.Client)
		want engine.Old
	}{
		"by a push":                    {vpcState(1, "a"), push(2, "a", "c"), engine.OldTheirs},
		"by a push, in an empty state": {nil, push(1, "c"), engine.OldTheirs},
		"by two pushes": {vpcState(1, "a"), func(e *env, alice *userapi.Client) {
			push(2, "a")(e, alice)
			push(3, "c")(e, alice)
		}, engine.OldTheirs},
		"in a shell": {vpcState(1, "a"), func(e *env, _ *userapi.Client) {
			shell := e.newRunTo(v1alpha1.OperationShell, e.stack, "net-2")
			r := e.newPod("net-2-shell-1", shell).begin(shell, v1alpha1.AttemptShell)
			r.lock("s", 200, "")
			r.write("s", theirs(2, "a", "c"), 200, "")
			r.unlock("s", 200, "")
			finish(e, shell)
		}, engine.OldTheirs},
		"not what it replaced, whatever they do to the rest": {theirs(1, "c"), push(2, "a", "c"), engine.OldThere},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			alice := e.serveUsers().someone("alice")
			r, run := e.applying()
			r.lock("a", 200, "")
			if tt.had != nil {
				r.write("a", tt.had, 200, "")
			}
			r.did(0, vpc("c"))
			r.unlock("a", 200, "")
			finish(e, run)
			r.kill()
			tt.puts(e, alice)
			next := e.newRun(e.stack, "net-3")
			got := e.newPod("net-3-plan-1", next).begin(next, v1alpha1.AttemptPlan).compare()
			if diff := cmp.Diff([]engine.Missing{{Address: "aws_vpc.c", ID: "c", Old: tt.want}}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The entries of many resources do not fit into one batch.
func TestJournalOfManyResources(t *testing.T) {
	e := newEnv(t)
	alice := e.serveUsers().someone("alice")
	r, run := e.applying()
	r.lock("a", 200, "")
	var names []string
	for batch := range 3 {
		var entries []runnerapi.JournalEntry
		for i := range 400 {
			names = append(names, fmt.Sprintf("v%d-%03d", batch, i))
			entries = append(entries, vpc(names[len(names)-1]))
		}
		r.did(batch, entries...)
	}
	r.write("a", vpcState(1, names...), 200, "")
	r.unlock("a", 200, "")
	finish(e, run)
	_, err := alice.PushState(t.Context(), e.namespace, "net", vpcState(2), false)
	must(t, err)
	next := e.newRun(e.stack, "net-3")
	e.newPod("net-3-plan-1", next).begin(next, v1alpha1.AttemptPlan).missing()
}

// A plan settles the journal entries that it read, and no later ones.
func TestPlanSettlesAJournal(t *testing.T) {
	e := newEnv(t)
	run := e.killedApply()
	next := e.newRun(e.stack, "net-2")
	r := e.newPod("net-2-plan-1", next).begin(next, v1alpha1.AttemptPlan)
	journal, err := r.client().Journal(t.Context())
	must(t, err)
	r.missing("aws_vpc.c")
	for _, none := range []string{"x", "../net/x", "", strings.Repeat("x", 300)} {
		r.done(runnerapi.Done{Settled: none})
		r.missing("aws_vpc.c")
	}
	late, err := json.Marshal(runnerapi.JournalEntries{Entries: []runnerapi.JournalEntry{vpc("late")}})
	must(t, err)
	must(t, e.bucket.Put(t.Context(), journalKey(t, e, run, 1, 2), late))
	r.done(runnerapi.Done{Settled: journal.UpTo})
	r.journal(vpc("late"))
	becomes(t, func() bool {
		left, err := e.bucket.List(t.Context(), "journals")
		return err == nil && len(left) == 2 // and what the state has in its place
	})

	// An apply says otherwise that it is done.
	journal, err = r.client().Journal(t.Context())
	must(t, err)
	r = e.newPod("net-2-apply-2", next).begin(next, v1alpha1.AttemptApply)
	r.done(runnerapi.Done{Settled: journal.UpTo})
	r.journal(vpc("late"))
}

// The error of an unreadable journal names the object and what to do, and does not block a user who corrects the state.
func TestUnreadableJournal(t *testing.T) {
	spoil := map[string]func(e *env, key string){
		"no JSON": func(e *env, key string) { must(e.T, e.bucket.Put(e.Context(), key, []byte("x"))) },
		"too long": func(e *env, key string) {
			must(e.T, e.bucket.Put(e.Context(), key, make([]byte, runnerapi.LargestBatch+1)))
		},
		"cut off": func(e *env, key string) { must(e.T, os.Truncate(filepath.Join(e.dir, key), 205)) },
		"empty":   func(e *env, key string) { must(e.T, os.Truncate(filepath.Join(e.dir, key), 0)) },
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			alice := e.serveUsers().someone("alice")
			run := e.killedApply()
			key := journalKey(t, e, run, 1, 1)
			spoil(e, key)
			next := e.newRun(e.stack, "net-2")
			r := e.newPod("net-2-plan-1", next).begin(next, v1alpha1.AttemptPlan)
			r.expect(409, "bucket object "+key, "GET", "/v1/journal", nil)
			r.expect(409, "remove it from the bucket, and plan again", "GET", "/v1/journal", nil)
			_, err := e.state.Unsaved(t.Context(), client.ObjectKeyFromObject(e.stack))
			var refused *decision.Rejection
			if !errors.As(err, &refused) || refused.Reason != decision.Damaged {
				t.Errorf("got %v", err)
			}
			_, err = alice.Journal(t.Context(), e.namespace, "net")
			Result(t, err, 409, key)
			finish(e, next)
			_, err = alice.PushState(t.Context(), e.namespace, "net", vpcState(2, "b"), false)
			must(t, err)
			must(t, e.bucket.Delete(t.Context(), key))
			r = e.newPod("net-2-plan-2", next).begin(next, v1alpha1.AttemptPlan)
			r.missing("aws_vpc.a") // it could not be checked then
		})
	}
}

// Users need the same permission to read a journal as to read the state.
func TestUsersReadAJournal(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	_, err := alice.Journal(t.Context(), e.namespace, "net")
	Result(t, err, 404, "Stack net has no state yet")
	e.killedApply()
	_, err = alice.PushState(t.Context(), e.namespace, "net", vpcState(2, "b"), false)
	must(t, err)
	got, err := alice.Journal(t.Context(), e.namespace, "net")
	must(t, err)
	is := func(name, status string) userapi.JournalResource {
		return userapi.JournalResource{
			Address: "aws_vpc." + name, Type: "aws_vpc", Action: "create", IDKey: "id", ID: name, Run: "net-1",
			Attempt: 1, Standing: status,
		}
	}
	if diff := cmp.Diff([]userapi.JournalResource{is("a", "TakenOut"), is("b", "InState"), is("c", "Missing")},
		got.Resources); diff != "" {
		t.Error(diff)
	}
	if p.log.line("audit: done", "verb=pull", ":alice", "name=net", "journal=true") == "" {
		t.Error("it is not in the audit")
	}
	user, who := e.account("bob")
	e.allow(user, rbacv1.PolicyRule{Verbs: []string{"get", "list", "push"}, APIGroups: []string{"cairn.dev"},
		Resources: []string{"states"}})
	_, err = p.as(who).Journal(t.Context(), e.namespace, "net")
	Result(t, err, 403, "pull")
}

func (r *runner) done(done runnerapi.Done) {
	r.Helper()
	must(r.T, r.client().Report(r.Context(), runnerapi.Report{Done: &done}))
	<-r.fakes.reports
}

func TestJournalIsKeptUntilAnApplyIsSaved(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	first.journal()
	a, b, c := entry("create", "aws_vpc.a", "vpc-canary"), entry("create", "aws_vpc.b", "vpc-b"), entry("delete",
		"aws_vpc.a", "vpc-canary")
	first.did(0, a)
	first.did(1, b)
	first.did(1, b) // its answer was lost
	if e.clear("vpc-canary") {
		t.Error("an ID is in the bucket in clear")
	}

	first.done(runnerapi.Done{Failure: &runnerapi.Failure{Class: "Transient", Message: "killed"}})
	retry := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	retry.journal(a, b)
	retry.did(0, c)
	later := e.newRun(e.stack, "net-10")
	next := e.newPod("net-10-plan-1", later).begin(later, v1alpha1.AttemptPlan)
	next.journal(a, b, c)

	// It got to its end, and nothing is left of them.
	next = e.newPod("net-10-apply-2", later).begin(later, v1alpha1.AttemptApply)
	next.did(0, b)
	next.done(runnerapi.Done{Saved: true})
	next.journal()
	becomes(t, func() bool {
		left, err := e.bucket.List(t.Context(), "journals")
		return err == nil && len(left) == 0
	})

	// What is saved counts for nothing, also when it could not be removed.
	for _, attempt := range []int{1, 2} {
		must(t, e.bucket.Put(t.Context(), journalKey(t, e, run, attempt, 3),
			[]byte(`{"entries":[{"address":"saved"}]}`)))
	}
	must(t, e.bucket.Put(t.Context(), strings.TrimSuffix(journalKey(t, e, run, 2, 0), "00000")+"saved", nil))
	next.journal()

	last := e.newRun(e.stack, "net-11")
	e.newPod("net-11-apply-1", last).begin(last, v1alpha1.AttemptApply).did(0, a)
	next = e.newPod("net-11-plan-2", last).begin(last, v1alpha1.AttemptPlan)
	next.journal(a)
}

// becomes waits until it is so.
func becomes(t *testing.T, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it never is so")
		}
	}
}

// journalKey is where a batch is kept.
func journalKey(t *testing.T, e *env, run *v1alpha1.Run, attempt, batch int) string {
	t.Helper()
	var number int
	fmt.Sscanf(run.Name, "net-%d", &number)
	return fmt.Sprintf("journals/%s/net/%012d-%010d-%05d-%05d", e.namespace, run.CreationTimestamp.Unix(), number,
		attempt, batch)
}

// clear says whether a text is anywhere in the bucket as it is.
func (e *env) clear(text string) (found bool) {
	e.Helper()
	must(e.T, filepath.WalkDir(e.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	}))
	return found
}

func TestOnlyARunningApplyWritesAJournal(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	const batch = `{"entries":[{"address":"aws_vpc.a","type":"aws_vpc","action":"create","idKey":"id","id":"x"}]}`
	r.expect(204, "", "POST", "/v1/journal?batch=0", []byte(batch))
	r.expect(400, "number of the batch", "POST", "/v1/journal", []byte(batch))
	r.expect(400, "no batch", "POST", "/v1/journal?batch=-1", []byte(batch))
	r.expect(400, "no batch", "POST", "/v1/journal?batch=65536", []byte(batch))
	r.expect(400, "no batch of a journal", "POST", "/v1/journal?batch=1", []byte("x"))
	r.expect(413, "", "POST", "/v1/journal?batch=1", bytes.Repeat([]byte(" "), runnerapi.LargestBatch+1))

	other := e.newPod("net-1-plan-2", run)
	other.expect(403, "", "POST", "/v1/journal?batch=1", []byte(batch))
	other.begin(run, v1alpha1.AttemptPlan)
	other.expect(403, "is no apply", "POST", "/v1/journal?batch=1", []byte(batch))
	r.expect(403, "", "POST", "/v1/journal?batch=1", []byte(batch)) // it is over
	r.expect(403, "", "GET", "/v1/journal", nil)
	other.done(runnerapi.Done{Saved: true}) // nor does a plan say that all is saved
	must(t, e.bucket.Put(t.Context(), "journals/"+e.namespace+"/net2/x-00000", []byte(batch)))
	other.journal(entry("create", "aws_vpc.a", "x"))
}

// A lost apply reports its journal until a later attempt starts: its runner may still work, and the next plan comes
// later.
func TestLostApplyReportsItsJournal(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	ends := func(class v1alpha1.FailureClass, phase v1alpha1.RunPhase) {
		t.Helper()
		now := metav1.NowMicro()
		run.Status.Attempts[0].FinishedAt, run.Status.Attempts[0].Failure = &now, &v1alpha1.Failure{Class: class,
			Message: "boom"}
		run.Status.Phase = phase
		must(t, apiserver.Kube.Status().Update(t.Context(), run))
	}
	const batch = `{"entries":[{"address":"aws_vpc.a","type":"aws_vpc","action":"create","idKey":"id","id":"x"}]}`
	ends(v1alpha1.FailureTransient, v1alpha1.PhaseApplying)
	// it reported, and has nothing more to append
	r.expect(403, "is finished", "POST", "/v1/journal?batch=0", []byte(batch))
	ends(v1alpha1.FailurePodLost, v1alpha1.PhaseApplying)
	r.expect(204, "", "POST", "/v1/journal?batch=0", []byte(batch))
	ends(v1alpha1.FailurePodLost, v1alpha1.PhaseFailed)
	r.expect(403, "is finished", "POST", "/v1/journal?batch=1", []byte(batch))
	ends(v1alpha1.FailurePodLost, v1alpha1.PhaseApplying)
	next := e.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan)
	r.expect(403, "is not the current one", "POST", "/v1/journal?batch=1", []byte(batch))
	next.journal(entry("create", "aws_vpc.a", "x"))
}

// A journal that is too large is rejected, and not read into memory.
func TestTooLargeJournalIsRejected(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	large := bytes.Repeat([]byte(" "), runnerapi.LargestBatch)
	copy(large, `{"entries":[]}`)
	for batch := range runnerapi.LargestJournal/runnerapi.LargestBatch + 1 {
		must(t, e.bucket.PutLoose(t.Context(), journalKey(t, e, run, 1, batch), large))
	}
	r.expect(409, "larger than 64 MiB", "GET", "/v1/journal", nil)
}

// TestJournalWriteDuration measures the time from a request until its entry is durable. Only a defect exceeds its
// bound.
func TestJournalWriteDuration(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	c := r.client()
	var all time.Duration
	const n = 50
	for batch := range n {
		began := time.Now()
		must(t, c.AppendJournal(t.Context(), batch,
			runnerapi.JournalEntries{Entries: []runnerapi.JournalEntry{entry("create", "aws_vpc.a", "x")}}))
		all += time.Since(began)
	}
	t.Logf("%s from asking to durable, in the mean of %d", all/n, n)
	if all/n > 2*time.Second {
		t.Errorf("%s", all/n)
	}
}
