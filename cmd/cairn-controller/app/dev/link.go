package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/base/signinlink"
)

// linksDir is the directory of the links in the data directory, and signInFile what `cairn dev link` creates them from.
const linksDir, signInFile = "links", "signin.json"

// signIn is how an administrator of the cluster signs in to the web UI; without one its URL is empty. Its file is as
// secret as the kubeconfig beside it.
type signIn struct {
	WebURL string `json:"webURL"`
	Token  string `json:"token"`
}

// write writes the file in a data directory.
func (s signIn) write(data string) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, signInFile), content, 0o600)
}

// link returns a link to the web UI that signs in once.
func (s signIn) link(links string) (string, error) {
	path, err := signinlink.New(links, s.Token)
	return s.WebURL + path, err
}

func linkCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "link",
		Short: "Print a new link that signs you in to the web UI of a running `cairn dev`",
		Long: `Prints a link to the web UI of a ` + "`cairn dev` or `cairn demo`" +
			` that runs on this machine. It signs you in once,
within ten minutes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				data = filepath.Dir(os.Getenv("KUBECONFIG"))
			}
			content, err := os.ReadFile(filepath.Join(data, signInFile))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is not the data directory of a `cairn dev`: set --data, or export KUBECONFIG as "+
					"`cairn dev` prints it", data)
			}
			if err != nil {
				return err
			}
			var in signIn
			if err := json.Unmarshal(content, &in); err != nil {
				return fmt.Errorf("read %s of %s: %w", signInFile, data, err)
			}
			if in.WebURL == "" {
				return errors.New("this `cairn dev` has no web UI at a loopback address")
			}
			link, err := in.link(filepath.Join(data, linksDir))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), link)
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "data directory of the `cairn dev`; default: the directory of KUBECONFIG")
	return cmd
}
