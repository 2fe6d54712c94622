package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/session"
)

// TestUnknownCommandIsRejected checks that a typing error does not print the help, which a script could use as a state.
func TestUnknownCommandIsRejected(t *testing.T) {
	for line, want := range map[string]string{
		"state pul net":            `unknown command "pul" for "cairn state": did you mean pull, push?`,
		"state -n a everything":    `unknown command "everything" for "cairn state": see cairn state --help`,
		"sttae":                    `unknown command "sttae" for "cairn"`,
		"state remote --stack net": "unknown flag: --stack",
		"apply net --targe a":      "unknown flag: --targe: did you mean --target? See cairn apply --help",
		"apply net --qwertyuiop":   "unknown flag: --qwertyuiop; see cairn apply --help",
		"apply net --target":       "flag needs an argument: --target; see cairn apply --help",
		"apply net -Q":             "unknown shorthand flag: 'Q' in -Q; see cairn apply --help",
		"get -o jsn":               `invalid argument "jsn" for "-o, --output" flag: use one of json, yaml, wide, name; see`,
		"migrate": "usage: cairn migrate (-f FILE... | --from-cluster) [flags]; see cairn " +
			"migrate --help",
		"help aply":               `unknown command "aply" for "cairn": did you mean apply?`,
		"help qwertyuiop":         `unknown command "qwertyuiop" for "cairn": see cairn --help`,
		"help drift resum":        `unknown command "resum" for "cairn drift": did you mean resume?`,
		"help drift resume":       "",
		"drift resume mass-drift": "usage: cairn drift resume [flags]; see cairn drift resume --help",
		"state":                   "",
	} {
		s, out, _ := quiet()
		cmd := root(s)
		cmd.SetArgs(strings.Fields(line))
		switch err := cmd.Execute(); {
		case want == "" && (err != nil || !strings.Contains(out.String(), "Usage:")):
			t.Errorf("%s: %v, and the output is %s", line, err, out)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || out.Len() > 0):
			t.Errorf("%s: %v, and the output is %s", line, err, out)
		}
	}
}

// TestWrongNumberOfArgumentsShowsTheUsage checks each command with no and with many arguments.
func TestWrongNumberOfArgumentsShowsTheUsage(t *testing.T) {
	s, _, _ := quiet()
	checked := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			check(c)
		}
		if cmd.Args == nil || cmd.Name() == "help" {
			return
		}
		for _, args := range [][]string{nil, strings.Fields(strings.Repeat("net ", 9))} {
			if err := cmd.Args(cmd, args); err != nil {
				checked++
				if want := "usage: " + cmd.CommandPath(); !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s with %d arguments: %v, want %q", cmd.CommandPath(), len(args), err, want)
				}
			}
		}
	}
	check(root(s))
	if checked < 20 {
		t.Errorf("only %d errors were checked", checked)
	}
}

func TestNameOfTheKubectlPlugin(t *testing.T) {
	for argv0, want := range map[string]string{
		"cairn": "cairn", "/usr/bin/kubectl-cairn": "kubectl cairn", "kubectl-cairn.exe": "kubectl cairn",
		"./kubectl-cairn-2": "cairn",
	} {
		if got := session.ProgramName(argv0); got != want {
			t.Errorf("%s: %q, want %q", argv0, got, want)
		}
	}
	s, out, _ := quiet()
	s.Program = "kubectl cairn"
	cmd := root(s)
	cmd.SetArgs([]string{"plan", "--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kubectl cairn plan STACK", "  kubectl cairn plan net --local"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// TestEveryCommandHasHelp checks that each command has a description, and that commands of users have examples and
// completion.
func TestEveryCommandHasHelp(t *testing.T) {
	s, _, _ := quiet()
	for _, c := range root(s).Commands() {
		if c.Short == "" {
			t.Errorf("%s has no description", c.Name())
		}
		if c.GroupID != groupStacks || c.HasSubCommands() {
			continue
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.Name())
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s completes nothing", c.Name())
		}
	}
}

// quiet returns a session whose output can be read, without a terminal.
func quiet() (s *session.Session, out, errOut *bytes.Buffer) {
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return session.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut}, "cairn"),
		out, errOut
}

func TestVersionWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	s, out, errOut := quiet()
	cmd := root(s)
	cmd.SetArgs([]string{"version"})
	err := cmd.Execute()
	if err != nil || out.String() != "Client: "+version.Version+"\n" ||
		!strings.HasPrefix(errOut.String(), "Server: not asked: no cluster is configured: ") {
		t.Errorf("%v, %q, %q", err, out, errOut)
	}
}

func TestVersionOfTheProgramNeedsNoServer(t *testing.T) {
	var printed []string
	for _, arg := range []string{"version --client", "--version"} {
		s, out, _ := quiet()
		cmd := root(s)
		cmd.SetArgs(strings.Fields(arg))
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		printed = append(printed, out.String())
	}
	if want := version.Version + "\n"; printed[0] != want || printed[1] != want {
		t.Errorf("%q, want %q", printed, want)
	}
}
