package stack

import (
	"strings"
	"testing"
)

func TestFlagsOfALocalPlanNeedLocal(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a program":                    {[]string{"net", "--engine=tofu"}, "--engine needs --local DIR"},
		"a folder above the directory": {[]string{"net", "--root=."}, "--root needs --local DIR"},
		"files with variables":         {[]string{"net", "--var-file=a.tfvars"}, "--var-file needs --local DIR"},
		"arguments for the engine":     {[]string{"net", "--", "-target=a.b"}, "need --local DIR"},
		"no Stack":                     {[]string{"--local=."}, "usage: plan STACK"},
		"two Stacks":                   {[]string{"net", "vpc", "--local=."}, "usage: plan STACK"},
		"the Stack only after --":      {[]string{"--local=.", "--", "net"}, "usage: plan STACK"},
		"a plan to apply": {[]string{"net", "--local=.", "--", "-out=plan"},
			"-out is not allowed with --local"},
		"the plan of a Run as document": {[]string{"net", "--local=.", "-o=json"}, "[local output]"},
	} {
		s, _, _ := quietStack()
		cmd := planCommand(s)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
