package attempt

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/backend"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/workspace"
)

// backendFile writes the backend's arguments to a file that only the engine reads, creates the backend if the Stack
// requires it, and returns the file; empty when there are no arguments.
func (a *attempt) backendFile(ctx context.Context) (string, error) {
	if !a.backend().Own() {
		return "", nil
	}
	if process.Variable(a.Environ, "TF_ENCRYPTION") != "" {
		return "", &engine.Rejection{Reason: "TF_ENCRYPTION has the engine encrypt the state, and Cairn's copy of what is in " +
			"spec.backend would be in clear: leave one of the two out"}
	}
	config, err := a.backendConfig()
	if err != nil {
		return "", err
	}
	if config, err = a.createBackend(ctx, config); err != nil {
		return "", err
	}
	if len(config.Values)+len(config.Secrets) == 0 {
		return "", nil
	}
	text, err := backend.Render(config)
	if err != nil {
		return "", &engine.Rejection{Reason: "spec.backend: " + err.Error()}
	}
	return a.work.BackendConfig(), os.WriteFile(a.work.BackendConfig(), text, 0o600)
}

// backendConfig reads the arguments. Those from Secrets are added to the redactor, and so are passwords in them.
func (a *attempt) backendConfig() (backend.Config, error) {
	b := a.order.Backend
	config := backend.Config{Values: b.Config, Secrets: map[string]string{}, Create: b.Create}
	for _, pair := range a.Environ {
		name, _, _ := strings.Cut(pair, "=")
		config.Env = append(config.Env, name)
	}
	if len(b.ConfigDirs) == 0 {
		return config, nil
	}
	inputs, err := a.work.OpenInputs(a.Inputs)
	if err != nil {
		return config, err
	}
	defer inputs.Close() //nolint:errcheck // only read
	for _, dir := range b.ConfigDirs {
		names, err := workspace.List(inputs, dir)
		if err != nil {
			return config, fmt.Errorf("arguments of the backend in %s: %w", dir, err)
		}
		for _, name := range names {
			data, err := workspace.Read(inputs, path.Join(dir, name))
			if err != nil {
				return config, err
			}
			config.Secrets[name] = string(data)
			a.secrets.Add(string(data))
			a.secrets.Add(passwords(string(data))...)
		}
	}
	return config, nil
}

// keyedPassword matches a password in PostgreSQL's keyword form of a connection.
var keyedPassword = regexp.MustCompile(`\bpassword\s*=\s*('[^']*'|\S+)`)

// passwords returns those in the URL of a server, or in PostgreSQL's list of settings.
func passwords(value string) (found []string) {
	if at, err := url.Parse(value); err == nil && at.User != nil {
		if password, ok := at.User.Password(); ok {
			found = append(found, password, url.QueryEscape(password), url.PathEscape(password))
		}
	}
	for _, match := range keyedPassword.FindAllStringSubmatch(value, -1) {
		found = append(found, strings.Trim(match[1], "'"))
	}
	return found
}

// createBackend creates what is missing where the state is kept, if the Stack requires it, and returns the
// arguments for the engine: those that the code's own block leaves out.
func (a *attempt) createBackend(ctx context.Context, config backend.Config) (backend.Config, error) {
	kind := a.order.Backend.Type
	switch {
	case kind == "": // with the block of the code, whatever it is
		return config, nil
	case a.inCode != nil && a.inCode.Type != kind: // spec.backend has another type
		return backend.Config{}, nil
	}
	plugin := backend.Of(kind)
	if err := plugin.Validate(config); err != nil {
		return config, &engine.Rejection{Reason: "spec.backend: " + err.Error()}
	}
	whole, rest := config, config
	if a.inCode != nil {
		whole, rest = config.Beside(plugin, a.inCode.Arguments)
		if config.Create && !whole.Create {
			fmt.Fprintf(a.text, "spec.backend.create: nothing is created, since %s has arguments that are not literals\n",
				a.clean(a.inCode.At))
		}
	}
	if !whole.Create {
		return rest, nil
	}
	made, err := plugin.Ensure(ctx, whole, a.Environ)
	for _, what := range made {
		fmt.Fprintf(a.text, "backend %s: %s\n", plugin.Name(), a.clean(what))
	}
	if said, ok := errors.AsType[*backend.Error](err); ok && said.ForUser() {
		return rest, &engine.Rejection{Reason: fmt.Sprintf("spec.backend.create: %s", a.clean(said.Error()))}
	}
	if err != nil {
		return rest, fmt.Errorf("spec.backend.create: %w", err)
	}
	return rest, nil
}
