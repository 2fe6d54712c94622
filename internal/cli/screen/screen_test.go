package screen

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

var update = flag.Bool("update", false, "write the screens into testdata as they are drawn now")

// noon is the time of all screens.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// objects of a case.
type objects struct {
	stacks       []v1alpha1.Stack
	runs         []v1alpha1.Run
	states       []v1alpha1.State
	repositories []v1alpha1.Repository
	pulls        []v1alpha1.PullRequest
	events       []corev1.Event
}

// screens are the screens by the name that a case uses.
var screens = map[string]func(objects, Style) (string, error){
	"get": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.Stacks, &v1alpha1.StackList{Items: o.stacks}, false)
	},
	"get -o wide": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.Stacks, &v1alpha1.StackList{Items: o.stacks}, true)
	},
	"get runs": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.Runs, &v1alpha1.RunList{Items: o.runs}, false)
	},
	"get runs -o wide": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.Runs, &v1alpha1.RunList{Items: o.runs}, true)
	},
	"get states": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.States, &v1alpha1.StateList{Items: o.states}, true)
	},
	"get repositories": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.Repositories, &v1alpha1.RepositoryList{Items: o.repositories}, true)
	},
	"get pr": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.PullRequests, &v1alpha1.PullRequestList{Items: o.pulls}, false)
	},
	"get pr -o wide": func(o objects, s Style) (string, error) {
		return printedKind(s, kinds.PullRequests, &v1alpha1.PullRequestList{Items: o.pulls}, true)
	},
	"history":         func(o objects, s Style) (string, error) { return printed(History(o.runs, s), false) },
	"history -o wide": func(o objects, s Style) (string, error) { return printed(History(o.runs, s), true) },
	"why stack":       func(o objects, s Style) (string, error) { return drawn(o.description(false).Write, s) },
	"why stack, color": func(o objects, s Style) (string, error) {
		s.Color = true
		return drawn(o.description(false).Write, s)
	},
	"why run": func(o objects, s Style) (string, error) { return drawn(o.description(true).Write, s) },
	"describe pr": func(o objects, s Style) (string, error) {
		return drawn(func(w io.Writer, s Style) error { return PullRequest(w, &o.pulls[0], o.events, s) }, s)
	},
	"describe repo": func(o objects, s Style) (string, error) {
		return drawn(func(w io.Writer, s Style) error {
			return Repository(w, &o.repositories[0], o.stacks, o.events, s)
		}, s)
	},
	"question": func(o objects, s Style) (string, error) {
		return drawn(func(w io.Writer, s Style) error { return Destroyed(w, o.runs[0].Status.Plan, s) }, s)
	},
	"approve": func(o objects, s Style) (string, error) {
		return drawn(func(w io.Writer, s Style) error { return Plan(w, &o.runs[0], s) }, s)
	},
	"findings": func(o objects, s Style) (string, error) {
		return drawn(func(w io.Writer, s Style) error { return Findings(w, &o.runs[0], s) }, s)
	},
	"outputs": func(o objects, s Style) (string, error) {
		text, err := drawn(func(w io.Writer, s Style) error { return Outputs(w, &o.stacks[0], s) }, s)
		return text + HiddenOutputs(&o.stacks[0], &o.states[0]) + "\n", err
	},
	"line": func(o objects, s Style) (string, error) { return Line(&o.runs[0], s) + "\n", nil },
	"lines": func(o objects, s Style) (string, error) {
		return strings.Join(new(Trail).Lines(&o.runs[0], s), "\n") + "\n", nil
	},
	"pending": func(o objects, _ Style) (string, error) { return Pending(&o.stacks[0]) + "\n", nil },
	"result":  func(o objects, _ Style) (string, error) { return Result(&o.runs[0]) + "\n", nil },
}

func printedKind(s Style, kind kinds.Kind, list client.ObjectList, wide bool) (string, error) {
	t, err := Table(kind, list, s)
	if err != nil {
		return "", err
	}
	return printed(t, wide)
}

func printed(t *metav1.Table, wide bool) (string, error) {
	var out bytes.Buffer
	err := printers.NewTablePrinter(printers.PrintOptions{Wide: wide}).PrintObj(t, &out)
	return out.String(), err
}

func drawn(draw func(io.Writer, Style) error, s Style) (string, error) {
	var out bytes.Buffer
	err := draw(&out, s)
	return out.String(), err
}

// TestScreens draws the screens of each case in testdata. A case has objects and, under the name of each screen, the
// expected output. Escape codes are written as ^[.
func TestScreens(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	drawnOnce := map[string]bool{}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := read(t, archive.Files[0].Data)
			for i, f := range archive.Files[1:] {
				draw, ok := screens[f.Name]
				if !ok {
					t.Fatalf("there is no screen %q", f.Name)
				}
				drawnOnce[f.Name] = true
				got, err := draw(o, Style{Program: "cairn", Now: noon})
				if err != nil {
					t.Fatal(err)
				}
				got = visible(got)
				if *update {
					archive.Files[i+1].Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for name := range screens {
		if !drawnOnce[name] {
			t.Errorf("no case draws %q", name)
		}
	}
}

// visible replaces escape codes and trailing spaces by visible characters.
func visible(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\x1b", "^["), "\n") {
		if trimmed := strings.TrimRight(line, " "); trimmed != line {
			line = trimmed + fmt.Sprintf("<%d spaces>", len(line)-len(trimmed))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func read(t *testing.T, data []byte) objects {
	t.Helper()
	var o objects
	for doc := range strings.SplitSeq(string(data), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Stack":
			o.stacks = append(o.stacks, decoded[v1alpha1.Stack](t, doc))
		case "Run":
			o.runs = append(o.runs, decoded[v1alpha1.Run](t, doc))
		case "State":
			o.states = append(o.states, decoded[v1alpha1.State](t, doc))
		case "Repository":
			o.repositories = append(o.repositories, decoded[v1alpha1.Repository](t, doc))
		case "PullRequest":
			o.pulls = append(o.pulls, decoded[v1alpha1.PullRequest](t, doc))
		case "Event":
			o.events = append(o.events, decoded[corev1.Event](t, doc))
		default:
			t.Fatalf("kind %q of:\n%s", kind.Kind, doc)
		}
	}
	return o
}

func decoded[T any](t *testing.T, doc string) T {
	t.Helper()
	var o T
	if err := yaml.UnmarshalStrict([]byte(doc), &o); err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	return o
}

// description is that of the first Stack, or of the first Run alone.
func (o objects) description(alone bool) Description {
	d := Description{Alone: alone, Runs: o.runs, Events: o.events}
	if len(o.stacks) > 0 {
		d.Stack = &o.stacks[0]
	}
	if len(o.runs) > 0 {
		d.Run = &o.runs[0]
	}
	if len(o.states) > 0 {
		d.State = &o.states[0]
	}
	return d
}

// FuzzClean checks that no text of another user controls a terminal.
func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J\x07\u202edrow\u009b31m\r\n\t\x00")
	f.Fuzz(func(t *testing.T, text string) {
		clean := Clean(text)
		if i := strings.IndexFunc(clean, func(r rune) bool {
			return r < 0x20 || (r >= 0x7f && r < 0xa0) ||
				slices.Contains([]rune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"), r)
		}); i >= 0 {
			t.Errorf("%q has %q in it", clean, clean[i:])
		}
	})
}

// TestApprovedRunDoesNotWaitForAnApproval checks what a Run waits for: an approved one can wait for a window.
func TestApprovedRunDoesNotWaitForAnApproval(t *testing.T) {
	planned := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	style := Style{Now: planned.Add(time.Minute)}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: planned}}
	run.Status = v1alpha1.RunStatus{
		Phase: v1alpha1.PhaseAwaitingApproval, Plan: &v1alpha1.Plan{Changes: true, Digest: "sha256:a"},
		Attempts: []v1alpha1.Attempt{{Phase: v1alpha1.AttemptPlan, FinishedAt: &metav1.MicroTime{Time: planned.Time}}},
	}
	for reason, want := range map[string]string{
		v1alpha1.ReasonWindowClosed: ", waiting 60s", v1alpha1.ReasonAwaitingApproval: ", waiting 60s for an approval",
	} {
		run.Spec.Approval = nil
		if reason == v1alpha1.ReasonWindowClosed {
			run.Spec.Approval = &v1alpha1.Approval{By: "alice", PlanDigest: "sha256:a"}
		}
		run.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason},
		}
		if got := runWait(run, style); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}
