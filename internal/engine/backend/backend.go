// Package backend knows the engines' own backends, which store a state in place of Cairn: which arguments each
// needs, which of them are secret, and how to create what it stores states in. The engine itself reads, writes and
// locks. A backend that is not in the list works too, without checks.
package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
)

// Config has a backend's arguments.
type Config struct {
	// Values are its arguments, any JSON value each.
	Values map[string]json.RawMessage
	// Secrets are those that come from Secrets; they win.
	Secrets map[string]string
	// More: there are arguments, or environment variables, that are not known here.
	More bool
	// Env are the names of the environment variables that are known to be set.
	Env []string
	// Create asks for Ensure.
	Create bool
}

// Beside splits a Config where the code has a backend block of that type too, whose arguments win: whole is what
// the engine works with, rest what it needs beside the block. A block that has all that the backend needs is taken
// alone. A nil argument of the block is one whose value is not known here: then whole has no Create.
func (c Config) Beside(p Plugin, block map[string]json.RawMessage) (whole, rest Config) {
	rest = c
	rest.Values, rest.Secrets = maps.Clone(c.Values), maps.Clone(c.Secrets)
	if p.Enough(block) {
		rest.Values, rest.Secrets = nil, nil
	}
	for name := range block {
		delete(rest.Values, name)
		delete(rest.Secrets, name)
	}
	whole = rest
	whole.Values = map[string]json.RawMessage{}
	maps.Copy(whole.Values, rest.Values)
	for name, value := range block {
		if value == nil {
			whole.Create = false
			continue
		}
		whole.Values[name] = value
	}
	return whole, rest
}

// Plugin is a kind of backend.
type Plugin interface {
	// Name as in the code's backend block.
	Name() string
	// Validate checks a Config, as far as that is possible without a request to the backend.
	Validate(Config) error
	// Enough reports whether a backend block has all arguments that the backend needs.
	Enough(block map[string]json.RawMessage) bool
	// Ensure creates what the backend stores states in, where it is missing, and returns a line for each resource
	// that it created. It changes none that exists. environ has the credentials that the engine would use.
	Ensure(ctx context.Context, c Config, environ []string) (made []string, err error)
}

// All is the one list of the backends that Cairn knows something about.
var All = []Plugin{
	s3{plain{
		name: "s3", needs: []need{{"bucket", ""}, {"key", ""}},
		secret: []string{"secret_key", "token", "sse_customer_key"},
	}},
	plain{name: "gcs", needs: []need{{"bucket", ""}}, secret: []string{"access_token", "encryption_key"}},
	plain{
		name: "azurerm", needs: []need{{"storage_account_name", ""}, {"container_name", ""}, {"key", ""}},
		secret: []string{"access_key", "sas_token", "client_secret", "client_certificate",
			"client_certificate_password", "oidc_token", "oidc_request_token"},
	},
	plain{name: "kubernetes", needs: []need{{"secret_suffix", ""}},
		secret: []string{"token", "password", "client_key"}},
	plain{name: "pg", secret: []string{"conn_str"}},
	plain{name: "http", needs: []need{{"address", "TF_HTTP_ADDRESS"}},
		secret: []string{"password", "client_private_key_pem"}},
	plain{name: "consul", needs: []need{{"path", ""}}, secret: []string{"access_token", "http_auth"}},
}

// Of returns the backend of a type. One that is not in the list accepts any arguments.
func Of(name string) Plugin {
	if i := slices.IndexFunc(All, func(p Plugin) bool { return p.Name() == name }); i >= 0 {
		return All[i]
	}
	return plain{name: name}
}

// plain is a backend of which only the names of arguments are known.
type plain struct {
	name  string
	needs []need
	// secret are the arguments that do not belong into a Stack, where all who may read Stacks read them.
	secret []string
}

// need is an argument that has to be there, or an environment variable in its place.
type need struct{ argument, env string }

func (p plain) Name() string { return p.name }

func (p plain) Validate(c Config) error {
	if why := engine.ForbiddenBackend(p.name); why != "" {
		return fmt.Errorf("%s: take another", why)
	}
	if c.Create {
		return fmt.Errorf("create: Cairn creates buckets for s3 only; create what backend %s needs, and remove "+
			"create", p.name)
	}
	return p.check(c)
}

func (p plain) check(c Config) error {
	for _, name := range p.secret {
		if _, ok := c.Values[name]; ok {
			return fmt.Errorf("config.%s is a secret, and all users who may read the Stack would read it: "+
				"put it into a Secret, which configFrom names", name)
		}
	}
	for _, n := range p.needs {
		_, value := c.Values[n.argument]
		_, secret := c.Secrets[n.argument]
		if !value && !secret && !c.More && (n.env == "" || !slices.Contains(c.Env, n.env)) {
			return fmt.Errorf("backend %s needs config.%s", p.name, n.argument)
		}
	}
	return nil
}

func (p plain) Enough(block map[string]json.RawMessage) bool {
	lacks := func(n need) bool { _, ok := block[n.argument]; return !ok }
	return len(block) > 0 && !slices.ContainsFunc(p.needs, lacks)
}

func (p plain) Ensure(context.Context, Config, []string) ([]string, error) { return nil, nil }

// Render returns the file of arguments for the engine's init, in the JSON form of its language. Its name has to end
// in .json.
func Render(c Config) ([]byte, error) {
	file := map[string]any{}
	for name, raw := range c.Values {
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
		file[name] = literal(value)
	}
	for name, value := range c.Secrets {
		file[name] = literal(value)
	}
	return json.Marshal(file)
}

// literal is a value that means itself: in this form of the language strings are templates.
func literal(value any) any {
	switch v := value.(type) {
	case string:
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v)
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = literal(one)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all[literal(name).(string)] = literal(v[name])
		}
		return all
	}
	return value
}
