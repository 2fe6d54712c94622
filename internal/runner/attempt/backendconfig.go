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
func (s *initStep) backendFile(ctx context.Context) (string, error) {
	if !s.backend().Own() {
		return "", nil
	}
	if process.Variable(s.Environ, "TF_ENCRYPTION") != "" {
		return "", &engine.Rejection{Reason: "TF_ENCRYPTION has the engine encrypt the state, and Cairn's copy of " +
			"what is in spec.backend would be in clear: leave one of the two out"}
	}
	config, err := s.backendConfig()
	if err != nil {
		return "", err
	}
	if config, err = s.createBackend(ctx, config); err != nil {
		return "", err
	}
	if len(config.Values)+len(config.Secrets) == 0 {
		return "", nil
	}
	text, err := backend.Render(config)
	if err != nil {
		return "", &engine.Rejection{Reason: "spec.backend: " + err.Error()}
	}
	return s.work.BackendConfig(), os.WriteFile(s.work.BackendConfig(), text, 0o600)
}

// backendConfig reads the arguments. Those from Secrets are added to the redactor, and so are passwords in them.
func (s *initStep) backendConfig() (backend.Config, error) {
	b := s.order.Backend
	config := backend.Config{Values: b.Config, Secrets: map[string]string{}, Create: b.Create}
	for _, pair := range s.Environ {
		name, _, _ := strings.Cut(pair, "=")
		config.Env = append(config.Env, name)
	}
	if len(b.ConfigDirs) == 0 {
		return config, nil
	}
	inputs, err := s.work.OpenInputs(s.Inputs)
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
			s.secrets.Add(string(data))
			s.secrets.Add(passwords(string(data))...)
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
func (s *initStep) createBackend(ctx context.Context, config backend.Config) (backend.Config, error) {
	kind := s.order.Backend.Type
	switch {
	case kind == "": // with the block of the code, whatever it is
		return config, nil
	case s.inCode != nil && s.inCode.Type != kind: // spec.backend has another type
		return backend.Config{}, nil
	}
	plugin := backend.Of(kind)
	if err := plugin.Validate(config); err != nil {
		return config, &engine.Rejection{Reason: "spec.backend: " + err.Error()}
	}
	whole, rest := config, config
	if s.inCode != nil {
		whole, rest = config.Beside(plugin, s.inCode.Arguments)
		if config.Create && !whole.Create {
			fmt.Fprintf(s.text, "spec.backend.create: nothing is created, since %s has arguments that are "+
				"not literals\n",
				s.clean(s.inCode.At))
		}
	}
	if !whole.Create {
		return rest, nil
	}
	made, err := plugin.Ensure(ctx, whole, s.Environ)
	for _, what := range made {
		fmt.Fprintf(s.text, "backend %s: %s\n", plugin.Name(), s.clean(what))
	}
	if said, ok := errors.AsType[*backend.Error](err); ok && said.ForUser() {
		return rest, &engine.Rejection{Reason: fmt.Sprintf("spec.backend.create: %s", s.clean(said.Error()))}
	}
	if err != nil {
		return rest, fmt.Errorf("spec.backend.create: %w", err)
	}
	return rest, nil
}
