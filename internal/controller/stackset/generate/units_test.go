package generate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func after(dirs ...string) Unit { return Unit{Runs: true, DependsOn: dirs} }

// commit has the units of a commit, by directory.
type commit map[string]Unit

func (u commit) Unit(_ context.Context, dir string) (Unit, error) {
	return u[dir], nil
}

func TestUnits(t *testing.T) {
	live := commit{"live/prod/app": after("live/prod/vpc", "live/prod/db"), "live/prod/db": after("live/prod/vpc"),
		"live/prod/vpc": after()}
	with := func(more commit) commit {
		all := maps.Clone(live)
		maps.Copy(all, more)
		return all
	}
	for name, tt := range map[string]struct {
		units   commit
		files   []string
		include []string
		exclude []string
		want    []string
		wrong   string
	}{
		"a unit depends on the units that it names": {units: live, want: []string{
			"live/prod/app map[env:prod name:app] [live/prod/db live/prod/vpc] []",
			"live/prod/db map[env:prod name:db] [live/prod/vpc] []",
			"live/prod/vpc map[env:prod name:vpc] [] []",
		}},
		"a unit that is excluded sets no order": {units: live, exclude: []string{"live/*/vpc"}, want: []string{
			"live/prod/app map[env:prod name:app] [live/prod/db] [live/prod/vpc]",
			"live/prod/db map[env:prod name:db] [] [live/prod/vpc]",
		}},
		"a unit outside of the patterns sets no order": {units: with(commit{"shared/dns": after(),
			"live/prod/db": after("shared/dns")}), include: []string{"live/prod/db"}, want: []string{
			"live/prod/db map[] [] [shared/dns]",
		}},
		"a directory that Terragrunt skips is no unit": {units: with(commit{"live/prod/db": {}}),
			include: []string{"live/prod/*"}, want: []string{
				"live/prod/app map[] [live/prod/vpc] [live/prod/db]", "live/prod/vpc map[] [] []",
			}},
		"a file that another unit includes is none": {
			units:   commit{"live/prod": after(), "live/prod/vpc": {Runs: true, Includes: []string{"live/prod"}}},
			include: []string{"live/**"}, want: []string{"live/prod/vpc map[] [] []"},
		},
		"code without a terragrunt.hcl is no unit": {units: commit{"live/prod/vpc": after()},
			files: []string{"live/prod/code/main.tf"}, want: []string{"live/prod/vpc map[env:prod name:vpc] [] []"}},
		"units that depend on each other": {
			units: with(commit{"live/prod/vpc": after("live/prod/app")}),
			wrong: "generators: the Terragrunt units live/prod/app -> live/prod/vpc -> live/prod/app depend " +
				"on each other",
		},
		"a stack of Terragrunt's": {
			units: live, files: []string{"live/prod/net/terragrunt.stack.hcl"},
			wrong: "generators[0]: terragrunt: Cairn does not run the terragrunt.stack.hcl in live/prod/net: run",
		},
		"a stack of Terragrunt's that is excluded": {
			units: commit{"live/prod/vpc": after()}, files: []string{"live/prod/net/terragrunt.stack.hcl"},
			exclude: []string{"live/prod/net"}, want: []string{"live/prod/vpc map[env:prod name:vpc] [] []"},
		},
		"a stack of Terragrunt's whose units are committed": {
			units: commit{"live/.terragrunt-stack/net/.terragrunt-stack/vpc": after()}, include: []string{"**"},
			files: []string{"live/terragrunt.stack.hcl", "live/.terragrunt-stack/net/terragrunt.stack.hcl"},
			want:  []string{"live/.terragrunt-stack/net/.terragrunt-stack/vpc map[] [] []"},
		},
		"more than the limit": {
			units: with(commit{"live/prod/a": after(), "live/prod/b": after(), "live/prod/c": after()}),
			wrong: "more than spec.maxStacks (5)"},
		"what is no unit counts as no item": {
			units:   with(commit{"live/prod/a": {}, "live/prod/b": {}, "live/prod/c": {}}),
			include: []string{"live/prod/vpc", "live/prod/?"}, want: []string{"live/prod/vpc map[] [] []"}},
		"a pattern that is none": {units: live, include: []string{"live/{a"},
			wrong: "terragrunt.include[0]"},
		"a unit that cannot be read by Cairn": {units: with(commit{"live/prod/bad": {Problem: "x:1: no path"}}),
			wrong: "generators[0]: terragrunt: unit live/prod/bad: x:1: no path"},
	} {
		t.Run(name, func(t *testing.T) {
			files := slices.Clone(tt.files)
			for dir := range tt.units {
				files = append(files, dir+"/terragrunt.hcl")
			}
			if tt.include == nil {
				tt.include = []string{"live/{env}/{name}"}
			}
			d := &Directories{Include: tt.include, Exclude: tt.exclude, Units: true}
			items, err := Items(t.Context(), []Generator{{Directories: d}}, files, tt.units, 5)
			if tt.wrong != "" {
				if err == nil || items != nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("%v, %v, want %s", items, err, tt.wrong)
				}
				return
			}
			var got []string
			for _, i := range items {
				slices.Sort(i.DependsOn)
				got = append(got, fmt.Sprint(i.Directory, " ", i.Params, " ", i.DependsOn, " ", i.Elsewhere))
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// An error of git is not one that a user corrects: the set is not invalid.
func TestAnErrorOfAReadIsNoUsers(t *testing.T) {
	g := []Generator{{Directories: &Directories{Include: []string{"**"}, Units: true}}}
	items, err := Items(t.Context(), g, []string{"a/terragrunt.hcl"}, broken{}, 5)
	if _, ok := errors.AsType[*ReadError](err); !ok || !errors.Is(err, errDisk) || items != nil {
		t.Error(items, err)
	}
}

var errDisk = errors.New("disk is full")

// broken cannot be read.
type broken struct{}

func (broken) Unit(context.Context, string) (Unit, error) { return Unit{}, errDisk }
