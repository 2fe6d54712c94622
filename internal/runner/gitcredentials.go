package runner

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// prepareGit makes git, which the engine fetches modules with, known to the hosts that the order has credentials for. Each
// host's are shown to it alone: git and ssh themselves choose them by the host that they are about to speak to, and not by
// what a URL looks like. What the user has set for git stays as it is.
func (a *attempt) prepareGit() error {
	a.gitEnv = nil
	if len(a.order.ModuleCredentials) == 0 {
		return nil
	}
	inputs, err := a.openInputs()
	if err != nil {
		return err
	}
	defer inputs.Close() //nolint:errcheck // only read
	var settings [][2]string
	var hosts strings.Builder
	for i, module := range a.order.ModuleCredentials {
		known, err := readGitCredentials(inputs, module)
		if err != nil {
			return err
		}
		if known.authorization != "" {
			_, secret, _ := strings.Cut(known.authorization, " ")
			a.secrets.Add(secret)
			settings = append(settings, headerFor(module.Host, known.authorization)...)
		}
		if known.identity != "" {
			block, err := writeIdentity(filepath.Join(a.work.git(), strconv.Itoa(i)), module.Host, known)
			if err != nil {
				return fmt.Errorf("keep the credentials for %s: %w", module.Host, err)
			}
			hosts.WriteString(block)
		}
	}
	if a.gitEnv, err = gitSettings(a.Environ, settings); err != nil || hosts.Len() == 0 {
		return err
	}
	if variable(a.Environ, "GIT_SSH_COMMAND") != "" || variable(a.Environ, "GIT_SSH") != "" {
		return nil
	}
	config := filepath.Join(a.work.git(), "ssh_config")
	a.gitEnv = append(a.gitEnv, "GIT_SSH_COMMAND=ssh -F '"+strings.ReplaceAll(config, "'", `'\''`)+"'")
	return os.WriteFile(config, []byte(hosts.String()+sshDefaults), 0o600)
}

// readGitCredentials reads the files of a host's credentials.
func readGitCredentials(inputs *os.Root, module store.ModuleCredentials) (gitCredentials, error) {
	refuse := func(reason string) error {
		return &engine.Refused{Reason: fmt.Sprintf("credentials for modules of %q: %s", module.Host, reason)}
	}
	if !plainHost(module.Host) {
		return gitCredentials{}, refuse("that is no host, or host:port")
	}
	names, err := listInputs(inputs, module.Dir)
	if err != nil {
		return gitCredentials{}, refuse("the Secret is not there")
	}
	files := map[string]string{}
	for _, name := range names {
		data, err := readInput(inputs, path.Join(module.Dir, name))
		if err != nil {
			return gitCredentials{}, fmt.Errorf("credentials for modules of %s: %w", module.Host, err)
		}
		files[name] = string(data)
	}
	known, reason := parseGitCredentials(files)
	if reason != "" {
		return gitCredentials{}, refuse(reason)
	}
	return known, nil
}

// plainHost refuses what git or ssh would take for a pattern, or for more than a host.
func plainHost(host string) bool {
	name, port, hasPort := strings.Cut(host, ":")
	if _, err := strconv.ParseUint(port, 10, 16); hasPort && err != nil {
		return false
	}
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-'
	})
}

// headerFor makes git say who we are to a host, over https only. It must not follow a redirect then: it would show the same
// header to wherever that leads.
func headerFor(host, authorization string) [][2]string {
	url := "http.https://" + host + "/."
	return [][2]string{{url + "extraHeader", "Authorization: " + authorization}, {url + "followRedirects", "false"}}
}

// gitSettings gives the variables that make settings git's, beside those that environ has already.
func gitSettings(environ []string, settings [][2]string) ([]string, error) {
	if len(settings) == 0 {
		return nil, nil
	}
	first := 0
	if text := variable(environ, "GIT_CONFIG_COUNT"); text != "" {
		var err error
		if first, err = strconv.Atoi(text); err != nil || first < 0 {
			return nil, &engine.Refused{Reason: fmt.Sprintf("GIT_CONFIG_COUNT is %q: it has to be a number", text)}
		}
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", first+len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", first+i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", first+i, s[1]))
	}
	return env, nil
}

// sshDefaults stand behind all hosts: ssh reads no other file once it is given one, and takes the first value it finds.
const sshDefaults = `Match all
  Include ~/.ssh/config
  Include /etc/ssh/ssh_config
`

// writeIdentity keeps what ssh needs for a host in files, and gives the lines that name them. A port is not in them: it is
// the URL that has it, and known_hosts.
func writeIdentity(dir, host string, known gitCredentials) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	identity, knownHosts := filepath.Join(dir, "identity"), filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(identity, []byte(known.identity), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(knownHosts, []byte(known.knownHosts), 0o600); err != nil {
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
