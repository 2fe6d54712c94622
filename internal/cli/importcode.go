package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/migrate"
)

// importing are the flags of import.
type importing struct{ repository, ref, format string }

func importCommand(s *session) *cobra.Command {
	var i importing
	cmd := &cobra.Command{
		Use:   "import DIR",
		Short: "Make a Stack for each root module in a folder",
		Long: `Looks for root modules in DIR and all below it and makes a Stack for each, and one Repository; it changes nothing. Manifests go to
standard output, and to standard error what was found, what was left out and why, and what is to do.

A root module is a folder with code that has a backend block, or that no other folder calls as a module; with a terragrunt.hcl that names code it is
run by Terragrunt. Where the code has a backend block the state stays there (backend: {fromCode: true}); where it has none Cairn keeps the state.

The repository's URL is that of git's remote origin, unless --repository says another. Plans wait for an approval (apply: Manual), and deleting a
Stack leaves all that it made (deletion: Orphan), until you write something else.`,
		Example: s.examples(`
			cairn import . > stacks.yaml
			cairn import envs/prod -n prod
			cairn import . --repository https://git.example.com/acme/infra.git --ref main`),
		Args: s.takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(i.format, formatJSON, formatYAML); err != nil {
				return err
			}
			return s.importCode(cmd.Context(), args[0], i)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.repository, "repository", "", "URL of the repository, as in https://git.example.com/acme/infra.git; default: that of git's remote origin")
	f.StringVar(&i.ref, "ref", "", "branch, tag or commit of the Repository; default: the remote's default branch")
	f.StringVarP(&i.format, "output", "o", "", "json or yaml: one document with objects and notes on standard output")
	return cmd
}

func (s *session) importCode(ctx context.Context, dir string, i importing) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	code := migrate.Code{Files: os.DirFS(dir), URL: i.repository, Ref: i.ref}
	if s.flags.Namespace != nil {
		code.Namespace = *s.flags.Namespace
	}
	// Where DIR is in the repository counts also when its URL is given.
	prefix, err := gitAnswer(ctx, dir, "rev-parse", "--show-prefix")
	if err == nil {
		code.Folder = path.Clean("/" + prefix)[1:]
	} else if code.URL == "" {
		return fmt.Errorf("%s is in no git repository (%w): say which it is with --repository, and give the folder that is its root", dir, err)
	}
	if code.URL == "" {
		if code.URL, err = gitAnswer(ctx, dir, "remote", "get-url", "origin"); err != nil {
			return fmt.Errorf("git knows no remote origin (%w): say the repository's URL with --repository", err)
		}
	}
	result, err := migrate.Import(code)
	var address *migrate.AddressError
	if errors.As(err, &address) && i.repository == "" {
		return fmt.Errorf("%w; it is that of git's remote origin: give the URL that the cluster fetches from with --repository URL", err)
	}
	if err != nil {
		return err
	}
	if len(result.Stacks) == 0 {
		s.note("No root module is in %s.", dir)
	}
	return s.printMigration(result, i.format)
}

// gitAnswers is how long git may take for a question about a folder.
const gitAnswers = 30 * time.Second

// gitAnswer is what git says about a folder.
func gitAnswer(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitAnswers)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return "", errors.New(line)
	}
	return strings.TrimSpace(string(out)), err
}
