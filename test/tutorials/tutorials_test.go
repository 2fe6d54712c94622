package tutorials

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"

	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/dev/tools"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/story"
)

// namespace is that of the pages, as in a new kubeconfig.
const namespace = "default"

// admin is the user of the pages, as in a cluster of kind.
const admin = "kubernetes-admin"

// Each page leaves the cluster as it found it, so they share one and run one after the other.
func TestTutorials(t *testing.T) {
	pages, err := marked("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	testdata, err := filepath.Abs("testdata") // for comments of pages
	if err != nil {
		t.Fatal(err)
	}
	c := devcluster.Start(t)
	env := story.Environment{Kubeconfig: kubeconfig(t, c), Tools: c.Tools, Bin: c.Bin, Root: c.Root,
		Audit: c.AuditLog(), Host: "127.0.0.1"}
	for _, p := range pages {
		name := strings.TrimSuffix(filepath.Base(p.path), ".md")
		t.Run(filepath.Base(filepath.Dir(p.path))+"/"+name, func(t *testing.T) {
			if _, err := tools.Path("gitea"); err != nil && os.Getenv("GITEA") == "" &&
				strings.Contains(p.testscript(), "\ngitea-server\n") {
				t.Skip("the page needs a Gitea, which takes minutes to build: make test-gitea builds it, sets GITEA " +
					"and runs this page")
			}
			start := time.Now()
			t.Cleanup(func() { t.Logf("%s took %.0fs", p.path, time.Since(start).Seconds()) })
			path := filepath.Join(t.TempDir(), name+".txtar")
			text := "objects\n" + p.testscript() + "# nothing is left behind\nobjects\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			commands := env.Commands()
			maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
				"objects": objects(env), "step": p.step, "gitea-server": giteaServer, "gitea": callGitea,
			})
			testscript.Run(t, testscript.Params{Files: []string{path}, Cmds: commands,
				Setup: func(e *testscript.Env) error {
					e.Setenv("TESTDATA", testdata)
					return env.Setup(e, namespace)
				}})
		})
	}
}

// marked returns the pages that have a block with a marker. All tutorials have one.
func marked(root string) (pages []page, err error) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tutorial := filepath.Base(filepath.Dir(path)) == "tutorials" && filepath.Base(path) != "index.md"
		if !tutorial && !bytes.Contains(text, []byte("```sh test")) {
			continue
		}
		p, err := parse(path)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("no page of %s has a marked block", root)
	}
	return pages, nil
}

// kubeconfig writes a kubeconfig of the user of the pages.
func kubeconfig(t *testing.T, c *devcluster.Cluster) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := authority.Load(filepath.Join(c.Data, "controlplane", "pki"), "cairn dev")
	if err != nil {
		t.Fatal(err)
	}
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	user.ClientCertificateData, user.ClientKeyData, err = signer.Sign(authority.Client(admin, "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// shell is what each command of a page runs in: a terminal that keeps the working directory and exported variables.
const shell = `
[ ! -f "$WORK/.variables" ] || . "$WORK/.variables"
cd "$(cat "$WORK/.directory" 2>/dev/null || echo "$WORK")"
trap 'export -p > "$WORK/.variables"; pwd > "$WORK/.directory"' EXIT
set -e
%s`

// step runs a marked block of the page: step NUMBER.
func (p page) step(ts *testscript.TestScript, _ bool, args []string) {
	var number int
	_, err := fmt.Sscan(args[0], &number)
	ts.Check(err)
	s := p.steps[number]
	if s.kind == file {
		path := filepath.Join(directory(ts), s.name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, []byte(s.text), 0o600))
		return
	}
	want := "0"
	if s.exit != "" {
		want = s.exit
	}
	for end := time.Now().Add(story.Timeout); ; time.Sleep(100 * time.Millisecond) {
		out, code := execute(ts, s.command())
		if code == want && matches(s.output, out) {
			ts.Logf("%s", out)
			return
		}
		if s.kind == retry && time.Now().Before(end) {
			continue
		}
		what := "another output"
		if code != want {
			what = fmt.Sprintf("exit code %s, not %s", code, want)
		}
		ts.Fatalf("%s:%d: %s. The page has:\n%s\nThe command prints:\n%s", p.path, s.line, what, s.output, out)
	}
}

// directory is the working directory of the reader.
func directory(ts *testscript.TestScript) string {
	dir, err := os.ReadFile(filepath.Join(ts.Getenv("WORK"), ".directory"))
	if err != nil {
		return ts.Getenv("WORK")
	}
	return strings.TrimSpace(string(dir))
}

// execute runs a command as in a terminal, and returns what it prints and its exit code.
func execute(ts *testscript.TestScript, command string) (output, code string) {
	cmd := story.Environment{}.Command(ts, "bash", "-c", fmt.Sprintf(shell, command))
	cmd.Env = append(cmd.Env, "WORK="+ts.Getenv("WORK"), "HOME="+ts.Getenv("WORK"), "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		ts.Fatalf("bash: %v", err)
	}
	return string(out), fmt.Sprint(cmd.ProcessState.ExitCode())
}

// objects records the names of the objects of the namespace, and the second time waits until no others are left:
// objects. Those of a deleted Stack are deleted some moments later.
func objects(env story.Environment) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		path := filepath.Join(ts.Getenv("WORK"), ".objects")
		known, err := os.ReadFile(path)
		for end := time.Now().Add(story.Timeout); ; time.Sleep(100 * time.Millisecond) {
			names := env.Output(ts, "get",
				"stacks,runs,states,repositories,pipelines,configmaps,secrets,serviceaccounts,roles,rolebindings,pods",
				"--namespace="+namespace, "--output=name")
			if err != nil {
				ts.Check(os.WriteFile(path, names, 0o600))
				return
			}
			left := slices.DeleteFunc(strings.Fields(string(names)), func(name string) bool {
				return slices.Contains(strings.Fields(string(known)), name)
			})
			if len(left) == 0 {
				return
			}
			if time.Now().After(end) {
				ts.Fatalf("the page leaves %s behind", strings.Join(left, ", "))
			}
		}
	}
}
