// Package units reads the Terragrunt units of a commit for a StackSet.
package units

import (
	"context"

	"cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/internal/source/closure"
)

// Reader reads the units of a commit.
type Reader struct {
	Closures *closure.Closures
	Tree     closure.Tree
	Blobs    closure.Blobs
}

// Unit implements generate.Units.
func (r Reader) Unit(ctx context.Context, directory string) (generate.Unit, error) {
	read, err := r.Closures.Unit(ctx, r.Tree, r.Blobs, directory)
	if closure.IsCorrectable(err) {
		return generate.Unit{Problem: err.Error()}, nil
	}
	u := generate.Unit{Runs: read.Runs, Includes: read.Includes}
	for _, d := range read.Dependencies {
		u.DependsOn = append(u.DependsOn, d.Path)
	}
	return u, err
}
