package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/git"
)

// Engine has the version that the code requires of each engine that may run it.
type Engine struct {
	OpenTofu   Version
	Terraform  Version
	Terragrunt Version
}

// Version has the version file and the constraints of the code for one engine.
type Version struct {
	Pin
	// File is the version file that Pin is from: the nearest .opentofu-version, .terraform-version or
	// .terragrunt-version in the folder or above; "" when there is none.
	File string
	// Required are the constraints in the root module's own code that this engine enforces, by file.
	//
	// Terraform: required_version in .tf and .tf.json. OpenTofu, as 1.12 does: required_version in .tofu and
	// .tofu.json only, and opentofu in language { compatible_with {} } of all files except a .tf with a .tofu of the
	// same name. Terragrunt: terragrunt_version_constraint; terraform_version_constraint applies to the other two.
	Required []string
}

// Of returns what the code has for the engine of a name; nothing for one that has no version file.
func (e Engine) Of(name string) Version {
	switch name {
	case "OpenTofu":
		return e.OpenTofu
	case "Terraform":
		return e.Terraform
	case "Terragrunt":
		return e.Terragrunt
	}
	return Version{}
}

// versionFiles reads the nearest version file of each engine: those in directories above it have no effect.
func (s *search) versionFiles(ctx context.Context, root git.Entry, w Wanted) error {
	for _, one := range []struct {
		name    string
		version *Version
		wanted  bool
	}{
		{".opentofu-version", &s.engine.OpenTofu, true},
		{".terraform-version", &s.engine.Terraform, true},
		{".terragrunt-version", &s.engine.Terragrunt, w.Terragrunt},
	} {
		if !one.wanted {
			continue
		}
		file, err := s.above(ctx, root.Path, one.name)
		if err != nil {
			return err
		}
		if file.Kind == 0 {
			continue
		}
		s.add(file.Entry)
		one.version.File = file.name
		if one.version.Pin, err = s.pin(ctx, file.Entry); err != nil {
			return err
		}
	}
	return nil
}

// named is a file, and the path by which it was found, which is another one for a symlink.
type named struct {
	git.Entry
	name string
}

// above returns the nearest file of a name, in a directory or in those above it.
func (s *search) above(ctx context.Context, dir, name string) (named, error) {
	for {
		at := path.Join(dir, name)
		if e, ok := s.entry(at); ok {
			if e.Kind == git.KindSymlink {
				p, err := s.resolve(ctx, at)
				if err != nil {
					return named{}, err
				}
				e = p.Entry
			}
			if isFile(e.Kind) {
				return named{e, at}, nil
			}
		}
		if dir == "" {
			return named{}, nil
		}
		dir = parentOf(dir)
	}
}

func (s *search) pin(ctx context.Context, file git.Entry) (Pin, error) {
	return cached(s.c, file.ID, "pin", func() (p Pin, _ int, _ error) {
		text, err := s.read(ctx, file, longestVersionFile)
		switch {
		case errors.Is(err, ErrTooLarge):
			p.Problem = fmt.Sprintf("version file: it has more than %d bytes, which is the limit: write only "+
				"the version into it", longestVersionFile)
		case err != nil:
			return Pin{}, 0, err
		default:
			if p.Constraint, err = ParseVersionFile(text); err != nil {
				p.Problem = err.Error()
			}
		}
		return p, len(p.Constraint) + len(p.Problem), nil
	})
}

// require reads the version constraints of a root module.
func (s *search) require(ctx context.Context, dir string) error {
	return s.eachFile(ctx, dir, func(file string, twin bool, c code) error {
		_, kind := engine.CodeFile(file)
		if isTofu(kind) {
			s.engine.OpenTofu.require(c.required...)
		} else {
			s.engine.Terraform.require(c.required...)
		}
		if isTofu(kind) || !twin {
			s.engine.OpenTofu.require(c.compatible...)
		}
		return nil
	})
}

func (v *Version) require(constraints ...string) {
	for _, c := range constraints {
		if !slices.Contains(v.Required, c) {
			v.Required = append(v.Required, c)
		}
	}
}
