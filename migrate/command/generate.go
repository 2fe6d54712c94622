package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"cairn.dev/cairn/internal/cli/migration"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/units"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/migrate/generate"
)

func generateFrom(ctx context.Context, s *session.Session, dir string, o migration.GenerateOptions) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	code := generate.Code{Files: os.DirFS(dir), URL: o.Repository, Ref: o.Ref, StackSet: o.StackSet}
	code.Namespace = s.Overrides.Context.Namespace
	// The path of DIR in the repository is also needed if the URL is set.
	place, err := gitOutput(ctx, dir, "rev-parse", "--show-toplevel", "--show-prefix")
	root := dir
	if err == nil {
		top, prefix, _ := strings.Cut(place, "\n")
		root = top
		code.Folder = path.Clean("/" + prefix)[1:]
		for at := code.Folder; at != ""; {
			at = path.Dir("/" + at)[1:]
			code.Above = append(code.Above, os.DirFS(filepath.Join(root, at)))
		}
	} else if code.URL == "" {
		return fmt.Errorf("%s is in no Git repository (%w): set its URL with --repository, and use its root "+
			"directory as DIR",
			dir, err)
	}
	if code.URL == "" {
		if code.URL, err = gitOutput(ctx, dir, "remote", "get-url", "origin"); err != nil {
			return fmt.Errorf("git has no remote origin (%w): set the repository's URL with --repository", err)
		}
	}
	disk := closure.Disk{Root: root, Hidden: func(name string) bool { return name == ".git" }}
	code.Units = units.Reader{Closures: closure.New(closure.Options{}), Tree: disk, Blobs: disk}
	result, err := generate.Generate(code)
	var address *generate.AddressError
	if errors.As(err, &address) && o.Repository == "" {
		return fmt.Errorf("%w; it is that of git's remote origin: set the URL that the cluster fetches from with "+
			"--repository URL", err)
	}
	if err != nil {
		return err
	}
	if len(result.Stacks)+len(result.StackSets) == 0 {
		s.Note("Found no root module in %s.", dir)
	}
	return printMigration(s, result, o.Format)
}

// gitTimeout is the timeout of a git command.
const gitTimeout = 30 * time.Second

// gitOutput returns the output of a git command in a directory.
func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return "", errors.New(line)
	}
	return strings.TrimSpace(string(out)), err
}
