package runner

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	buckets "github.com/aws/aws-sdk-go-v2/service/s3"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/test/program"
	"cairn.dev/cairn/test/s3"
)

// followBackend decides as the real server does.
func (s *testServer) followBackend(w http.ResponseWriter, r *http.Request, body []byte) {
	summary := func(data []byte) *decision.Summary {
		if len(data) == 0 {
			return nil
		}
		d, err := document.Parse(data)
		if err != nil {
			s.t.Errorf("the runner sent no state: %v\n%s", err, data)
			return nil
		}
		return &decision.Summary{Serial: d.Serial, Lineage: d.Lineage, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)),
			Resources: d.Resources}
	}
	const pod types.UID = "pod"
	seen, now := decision.Observed{Type: r.URL.Query().Get("type"), State: summary(body)}, v1alpha1.StateStatus{
		Backend: s.backend}
	if has := summary(s.state); has != nil {
		now.Version, now.Serial, now.Lineage, now.SHA256, now.Resources = int64(s.versions)+
			1, has.Serial, has.Lineage, has.SHA256, v1alpha1.ResourceCount(has.Resources)
		seen.Equal = seen.State != nil && has.Resources == seen.State.Resources &&
			(s.move || has.Lineage == seen.State.Lineage || s.backend != nil && s.backend.Version == 0)
	}
	seen.Unmoved = seen.State != nil && s.backend != nil && s.backend.Version < now.Version &&
		string(body) == string(s.seen)
	if s.move {
		now.Move = &v1alpha1.StateMove{Version: now.Version, By: "alice"}
	}
	phase := v1alpha1.AttemptPlan
	if s.lock != nil {
		phase = v1alpha1.AttemptApply
		now.Lock = &v1alpha1.Lock{ID: "x", Run: "net-1", Attempt: s.attempt, PodUID: pod}
	}
	run := &v1alpha1.Run{Status: v1alpha1.RunStatus{
		Attempts: []v1alpha1.Attempt{{Number: s.attempt, PodUID: pod, Phase: phase}}}}
	v, err := decision.AdmitFollow(decision.Snapshot{Stack: "net", Status: now, Run: run},
		decision.Holder{Run: "net-1", Attempt: s.attempt, PodUID: pod}, seen)
	if err != nil {
		http.Error(w, err.Error(),
			map[bool]int{true: http.StatusConflict, false: http.StatusLocked}[decision.ReasonOf(err) == decision.Stale])
		return
	}
	answer := runnerapi.Followed{Push: v.Action == decision.FollowPush, Force: v.Force,
		Wrote: v.Action == decision.FollowWrite}
	if answer.Wrote {
		if s.state != nil {
			s.versions++
		}
		s.state = body
	}
	if v.Status != nil {
		s.backend, s.seen = v.Status.Backend, body
		if s.move {
			s.move, answer.Moved = false, "alice"
		}
	}
	json.NewEncoder(w).Encode(answer)
}

// aBucket starts a real S3 and gives what a Stack says of it, its credentials being in a Secret.
func aBucket(t *testing.T, make bool) (*s3.Server, *runnerapi.Backend, map[string]string) {
	t.Helper()
	server, err := s3.New(t.Context(), "127.0.0.1", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	if make {
		if err := server.MakeBucket("states"); err != nil {
			t.Fatal(err)
		}
	}
	config := map[string]json.RawMessage{}
	for name, value := range map[string]any{
		"bucket": "states", "key": "net.tfstate", "region": s3.Region, "use_path_style": true, "use_lockfile": true,
		"max_retries": 1, "skip_credentials_validation": true,
		"skip_requesting_account_id": true, "skip_metadata_api_check": true,
		"endpoints": map[string]string{"s3": server.Endpoint},
	} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		config[name] = data
	}
	return server, &runnerapi.Backend{Type: "s3", Config: config, ConfigDirs: []string{"backend/00"}},
		map[string]string{"backend/00/access_key": server.AccessKey, "backend/00/secret_key": server.SecretKey}
}

func objects(server *s3.Server) *buckets.Client {
	return buckets.New(buckets.Options{
		BaseEndpoint: &server.Endpoint, Region: s3.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
}

func remove(t *testing.T, server *s3.Server, key string) {
	t.Helper()
	if _, err := objects(server).DeleteObject(t.Context(), &buckets.DeleteObjectInput{Bucket: aws.String("states"),
		Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// inBackend is a plan of a Stack with that backend.
func (s *testServer) inBackend(attempt int32, code string, b *runnerapi.Backend) runnerapi.Order {
	order := s.plan(attempt, s.put(file("main.tf", code)))
	order.Backend, order.SecretDirs, order.Outputs = b, b.ConfigDirs, true
	return order
}

// tofu runs the engine as anybody would, in a folder with the same backend, and gives what it prints.
func tofu(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return plainly(t, "tofu", dir, args...)
}

// plainly is tofu with any engine.
func plainly(t *testing.T, engine, dir string, args ...string) string {
	t.Helper()
	cmd := plainCommand(t, engine, dir, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", engine, args, err, out, said.String())
	}
	return string(out)
}

func plainCommand(t *testing.T, engine, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program.Path(t, engine), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE=/dev/null")
	return cmd
}

// plain is a folder where a user works without Cairn, on the same state.
func plain(t *testing.T, server *s3.Server, code string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`terraform {
  backend "s3" {
    bucket = "states"
    key = "net.tfstate"
    region = %q
    access_key = %q
    secret_key = %q
    endpoints = { s3 = %q }
    use_path_style = true
    use_lockfile = true
    skip_credentials_validation = true
    skip_requesting_account_id = true
    skip_metadata_api_check = true
  }
}
%s`, s3.Region, server.AccessKey, server.SecretKey, server.Endpoint, code)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tofu(t, dir, "init", "-input=false")
	return dir
}

func TestStateInABucketOfTheStack(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, true)
	order := s.inBackend(1, two, b)
	p := startPod(t, s, inputs)
	s.orders <- order
	first := waitDone(t, s, 1)
	if got := steps(first); got != "fetch= init= state= plan=" || first.Done.Failure != nil {
		t.Fatalf("%s %+v\n%s", got, first.Done.Failure, p.output)
	}
	if s.state != nil || s.backend != nil {
		t.Error("a plan of nothing left a state behind")
	}
	apply := order
	apply.Kind, apply.Attempt, apply.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- apply
	second := waitDone(t, s, 2)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if got := steps(second); got != "apply= state= outputs=" || second.Done.Failure != nil || !second.Done.Saved {
		t.Fatalf("%s %+v\n%s", got, second.Done, p.output)
	}
	dir := plain(t, server, two)
	if there := strings.TrimSuffix(tofu(t, dir, "state", "pull"), "\n"); there != string(s.state) || s.lock != nil {
		t.Errorf("the server has\n%s\nand the bucket\n%s", s.state, there)
	}
	if strings.Join(s.resources(), " ") != "a b" || string(s.outputs["size"].Value) != "1" {
		t.Errorf("%v %v", s.resources(), s.outputs)
	}
	everything := p.output.String() + fmt.Sprint(s.reports) + string(s.logs[1]) + string(s.logs[2])
	for name, form := range s.forms {
		everything += name + string(form)
	}
	if strings.Contains(everything, server.SecretKey) || strings.Contains(everything, server.AccessKey) {
		t.Error("a secret of the backend is in a log, a report or a form of the plan")
	}

	// What a user applies elsewhere is adopted, and no drift: the plan is made on it.
	tofu(t, plain(t, server, two+`resource "terraform_data" "c" {}`), "apply", "-auto-approve")
	order.Attempt = 3
	order.Source = s.put(file("main.tf", two+`resource "terraform_data" "c" {}`))
	run(t, s, inputs, order)
	if third := s.done(3); third.Done.Failure != nil || third.Done.Plan.Changes ||
		strings.Join(s.resources(), " ") != "a b c" {
		t.Errorf("%+v %v", third.Done, s.resources())
	}
}

// applied plans and applies in pods of their own.
func (s *testServer) applied(order runnerapi.Order, inputs map[string]string) {
	s.t.Helper()
	apply := s.planned(order, inputs)
	p := run(s.t, s, inputs, apply)
	if failure := s.done(apply.Attempt).Done.Failure; failure != nil {
		s.t.Fatalf("%+v\n%s", failure, p.output)
	}
}

// rejectedPlan returns why a plan fails that only a user can fix.
func (s *testServer) rejectedPlan(order runnerapi.Order, inputs map[string]string) string {
	s.t.Helper()
	p := run(s.t, s, inputs, order)
	failure := s.done(order.Attempt).Done.Failure
	if failure == nil || failure.Class != "ConfigurationError" {
		s.t.Fatalf("%+v\n%s", failure, p.output)
	}
	return failure.Message
}

func TestDeletedBucketIsReportedAndRestored(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, true)
	order := s.inBackend(1, two, b)
	s.applied(order, inputs)
	was := string(s.state)

	if err := os.RemoveAll(filepath.Join(server.Dir, "states")); err != nil {
		t.Fatal(err)
	}
	order.Attempt = 3
	if got := s.rejectedPlan(order, inputs); !strings.Contains(got, "bucket does not exist") {
		t.Error(got)
	}
	if err := server.MakeBucket("states"); err != nil {
		t.Fatal(err)
	}
	order.Attempt = 4
	if got := s.rejectedPlan(order, inputs); !strings.Contains(got,
		"backend s3 has no state there, and Cairn has one: serial 1") || !strings.Contains(got,
		"cairn state migrate net") {
		t.Error(got)
	}
	order.Attempt, s.move = 5, true
	p := run(t, s, inputs, order)
	if done := s.done(5).Done; done.Failure != nil || done.Plan.Changes || s.move ||
		!strings.Contains(p.output.String(), "the state was put into backend s3, as alice wanted") {
		t.Errorf("%+v\n%s", done, p.output)
	}
	was = strings.Replace(was, `"serial":1`, `"serial":2`, 1) // which engines count up
	if there := strings.TrimSuffix(tofu(t, plain(t, server, two), "state", "pull"), "\n"); there != was ||
		string(s.state) != was {
		t.Errorf("what was\n%s\nis\n%s\nand in the server\n%s", was, there, s.state)
	}

	// Nor is what is there written over when it is another one.
	dir := plain(t, server, two+`resource "terraform_data" "c" {}`)
	remove(t, server, "net.tfstate")
	tofu(t, dir, "apply", "-auto-approve")
	order.Attempt, s.move = 6, true
	order.Source = s.put(file("main.tf", two+`resource "terraform_data" "c" {}`))
	if got := s.rejectedPlan(order, inputs); !strings.Contains(got, "backend s3 has a state of lineage ") {
		t.Error(got)
	}
}

func TestBackendWithoutAccessFails(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	_, b, inputs := aBucket(t, true)
	inputs["backend/00/secret_key"] = "not-the-one-that-it-should-be"
	if got := s.rejectedPlan(s.inBackend(1, two, b), inputs); !strings.Contains(got, "SignatureDoesNotMatch") &&
		!strings.Contains(got, "Forbidden") {
		t.Error(got)
	}
}

func TestMissingBucketIsCreated(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, false)
	b.Create = true
	p := run(t, s, inputs, s.inBackend(1, two, b))
	if done := s.done(1).Done; done.Failure != nil ||
		!strings.Contains(p.output.String(), "backend s3: made bucket states") {
		t.Fatalf("%+v\n%s", done.Failure, p.output)
	}
	if _, err := os.Stat(filepath.Join(server.Dir, "states")); err != nil {
		t.Error(err)
	}
	p = run(t, s, inputs, s.inBackend(2, two, b))
	if done := s.done(2).Done; done.Failure != nil || strings.Contains(p.output.String(), "made bucket") {
		t.Errorf("%+v\n%s", done.Failure, p.output)
	}
}

func TestRescuedStateIsWrittenToTheBackendBeforeThePlan(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, true)
	order := s.inBackend(1, two, b)
	s.applied(order, inputs)
	order.Attempt = 3
	order.Source = s.put(file("main.tf", two+"resource \"terraform_data\" \"c\" {\n  provisioner \"local-exec\" {\n  "+
		"  command = \"kill -9 $S3\"\n  }\n}\n"))
	apply := s.planned(order, inputs)
	p := startPod(t, s, inputs, fmt.Sprintf("S3=%d", server.Pid()))
	s.orders <- apply
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if failure := s.done(4).Done.Failure; failure == nil || s.rescued == nil || s.done(4).Done.Saved {
		t.Fatalf("%+v\n%s", failure, p.output)
	}
	s.state, s.rescued = s.rescued, nil // as the server does before the next plan
	s.versions++
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	order.Attempt = 5
	remove(t, server, "net.tfstate.tflock") // what the engine could not give back
	p = run(t, s, inputs, order)
	if done := s.done(5).Done; done.Failure != nil || done.Plan.Changes || strings.Join(s.resources(), " ") != "a b c" {
		t.Errorf("%+v %v\n%s", done, s.resources(), p.output)
	}
	if there := tofu(t, plain(t, server, two), "state", "list"); !strings.Contains(there, "terraform_data.c") {
		t.Error(there)
	}
}

// The backend answers no more once it has the state. The attempt ends, and the next plan copies the state.
func TestBackendThatHangsAfterAnApplyEndsTheAttempt(t *testing.T) {
	t.Parallel()
	var state []byte
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			state, _ = io.ReadAll(r.Body)
			return
		}
		if state == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		<-hangs
		w.Write(state)
	}))
	t.Cleanup(server.Close)
	s := newTestServer(t)
	b := &runnerapi.Backend{Type: "http",
		Config: map[string]json.RawMessage{"address": json.RawMessage(`"` + server.URL + `"`)}}
	order := s.inBackend(1, two, b)
	apply := s.planned(order, nil)
	apply.Patience = 100 * time.Millisecond
	p := startPod(t, s, nil)
	s.orders <- apply
	done := waitDone(t, s, 2)
	close(hangs)
	const want = "backend http did not answer within 10s"
	if f := done.Done.Failure; steps(done) != "fetch= init= apply= state!" || f == nil || f.Class != "Transient" ||
		f.Message != want || done.Done.Saved {
		t.Errorf("%s %+v", steps(done), f)
	}
	order.Attempt = 3
	s.orders <- order
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if done := s.done(3).Done; done.Failure != nil || done.Plan.Changes || strings.Join(s.resources(), " ") != "a b" {
		t.Errorf("%+v %v", done, s.resources())
	}
}

// An http backend of a third party would receive it. The configuration of the Stack for its own backend stays.
func TestPasswordOfTheProxyIsNotInTheEnvironment(t *testing.T) {
	t.Parallel()
	var sent []string
	var state []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		sent = append(sent, user+":"+password)
		if r.Method == http.MethodPost {
			state, _ = io.ReadAll(r.Body)
		}
		if state == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(state)
	}))
	t.Cleanup(server.Close)
	s := newTestServer(t)
	b := &runnerapi.Backend{Type: "http",
		Config: map[string]json.RawMessage{"address": json.RawMessage(`"` + server.URL + `"`)}}
	order := s.inBackend(1, two, b)
	p := startPod(t, s, nil, "TF_HTTP_USERNAME=me", "TF_HTTP_PASSWORD=mine")
	s.orders <- order
	first := waitDone(t, s, 1)
	if first.Done.Failure != nil {
		t.Fatalf("%+v\n%s", first.Done.Failure, p.output)
	}
	apply := order
	apply.Kind, apply.Attempt, apply.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- apply
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if s.done(2).Done.Failure != nil || string(s.state) != string(state) || len(sent) == 0 {
		t.Errorf("%+v\n%s\n%s", s.done(2).Done, s.state, state)
	}
	for _, by := range sent {
		if by != "me:mine" {
			t.Errorf("asked as %s", by)
		}
	}
}

// The command writes to the backend, and the runner reads there whether it did.
func TestCommandWithAnOwnBackend(t *testing.T) {
	for script, want := range map[string]string{
		`tofu apply -no-color "$CAIRN_PLAN_FILE"`: "",
		"tofu apply -no-color -auto-approve":      "",
		"true":                                    "wrote no state, so that nothing of the plan is applied",
	} {
		t.Run(script, func(t *testing.T) {
			s := newTestServer(t)
			_, b, inputs := aBucket(t, true)
			order := s.inBackend(1, two, b)
			order.Command = script
			apply := s.planned(order, inputs)
			run(t, s, inputs, apply)
			failure := s.done(2).Done.Failure
			if want == "" {
				if failure != nil || len(s.resources()) == 0 {
					t.Errorf("%+v %v\n%s", failure, s.resources(), lastLog(s, 2))
				}
			} else if failure == nil || failure.Class != string(engine.ConfigurationError) ||
				!strings.Contains(failure.Message, want) {
				t.Errorf("%+v", failure)
			}
		})
	}
}

// A backend that runs elsewhere or stores nothing is rejected.
func TestBackendOfTheCodeIsUsed(t *testing.T) {
	t.Parallel()
	server, _, _ := aBucket(t, true)
	dir := plain(t, server, two)
	code, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t)
	order := s.inBackend(1, string(code), &runnerapi.Backend{})
	s.applied(order, nil)
	if there := strings.TrimSuffix(tofu(t, dir, "state", "pull"), "\n"); there != string(s.state) ||
		s.backend.Type != "s3" {
		t.Errorf("%s %+v", there, s.backend)
	}
	for name, test := range map[string]struct{ code, want string }{
		"none":       {two, "the code has no backend that can keep the state"},
		"encryption": {string(code) + "terraform {\n  encryption {}\n}\n", "the engine encrypts the state"},
	} {
		s := newTestServer(t)
		if got := s.rejectedPlan(s.inBackend(1, test.code, &runnerapi.Backend{}), nil); !strings.Contains(got,
			test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The plan imports the resources of a killed apply. A resource that needs another base state is reported, because Cairn
// does not prepare the state of a backend.
func TestJournalOfAStateInABackend(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	_, b, inputs := aBucket(t, true)
	order := s.inBackend(1, two, b)
	s.applied(order, inputs)
	was := string(s.state)
	s.journal = []runnerapi.JournalEntry{{Address: "terraform_data.c", Type: "terraform_data", Action: "create",
		IDKey: "id", ID: "made-and-killed"}}
	order.Attempt, order.Source = 3, s.put(file("main.tf", two+`resource "terraform_data" "c" {}`))
	p := run(t, s, inputs, order)
	if done := s.done(3).Done; done.Failure != nil || done.Plan.Import != 1 || done.Plan.Add != 0 ||
		len(done.Plan.Untracked) != 0 {
		t.Errorf("%+v\n%s", done.Plan, p.output)
	}
	order.Attempt, order.Destroy = 4, true
	p = run(t, s, inputs, order)
	if done := s.done(4).Done; done.Failure != nil || done.Plan.Destroy != 2 || len(done.Plan.Untracked) != 1 ||
		!strings.Contains(done.Plan.Untracked[0].Reason, "the engine keeps the state in a backend of its own") {
		t.Errorf("%+v\n%s", done.Plan, p.output)
	}
	if string(s.state) != was {
		t.Error("a plan wrote the state")
	}
}

// This holds while Cairn has no state: existing resources would be created again.
func TestBackendOfTheCodeIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, _, _ := aBucket(t, true)
	dir := plain(t, server, two)
	tofu(t, dir, "apply", "-auto-approve")
	code, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	order := s.plan(1, s.put(file("main.tf", string(code))))
	order.Stack = "net"
	run(t, s, nil, order)
	report := s.done(1)
	failure := report.Done.Failure
	if steps(report) != "fetch!" || failure == nil || failure.Class != "ConfigurationError" ||
		failure.Reason != "BackendInCode" {
		t.Fatalf("%s %+v %+v", steps(report), failure, report.Done.Plan)
	}
	const want = `main.tf:2: the code keeps its state in backend "s3", and Cairn has no state of Stack net: a plan would create again what exists. ` +
		`To keep the state there, set spec.backend: {fromCode: true}. To move the state to Cairn: ` +
		`tofu init && tofu state pull > net.tfstate, then cairn state push net net.tfstate. If there is no state yet, delete the backend block`
	if failure.Message != want {
		t.Errorf("%s", failure.Message)
	}

	// The second way out, and a Stack whose state was here before.
	s.state = []byte(tofu(t, dir, "state", "pull"))
	order.Attempt = 2
	s.orders = make(chan runnerapi.Order, 10)
	run(t, s, nil, order)
	if report := s.done(2); report.Done.Failure != nil || report.Done.Plan.Changes {
		t.Errorf("%s %+v", steps(report), report.Done)
	}
}

// A backend block that names no other location is the same as none.
func TestEmptyBackendBlockIsIgnored(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	run(t, s, nil, s.plan(1, s.put(file("main.tf", "terraform {\n  backend \"local\" {}\n}\n"+two))))
	if report := s.done(1); report.Done.Failure != nil || report.Done.Plan.Add != 2 {
		t.Errorf("%s %+v", steps(report), report.Done)
	}
}
