package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// mirrorProviders makes the engine's init take providers from the store's mirror, when there is one, until the function
// that it gives is called. An image that has its own CLI configuration keeps it, and all that it says about providers.
//
// The engine wants a mirror to be at an https URL. It is the runner that serves it, with a certificate that lives as long
// as the init, and that passes requests on: the engine gets to know neither the store nor the token.
func (a *attempt) mirrorProviders(ctx context.Context) (func(), error) {
	none := func() {}
	if !a.order.Providers || runtime.GOOS != "linux" { // elsewhere no environment tells a program whom to trust
		return none, nil
	}
	env := a.environment()
	if own := ownConfig(env); own != "" {
		fmt.Fprintf(a.text, "providers: as %s says\n", own)
		return none, nil
	}
	dir, err := os.MkdirTemp(a.work.tmp(), "providers-")
	if err != nil {
		return none, err
	}
	m, err := startMirror(ctx, dir, a.client, a.following, a.Log)
	if err != nil {
		return none, errors.Join(fmt.Errorf("mirror of providers: %w", err), os.RemoveAll(dir))
	}
	stop := func() {
		a.proxy.mirror = nil
		m.close()
		_ = os.RemoveAll(dir)
	}
	a.secrets.Add(m.password)
	config := filepath.Join(dir, "cli.tfrc")
	text := cliConfig(m.url, impliedFolders(env, a.module()))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		stop()
		return none, err
	}
	m.env = mirrorEnvironment(env, config, m.trust)
	a.proxy.mirror = m
	return stop, nil
}

// mirrorTimeout is how many seconds the engine waits for an answer about a provider. The store may have to ask the
// provider's registry first, or be away for a moment. It is more than mirrorPatience, or nobody could say why.
const mirrorTimeout = "120"

// mirrorEnvironment gives what leads the engine to the mirror and makes it trust that. What was trusted before still is:
// init fetches modules too.
func mirrorEnvironment(env []string, config, trust string) []string {
	trusted := variable(env, "SSL_CERT_DIR")
	if trusted == "" {
		trusted = "/etc/ssl/certs:/etc/pki/tls/certs" // what Go programs read when nothing is said
	}
	own := []string{"TF_CLI_CONFIG_FILE=" + config, "SSL_CERT_DIR=" + trusted + ":" + trust}
	if variable(env, "TF_REGISTRY_CLIENT_TIMEOUT") == "" {
		own = append(own, "TF_REGISTRY_CLIENT_TIMEOUT="+mirrorTimeout)
	}
	return own
}
