package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// The chart starts commands that exist, with arguments that they accept and use.
func TestChartUsesExistingFlags(t *testing.T) {
	paths, err := filepath.Glob("../../../charts/cairn/testdata/*.golden")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	started := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "---\n") {
			var deployment appsv1.Deployment
			if !strings.Contains(document, "\nkind: Deployment\n") {
				continue
			}
			if err := yaml.UnmarshalStrict([]byte(document), &deployment); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			args := deployment.Spec.Template.Spec.Containers[0].Args
			for _, cmd := range []*cobra.Command{serveCommand(), operatorCommand(), serverCommand()} {
				if cmd.Name() != args[0] {
					continue
				}
				started[args[0]] = true
				if err := cmd.ParseFlags(args[1:]); err != nil {
					t.Errorf("%s: cairn-controller %s: %v", path, args[0], err)
				}
				cmd.Flags().Visit(func(f *pflag.Flag) {
					// extraArgs are for both processes, so one of them may ignore a flag.
					if f.Hidden && f.Name != "runner-patience" {
						t.Errorf("%s: cairn-controller %[3]s ignores --%[2]s", path, f.Name, args[0])
					}
				})
				if rest := cmd.Flags().Args(); len(rest) > 0 {
					t.Errorf("%s: cairn-controller %s: %v is not a flag", path, args[0], rest)
				}
			}
		}
	}
	if len(started) != 3 {
		t.Errorf("the chart starts %v of serve, operator and server", started)
	}
}
