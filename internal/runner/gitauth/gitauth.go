// Package gitauth configures git, with which the engine fetches modules, with the credentials for the hosts of
// those modules.
package gitauth

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/source/git/credentials"
)

// Options of Configure.
type Options struct {
	// Dir is an empty folder for the files that git and ssh read.
	Dir string
	// Inputs has the credentials, and Modules are the hosts that they are for.
	Inputs  *os.Root
	Modules []runnerapi.ModuleCredentials
	// Environ is the environment that the engine starts git in.
	Environ []string
}

// Configure returns the variables with which git gets the credentials for the hosts of modules, and the secrets
// among them. Each host's are sent to it alone: git and ssh themselves choose them by the host that they connect
// to, and not by the form of a URL. What the user has configured for git stays as it is.
func Configure(o Options) (env, secrets []string, err error) {
	var settings [][2]string
	var hosts strings.Builder
	for i, module := range o.Modules {
		https, overSSH, err := read(o.Inputs, module)
		if err != nil {
			return nil, secrets, err
		}
		dir := filepath.Join(o.Dir, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, secrets, err
		}
		if header := https.Authorization(); header != "" {
			_, secret, _ := strings.Cut(header, " ")
			secrets = append(secrets, secret)
			settings = append(settings, headerFor(module.Host, header)...)
		}
		if len(https.CA) > 0 {
			ca := filepath.Join(dir, "ca.crt")
			if err := os.WriteFile(ca, https.CA, 0o600); err != nil {
				return nil, secrets, fmt.Errorf("write the credentials for %s: %w", module.Host, err)
			}
			settings = append(settings, [2]string{"http.https://" + module.Host + "/.sslCAInfo", ca})
		}
		if len(overSSH.Identity) > 0 {
			block, err := writeIdentity(dir, module.Host, overSSH)
			if err != nil {
				return nil, secrets, fmt.Errorf("write the credentials for %s: %w", module.Host, err)
			}
			hosts.WriteString(block)
		}
	}
	if env, err = gitSettings(o.Environ, settings); err != nil || hosts.Len() == 0 {
		return env, secrets, err
	}
	if process.Variable(o.Environ, "GIT_SSH_COMMAND") != "" || process.Variable(o.Environ, "GIT_SSH") != "" {
		return env, secrets, nil
	}
	config := filepath.Join(o.Dir, "ssh_config")
	env = append(env, "GIT_SSH_COMMAND=ssh -F '"+strings.ReplaceAll(config, "'", `'\''`)+"'")
	return env, secrets, os.WriteFile(config, []byte(hosts.String()+sshDefaults), 0o600)
}

// read reads the files of a host's credentials.
func read(inputs *os.Root, module runnerapi.ModuleCredentials) (https, overSSH credentials.Auth, err error) {
	reject := func(reason string) (credentials.Auth, credentials.Auth, error) {
		return https, overSSH,
			&engine.Rejection{Reason: fmt.Sprintf("credentials for modules of %q: %s", module.Host, reason)}
	}
	if !plainHost(module.Host) {
		return reject("that is no host, or host:port")
	}
	names, err := workspace.List(inputs, module.Dir)
	if err != nil {
		return reject("the Secret was not found")
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := workspace.Read(inputs, path.Join(module.Dir, name))
		if err != nil {
			return https, overSSH, fmt.Errorf("credentials for modules of %s: %w", module.Host, err)
		}
		files[name] = data
	}
	secret, err := credentials.Parse(files)
	if err != nil {
		return reject(err.Error())
	}
	if https, overSSH, err = secret.ForHost(); err != nil {
		return reject(err.Error())
	}
	return https, overSSH, nil
}

// plainHost rejects what git or ssh would read as a pattern, or as more than a host.
func plainHost(host string) bool {
	name, port, hasPort := strings.Cut(host, ":")
	if _, err := strconv.ParseUint(port, 10, 16); hasPort && err != nil {
		return false
	}
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-'
	})
}

// headerFor returns the settings by which git sends the header to a host, over https only. It must not follow a
// redirect then: it would send the same header to wherever that leads.
func headerFor(host, authorization string) [][2]string {
	url := "http.https://" + host + "/."
	return [][2]string{{url + "extraHeader", "Authorization: " + authorization}, {url + "followRedirects", "false"}}
}

// gitSettings returns the variables that add settings to those that environ has already.
func gitSettings(environ []string, settings [][2]string) ([]string, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	first := 0
	if text := process.Variable(environ, "GIT_CONFIG_COUNT"); text != "" {
		var err error
		if first, err = strconv.Atoi(text); err != nil || first < 0 {
			return nil, &engine.Rejection{Reason: fmt.Sprintf("GIT_CONFIG_COUNT is %q: it has to be a number", text)}
		}
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", first+len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", first+i, s[0]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", first+i, s[1]))
	}
	return env, nil
}

// sshDefaults follow all hosts: ssh reads no other file once it is given one, and uses the first value it finds.
const sshDefaults = `Match all
  Include ~/.ssh/config
  Include /etc/ssh/ssh_config
`

// writeIdentity writes the files that ssh needs for a host, and returns the lines that name them. They have no port:
// that is in the URL and in known_hosts.
func writeIdentity(dir, host string, known credentials.Auth) (string, error) {
	plain, err := known.PlainIdentity()
	if err != nil {
		return "", err
	}
	identity, knownHosts := filepath.Join(dir, "identity"), filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(identity, plain, 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(knownHosts, known.KnownHosts, 0o600); err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(host, ":")
	return fmt.Sprintf(`Host %s
  IdentityFile "%s"
  IdentitiesOnly yes
  UserKnownHostsFile "%s"
  StrictHostKeyChecking yes
  BatchMode yes
`, strings.ToLower(name), identity, knownHosts), nil
}
