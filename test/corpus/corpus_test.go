package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner"
	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/gitserver"
	"cairn.dev/cairn/test/program"
)

// TestCorpus compares Cairn with the bare engine in a full checkout: the same plan, the same outputs, and a Run for
// each edit that can change them.
func TestCorpus(t *testing.T) {
	tools := filepath.Dir(program.Path(t, "tofu"))
	repos := gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo, err := c.create(repos, server)
			if err != nil {
				t.Fatal(err)
			}
			tools := tools
			if c.newest {
				tools = newestTools(t, tools)
			}
			found := c.problems(t, tools, server, repo)
			switch {
			case c.pending != "" && len(found) == 0:
				t.Errorf("the case holds now: remove its line \"pending: %s\"", c.pending)
			case c.pending != "":
				t.Logf("a known difference: %s\n%s", c.pending, strings.Join(found, "\n"))
			case len(found) > 0:
				t.Error(strings.Join(found, "\n"))
			}
		})
	}
}

// create creates the repository, with a branch for each edit, and the repository of its remote modules.
func (c *testCase) create(repos *gitserver.Repos, server *gitserver.HTTP) (*gitserver.Repo, error) {
	if len(c.remote) > 0 {
		remote, err := repos.Init(c.name + "-remote")
		if err == nil {
			_, err = remote.Commit(gitserver.Change{Files: c.remote})
		}
		if err != nil {
			return nil, err
		}
		for name, text := range c.files {
			c.files[name] = strings.ReplaceAll(text, "REMOTE", "git::"+server.URL+remote.Path())
		}
	}
	repo, err := repos.Init(c.name)
	if err != nil {
		return nil, err
	}
	if _, err := repo.Commit(c.commit()); err != nil {
		return nil, err
	}
	for _, e := range c.edits() {
		if _, err := repo.Commit(e.change); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return repo, nil
}

// newestTools returns a folder in which terraform is the newest one.
func newestTools(t *testing.T, tools string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(tools, "terraform-newest")); os.IsNotExist(err) {
		t.Skip("the newest Terraform takes 4 minutes to build: make test-newest builds it and runs this")
	}
	dir := t.TempDir()
	for name, target := range map[string]string{
		"terraform":                "terraform-newest",
		"terraform-provider-files": "terraform-provider-files", "terraform-provider-cloud": "terraform-provider-cloud",
	} {
		if err := os.Symlink(filepath.Join(tools, target), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// problems are the differences between Cairn and the bare engine. What prevents the comparison ends the test.
func (c *testCase) problems(t *testing.T, tools string, server *gitserver.HTTP, repo *gitserver.Repo) []string {
	t.Helper()
	mirror, err := git.Open(t.Context(), t.TempDir(), git.Options{Egress: egresstest.Loopback()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mirror.Close() })
	if err := mirror.Fetch(t.Context(), git.Remote{URL: server.URL + repo.Path()}, git.FetchOptions{}); err != nil {
		t.Fatal(err)
	}
	// One memory for all commits, as in the operator: an answer of one commit must not be reused for another one.
	closures := closure.New(closure.Options{})
	tree := treeOf(t, mirror, "main")
	found, err := closures.Of(t.Context(), tree, mirror, c.wanted)
	if err != nil {
		return []string{"closure: " + err.Error()}
	}
	problems := c.triggerProblems(t, mirror, closures, found.Digest)
	if c.engine == "Terragrunt" {
		return problems // its triggers are all that can be compared: there is no Terragrunt to run
	}
	var archive bytes.Buffer
	if err := mirror.Archive(t.Context(), tree, found.Files, &archive); err != nil {
		return append(problems, "archive: "+err.Error())
	}
	got, err := c.cairn(t, tools, archive.Bytes())
	if c.refused != "" {
		message, _, _ := strings.Cut(fmt.Sprint(err), "\n") // what follows is the log
		if !strings.Contains(message, c.refused) {
			problems = append(problems, fmt.Sprintf("Cairn does not reject the code with %q: %s", c.refused, message))
		}
		return problems
	}
	want, bareErr := c.bare(t, tools, repo)
	if bareErr != nil {
		t.Fatalf("the bare engine: %v", bareErr)
	}
	if err != nil {
		return append(problems, fmt.Sprintf("Cairn: %v", err))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		problems = append(problems, "the bare engine (-) and Cairn (+) differ:\n"+diff)
	}
	return problems
}

// triggerProblems are the edits that wrongly start a Run, or wrongly start none.
func (c *testCase) triggerProblems(
	t *testing.T, mirror *git.Mirror, closures *closure.Closures, before string,
) []string {
	t.Helper()
	var problems []string
	for _, e := range c.edits() {
		tree := treeOf(t, mirror, e.change.Branch)
		// An error has no digest, and is a change: the Stack reports it.
		after, _ := closures.Digest(t.Context(), tree, mirror, c.wanted)
		fresh, _ := closure.New(closure.Options{}).Digest(t.Context(), tree, mirror, c.wanted)
		switch {
		case after != fresh:
			problems = append(problems, e.name+" gives another digest to an operator that just started")
		case e.ignored && after != before:
			problems = append(problems, e.name+" starts a Run")
		case !e.ignored && after == before:
			problems = append(problems, e.name+" starts no Run")
		}
	}
	return problems
}

func treeOf(t *testing.T, mirror *git.Mirror, branch string) *git.Tree {
	t.Helper()
	commit, err := mirror.Resolve(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := mirror.Tree(t.Context(), commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// result is what is compared: the JSON of the plan, and the outputs after its apply.
type result struct {
	Plan    any
	Outputs map[string]any
}

// cairn has the real runner plan and apply the archive that Cairn delivers.
func (c *testCase) cairn(t *testing.T, tools string, archive []byte) (result, error) {
	t.Helper()
	order := runnerapi.Order{
		Namespace: "prod", Stack: "net", Run: "net-1", Source: digest(archive), Path: c.wanted.Path, Engine: c.engine,
		Workspace: c.workspace, Partial: true, Triggers: c.wanted.Triggers,
		Outputs: true, Patience: 5 * time.Second, Timeout: 5 * time.Minute,
	}
	for _, name := range c.wanted.VariableFiles {
		order.VariableFiles = append(order.VariableFiles, runnerapi.VariableFiles{Path: name})
	}
	for name, value := range c.variables {
		order.Variables = append(order.Variables, runnerapi.Variable{Name: name, Value: value})
	}
	if c.backend {
		order.Backend = &runnerapi.Backend{}
	}
	s := newStore(t, order, archive)
	work := t.TempDir()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := runner.Run(t.Context(), runner.Options{
		Server: s.server.URL, CA: s.ca(), Options: attempt.Options{
			TokenFile: token, Work: work, Inputs: t.TempDir(), Environ: environment(t, tools),
			Output: io.Discard, Log: slog.New(slog.DiscardHandler), Cgroup: t.TempDir(),
		},
	})
	if err != nil {
		return result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []runnerapi.OrderKind{runnerapi.OrderPlan, runnerapi.OrderApply} {
		if done := s.done[kind]; done != nil && done.Failure != nil {
			return result{}, fmt.Errorf("%s failed: %s\n%s", kind, done.Failure.Message, s.log)
		}
	}
	outputs := map[string]any{}
	for name, output := range s.outputs {
		outputs[name] = decode(t, relative(output.Value, filepath.Join(work, "code")))
	}
	return result{c.planOf(t, relative(s.json, filepath.Join(work, "code"))), outputs}, nil
}

// bare runs the engine in a full clone, as a user does.
func (c *testCase) bare(t *testing.T, tools string, repo *gitserver.Repo) (result, error) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "code")
	env := append(environment(t, tools), "TF_WORKSPACE="+c.workspace)
	if _, err := command(t.Context(), ".", env, "git", "clone", "--quiet", repo.Dir, root); err != nil {
		t.Fatal(err)
	}
	values := filepath.Join(t.TempDir(), "values.tfvars.json")
	data, err := json.Marshal(c.variables)
	if err == nil {
		err = os.WriteFile(values, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	planFile := filepath.Join(t.TempDir(), "plan")
	var variables []string
	for _, name := range c.wanted.VariableFiles {
		variables = append(variables, "-var-file="+filepath.Join(root, name))
	}
	variables = append(variables, "-var-file="+values)
	engine, early, again := "tofu", variables, variables // OpenTofu evaluates some code with variables before a plan
	if c.engine == "Terraform" {
		engine, early = "terraform", nil
		if !c.newest {
			again = nil // it takes the variables of a saved plan from the plan only
		}
	}
	var shown, outputs []byte
	for _, step := range []struct {
		args []string
		out  *[]byte
	}{
		{append([]string{"init", "-input=false"}, early...), nil},
		{append([]string{"plan", "-input=false", "-out=" + planFile}, variables...), nil},
		{slices.Concat([]string{"show", "-json"}, early, []string{planFile}), &shown},
		{slices.Concat([]string{"apply", "-input=false"}, again, []string{planFile}), nil},
		{append([]string{"output", "-json"}, early...), &outputs},
	} {
		out, err := command(t.Context(), filepath.Join(root, c.wanted.Path), env, filepath.Join(tools, engine),
			step.args...)
		if err != nil {
			return result{}, err
		}
		if step.out != nil {
			*step.out = out
		}
	}
	hidden := redact.New()
	shown, err = plan.Mask(shown, hidden.String, func(secret string) { hidden.Add(secret) })
	if err != nil {
		return result{}, err
	}
	var named map[string]struct{ Value json.RawMessage }
	if err := json.Unmarshal(outputs, &named); err != nil {
		return result{}, err
	}
	after := map[string]any{}
	for name, output := range named {
		after[name] = decode(t, relative(output.Value, root))
	}
	return result{c.planOf(t, relative(shown, root)), after}, nil
}

// command runs a program, and fails with what it prints.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), args[0], err, out, failed.Stderr)
	}
	return out, err
}

// environment is that of a user, and of the runner's container, on a machine without configuration. The home folder
// has the provider of test/cloud/provider, with a cloud of its own, and that of its folder files, under the names of
// the providers whose data sources it has.
func environment(t *testing.T, tools string) []string {
	t.Helper()
	home, platform := t.TempDir(), runtime.GOOS+"_"+runtime.GOARCH
	server := httptest.NewServer(cloud.New())
	t.Cleanup(server.Close)
	install := func(source, program string) {
		dir := filepath.Join(home, ".terraform.d", "plugins", filepath.FromSlash(source), "1.0.0", platform)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = os.Symlink(filepath.Join(tools, program), filepath.Join(dir, "terraform-provider-"+path.Base(source)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install("cairn.dev/test/cloud", "terraform-provider-cloud")
	for _, registry := range []string{"registry.opentofu.org", "registry.terraform.io"} {
		for _, name := range []string{"external", "archive", "local"} {
			install(registry+"/hashicorp/"+name, "terraform-provider-files")
		}
	}
	return []string{
		"PATH=" + tools + ":/usr/bin:/bin", "HOME=" + home, "LC_ALL=C.UTF-8", "CHECKPOINT_DISABLE=1",
		"TF_IN_AUTOMATION=1",
		"GIT_CONFIG_NOSYSTEM=1", "CLOUD_URL=" + server.URL,
	}
}

// relative replaces the path of a checkout by one that is the same for both.
func relative(data []byte, root string) []byte {
	return bytes.ReplaceAll(data, []byte(root), []byte("/checkout"))
}

// planOf reads the JSON of a plan, without its time of creation. Cairn writes the name of a workspace into the code,
// which is the configuration in the plan.
func (c *testCase) planOf(t *testing.T, data []byte) any {
	t.Helper()
	document := decode(t, data)
	if fields, ok := document.(map[string]any); ok {
		delete(fields, "timestamp")
		if c.workspace != "" {
			delete(fields, "configuration")
		}
	}
	return document
}

func decode(t *testing.T, data []byte) (document any) {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return document
}
