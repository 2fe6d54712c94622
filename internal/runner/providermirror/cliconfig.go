package providermirror

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/runner/process"
)

// OwnConfig returns the CLI configuration that the engine finds by itself in an environment; empty when there is none.
func OwnConfig(env []string) string {
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if file := process.Variable(env, name); file != "" {
			return file
		}
	}
	home, xdg := process.Variable(env, "HOME"), process.Variable(env, "XDG_CONFIG_HOME")
	patterns := []string{
		filepath.Join(home, ".tofurc"), filepath.Join(home, ".terraformrc"),
		filepath.Join(home, ".terraform.d", "*.tfrc"), filepath.Join(home, ".terraform.d", "*.tfrc.json"),
	}
	if xdg != "" {
		xdg = filepath.Join(xdg, "opentofu")
		patterns = append(patterns, filepath.Join(xdg, "tofurc"), filepath.Join(xdg, "*.tfrc"),
			filepath.Join(xdg, "*.tfrc.json"))
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// impliedFolders returns the folders that the engine, started in dir, reads providers from without a configuration,
// as far as they exist.
func impliedFolders(env []string, dir string) []string {
	home, data, shared := process.Variable(env, "HOME"), process.Variable(env, "XDG_DATA_HOME"),
		process.Variable(env, "XDG_DATA_DIRS")
	folders := []string{filepath.Join(dir, "terraform.d", "plugins"), filepath.Join(home, ".terraform.d", "plugins")}
	if data != "" {
		folders = append(folders, filepath.Join(data, "opentofu", "plugins"))
	} else {
		data = filepath.Join(home, ".local", "share")
	}
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	for _, data := range append([]string{data}, filepath.SplitList(shared)...) {
		folders = append(folders, filepath.Join(data, "terraform", "plugins"))
	}
	return slices.DeleteFunc(folders, func(folder string) bool {
		info, err := os.Stat(folder)
		return err != nil || !info.IsDir()
	})
}

// cliConfig returns a configuration with which the engine takes providers from folders, from images, and from a
// mirror or, if there is none, from their registries. A provider that is in a folder is taken from there only,
// whichever versions the mirror has, as the engine does without a configuration.
//
// The engine may put into the lock file what the mirror reports of other platforms than its own: the apply's pod
// may be on one of those.
func cliConfig(mirror string, folders []string, images *Images) string {
	var blocks string
	var found []string
	for _, folder := range folders {
		blocks += method("filesystem_mirror", path(folder))
		found = append(found, providersIn(os.DirFS(folder))...)
	}
	ofImages, imaged := images.methods(found)
	blocks += ofImages
	exclude := list("exclude", slices.Concat(found, imaged))
	if mirror == "" {
		blocks += method("direct", exclude)
	} else {
		blocks += method("network_mirror", "url = "+strconv.Quote(mirror), "trust_all_hashes = true", exclude)
	}
	return "provider_installation {\n" + blocks + "}\n"
}

// method is a block of provider_installation. Arguments that are empty are left out.
func method(kind string, arguments ...string) string {
	text := "  " + kind + " {\n"
	for _, argument := range arguments {
		if argument != "" {
			text += "    " + argument + "\n"
		}
	}
	return text + "  }\n"
}

func path(folder string) string { return "path = " + strconv.Quote(folder) }

// list is an argument with addresses of providers; empty without any.
func list(name string, addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	var quoted []string
	for _, address := range addresses {
		quoted = append(quoted, strconv.Quote(address))
	}
	slices.Sort(quoted)
	return name + " = [" + strings.Join(slices.Compact(quoted), ", ") + "]"
}

// address matches a provider's address that the engine accepts as a pattern. It fails at any other.
var address = regexp.MustCompile(`^[0-9a-z]+([.-][0-9a-z]+)*(:[0-9]+)?(/[0-9a-z]+(-[0-9a-z]+)*){2}$`)

// providersIn returns the addresses of the providers that a folder has, packed or unpacked.
func providersIn(folder fs.FS) []string {
	var found []string
	for _, pattern := range []string{"*/*/*/terraform-provider-*_*_*_*.zip", "*/*/*/*/*_*"} {
		names, _ := fs.Glob(folder, pattern)
		for _, name := range names {
			if provider := strings.Join(strings.Split(name, "/")[:3], "/"); address.MatchString(provider) {
				found = append(found, provider)
			}
		}
	}
	return found
}

// timeout is how many seconds the engine waits for an answer about a provider. The server may have to ask the
// provider's registry first, or be away for a moment. It is more than jsonPatience, so that the mirror can report
// why.
const timeout = "120"

// environment returns the variables that lead the engine to the mirror and let it trust the mirror's certificate.
// What was trusted before still is: init fetches modules too.
func environment(env []string, trust string) []string {
	trusted := process.Variable(env, "SSL_CERT_DIR")
	if trusted == "" {
		trusted = "/etc/ssl/certs:/etc/pki/tls/certs" // what Go programs read without that variable
	}
	own := []string{"SSL_CERT_DIR=" + trusted + ":" + trust}
	if process.Variable(env, "TF_REGISTRY_CLIENT_TIMEOUT") == "" {
		own = append(own, "TF_REGISTRY_CLIENT_TIMEOUT="+timeout)
	}
	return own
}
