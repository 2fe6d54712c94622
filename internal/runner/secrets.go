package runner

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// largestInput is how large a file below the inputs folder may be. Kubernetes allows 1 MiB.
const largestInput = 8 << 20

// learn makes the redactor know what the order says is secret. What it cannot read is no reason to fail here: the engine
// cannot have read it either, or the step that needs it says so.
func (a *attempt) learn() {
	a.secrets.Add(a.token())
	for _, pair := range a.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(a.order.SecretEnv, name) {
			a.secrets.Add(value)
			if strings.HasPrefix(name, "TF_VAR_") { // the engine shows such a value piece by piece
				a.secrets.Add(redact.Expression(value)...)
			}
		}
	}
	inputs, err := a.openInputs()
	if err != nil {
		return
	}
	defer inputs.Close() //nolint:errcheck // only read
	for _, dir := range a.order.SecretDirs {
		names, err := listInputs(inputs, dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if data, err := readInput(inputs, path.Join(dir, name)); err == nil {
				a.secrets.Add(string(data))
			}
		}
	}
}

// learnPush makes the credentials of a build secret, and gives where they are; empty when it has none.
func (a *attempt) learnPush() (dir string, err error) {
	b := a.order.Build
	if b.PushDir == "" {
		return "", nil
	}
	inputs, err := a.openInputs()
	if err != nil {
		return "", err
	}
	defer inputs.Close() //nolint:errcheck // only read
	data, err := readInput(inputs, path.Join(b.PushDir, store.DockerConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return "", &engine.Refused{Reason: fmt.Sprintf("Secret %s is not there, or has no key .dockerconfigjson: it has to be of type kubernetes.io/dockerconfigjson", b.PushSecret)}
	}
	if err != nil {
		return "", err
	}
	secrets, err := pushSecrets(data)
	if err != nil {
		return "", &engine.Refused{Reason: fmt.Sprintf("Secret %s: .dockerconfigjson is not what docker login writes", b.PushSecret)}
	}
	a.secrets.Add(secrets...)
	return filepath.Join(a.Inputs, filepath.FromSlash(b.PushDir)), nil
}

// pushSecrets are the values of a docker config that nobody may see.
func pushSecrets(data []byte) ([]string, error) {
	var config struct {
		Auths map[string]struct{ Auth, Password, IdentityToken, RegistryToken string } `json:"auths"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, err
	}
	secrets := []string{string(data)}
	for _, a := range config.Auths {
		secrets = append(secrets, a.Auth, a.Password, a.IdentityToken, a.RegistryToken)
		if plain, err := base64.StdEncoding.DecodeString(a.Auth); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			secrets = append(secrets, string(plain), password)
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" }), nil
}

// learnFile makes the values of a variable file secret.
func (a *attempt) learnFile(name string, data []byte) {
	a.secrets.Add(redact.Values(name, data)...)
}

// openInputs opens the inputs folder. A pod that reads nothing has nothing mounted there: then it is one that has no
// folders, so that whatever is looked for is missing.
func (a *attempt) openInputs() (*os.Root, error) {
	inputs, err := os.OpenRoot(a.Inputs)
	if errors.Is(err, fs.ErrNotExist) {
		return os.OpenRoot(a.work.values())
	}
	return inputs, err
}

// listInputs gives the names of the files in a folder below the inputs folder, sorted. What begins with ".." is the
// kubelet's: the folders that it swaps when an object changes.
func listInputs(inputs *os.Root, dir string) ([]string, error) {
	entries, err := fs.ReadDir(inputs.FS(), path.Clean(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		info, err := inputs.Stat(path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// readInput reads a file below the inputs folder, or below that of the code. Its links may not lead out of it.
func readInput(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, largestInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > largestInput {
		return nil, fmt.Errorf("read %s: %w", name, errors.New("it is too large"))
	}
	return data, nil
}
