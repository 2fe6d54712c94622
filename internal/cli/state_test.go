package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/operator"
)

func TestNothingIsDoneWithoutAYes(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx               context.Context
		said, canAsk, tty bool
		answer            string
		done              bool
	}{
		"said already":                        {said: true, done: true},
		"nobody there":                        {canAsk: true, answer: "yes\n"},
		"somebody there, but not to be asked": {tty: true, answer: "yes\n"},
		"yes":                                 {canAsk: true, tty: true, answer: "yes\n", done: true},
		"no":                                  {canAsk: true, tty: true, answer: "no\n"},
		"y is not yes":                        {canAsk: true, tty: true, answer: "y\n"},
		"no answer":                           {canAsk: true, tty: true},
		"interrupted":                         {ctx: canceled, canAsk: true, tty: true, answer: "no\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			streams, in, _, _ := genericiooptions.NewTestIOStreams()
			in.WriteString(c.answer)
			err := (&session{IOStreams: streams, tty: c.tty}).agree(c.ctx, c.said, c.canAsk, "Do it?")
			if (err == nil) != c.done {
				t.Error(err)
			}
			var exit exitError
			if interrupted := errors.As(err, &exit) && exit.code == exitInterrupted; interrupted != (c.ctx.Err() != nil) {
				t.Error(err)
			}
		})
	}
}

func TestVersionsAreNumbersFromOneOn(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "12": 12, "0": 0, "-1": 0, "one": 0, "": 0, "1.5": 0} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}

func TestTheNameOfAProvider(t *testing.T) {
	for in, want := range map[string]string{
		`provider["registry.opentofu.org/hashicorp/aws"]`:            "registry.opentofu.org/hashicorp/aws",
		`provider["registry.opentofu.org/hashicorp/aws"].eu`:         "registry.opentofu.org/hashicorp/aws.eu",
		`module.a.provider["registry.opentofu.org/hashicorp/aws"].x`: "module.a.registry.opentofu.org/hashicorp/aws.x",
		"provider.aws\x1b": `provider.aws\x1b`,
	} {
		if got := providerName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// A half takes the flags of the other one too, so that both can be started with the same ones, and shows only its own.
func TestTheHalvesShowTheirOwnFlags(t *testing.T) {
	all := processCommand(&cobra.Command{Use: "serve"}, operator.Options{Operator: true, Server: true})
	for _, name := range append(append([]string{}, operatorFlags...), serverFlags...) {
		if all.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag %s", name)
		}
	}
	for _, half := range []*cobra.Command{operatorCommand(), serverCommand()} {
		var usage bytes.Buffer
		half.SetOut(&usage)
		if err := half.Usage(); err != nil {
			t.Fatal(err)
		}
		own, others := operatorFlags, serverFlags
		if half.Name() == "server" {
			own, others = others, own
		}
		for _, name := range own {
			if !strings.Contains(usage.String(), "--"+name+" ") {
				t.Errorf("%s does not show --%s", half.Name(), name)
			}
		}
		for _, name := range others {
			if strings.Contains(usage.String(), "--"+name+" ") || half.Flags().Lookup(name) == nil {
				t.Errorf("%s shows --%s, or does not take it", half.Name(), name)
			}
		}
	}
}
