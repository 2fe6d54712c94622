package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

const pathOfAPI = "cairn.dev/cairn/api/v1alpha1"

// program returns the packages of Cairn's programs and API with the types of their code, without tests.
func program(t *testing.T) []*packages.Package {
	t.Helper()
	all, err := loadProgram()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var loadProgram = sync.OnceValues(func() ([]*packages.Package, error) {
	config := packages.Config{
		Dir: "../..",
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo,
	}
	all, err := packages.Load(&config, "./internal/...", "./cmd/...", pathOfAPI)
	if err != nil {
		return nil, err
	}
	config.Dir = "../../migrate"
	converters, err := packages.Load(&config, "./...")
	if err != nil {
		return nil, err
	}
	all = append(all, converters...)
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %v", p.PkgPath, p.Errors)
		}
	}
	return all, nil
})

// constantsOfAPI returns the values of the string constants of the API that have one of the prefixes, by their names.
func constantsOfAPI(t *testing.T, prefixes ...string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, p := range program(t) {
		if p.PkgPath != pathOfAPI {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			c, ok := p.Types.Scope().Lookup(name).(*types.Const)
			if !ok || c.Val().Kind() != constant.String {
				continue
			}
			for _, prefix := range prefixes {
				if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
					values[name] = constant.StringVal(c.Val())
				}
			}
		}
	}
	if len(values) == 0 {
		t.Fatalf("the API has no constants %v", prefixes)
	}
	return values
}
