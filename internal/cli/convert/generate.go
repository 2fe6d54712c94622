package convert

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

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/migrate/generate"
)

// generateOptions are the flags of generate.
type generateOptions struct{ repository, ref, format string }

func generateCommand(s *session.Session) *cobra.Command {
	var g generateOptions
	cmd := &cobra.Command{
		Use:   "generate DIR",
		Short: "Generate a Stack for each root module in a directory",
		Long: `Finds the root modules in DIR and its subdirectories, and writes the manifests of one Stack for each and of
one Repository to standard output. Standard error gets what was found, what was skipped and why, and what you have to
do. The command changes neither the cluster nor the code, and imports no resources.

A root module is a directory with code that has a backend block, or that no other directory calls as a module; with a
terragrunt.hcl that has a source, Terragrunt runs it, and the directory of that source is no root module. Where the code
has a backend block, the state stays there (backend: {fromCode: true}); otherwise Cairn stores the state.

The repository's URL is that of git's remote origin, unless --repository is set. Plans wait for an approval (apply:
Manual), and deleting a Stack keeps its resources (deletionPolicy: Orphan), until you change these fields.`,
		Example: s.Examples(`
			cairn generate . > stacks.yaml
			cairn generate envs/prod -n prod
			cairn generate . --repository https://git.example.com/acme/infra.git --ref main`),
		Args: s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return generateFrom(cmd.Context(), s, args[0], g)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&g.repository, "repository", "",
		"URL of the repository, for example https://git.example.com/acme/infra.git; default: that of git's remote origin")
	f.StringVar(&g.ref, "ref", "", "branch, tag or commit of the Repository; default: the remote's default branch")
	session.AddFormatFlag(cmd, &g.format)
	f.Lookup("output").Usage += ": one document with objects and notes on standard output"
	return cmd
}

func generateFrom(ctx context.Context, s *session.Session, dir string, g generateOptions) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	code := generate.Code{Files: os.DirFS(dir), URL: g.repository, Ref: g.ref}
	code.Namespace = s.Overrides.Context.Namespace
	// The path of DIR in the repository is also needed if the URL is set.
	place, err := gitOutput(ctx, dir, "rev-parse", "--show-toplevel", "--show-prefix")
	if err == nil {
		root, prefix, _ := strings.Cut(place, "\n")
		code.Folder = path.Clean("/" + prefix)[1:]
		for at := code.Folder; at != ""; {
			at = path.Dir("/" + at)[1:]
			code.Above = append(code.Above, os.DirFS(filepath.Join(root, at)))
		}
	} else if code.URL == "" {
		return fmt.Errorf("%s is in no Git repository (%w): set its URL with --repository, and use its root directory as DIR",
			dir, err)
	}
	if code.URL == "" {
		if code.URL, err = gitOutput(ctx, dir, "remote", "get-url", "origin"); err != nil {
			return fmt.Errorf("git has no remote origin (%w): set the repository's URL with --repository", err)
		}
	}
	result, err := generate.Generate(code)
	var address *generate.AddressError
	if errors.As(err, &address) && g.repository == "" {
		return fmt.Errorf("%w; it is that of git's remote origin: set the URL that the cluster fetches from with "+
			"--repository URL", err)
	}
	if err != nil {
		return err
	}
	if len(result.Stacks) == 0 {
		s.Note("Found no root module in %s.", dir)
	}
	return printMigration(s, result, g.format)
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
