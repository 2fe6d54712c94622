package imagebuild

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// Secrets returns the secret values of the credentials for the registry.
func Secrets(inputs *os.Root, b runnerapi.Build) ([]string, error) {
	data, err := workspace.Read(inputs, path.Join(b.PushDir, runnerapi.DockerConfig))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &engine.Rejection{Reason: fmt.Sprintf("Secret %s was not found, or has no key .dockerconfigjson: "+
			"it has to be of type kubernetes.io/dockerconfigjson", b.PushSecret)}
	}
	if err != nil {
		return nil, err
	}
	secrets, err := secretsIn(data)
	if err != nil {
		return nil, &engine.Rejection{Reason: fmt.Sprintf("Secret %s: .dockerconfigjson is not what docker login "+
			"writes", b.PushSecret)}
	}
	return secrets, nil
}

// secretsIn returns the secret values of a docker config.
func secretsIn(data []byte) ([]string, error) {
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
