package runner

import (
	"os"
	"slices"
	"strings"
)

// dropped are variables that would make the engine do something else than it was told. TF_DATA_DIR would put what init
// prepares where apply in another pod does not look; TF_WORKSPACE would name another state, and a Stack has one.
var dropped = []string{"TF_DATA_DIR", "TF_WORKSPACE", "TF_HTTP_ADDRESS", "TF_HTTP_USERNAME", "TF_HTTP_PASSWORD"}

// environment gives what the engine, and all that it starts, gets: the container's variables but for Cairn's own, and
// those that make it quiet and lead it to the state.
func (a *attempt) environment() []string {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "CAIRN_") || strings.HasPrefix(name, "TF_HTTP_") || slices.Contains(dropped, name)
	})
	own := []string{
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"CAIRN_NAMESPACE=" + a.order.Namespace,
		"CAIRN_STACK=" + a.order.Stack,
		"CAIRN_RUN=" + a.order.Run,
		"HOME=" + a.home(),
	}
	if variable(env, "TMPDIR") == "" {
		own = append(own, "TMPDIR="+a.work.tmp())
	}
	return append(append(env, own...), a.proxy.environment()...)
}

// home is the container's HOME if something can be written to it, and otherwise one of our own: an image's user may have
// none, or / .
func (a *attempt) home() string {
	home := variable(a.Environ, "HOME")
	if home == "" || home == "/" {
		return a.work.home()
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return a.work.home()
	}
	probe, err := os.CreateTemp(home, ".cairn-")
	if err != nil {
		return a.work.home()
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return home
}

// variable gives the value that a program would see: the last one.
func variable(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}
