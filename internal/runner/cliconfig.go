package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ownConfig gives the CLI configuration that the engine would find by itself in an environment, or "".
func ownConfig(env []string) string {
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if file := variable(env, name); file != "" {
			return file
		}
	}
	home, xdg := variable(env, "HOME"), variable(env, "XDG_CONFIG_HOME")
	patterns := []string{
		filepath.Join(home, ".tofurc"), filepath.Join(home, ".terraformrc"),
		filepath.Join(home, ".terraform.d", "*.tfrc"), filepath.Join(home, ".terraform.d", "*.tfrc.json"),
	}
	if xdg != "" {
		xdg = filepath.Join(xdg, "opentofu")
		patterns = append(patterns, filepath.Join(xdg, "tofurc"), filepath.Join(xdg, "*.tfrc"), filepath.Join(xdg, "*.tfrc.json"))
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// impliedFolders gives the folders that the engine, started in dir, would look for providers in if nobody told it where
// to, as far as they are there.
func impliedFolders(env []string, dir string) []string {
	home, data, shared := variable(env, "HOME"), variable(env, "XDG_DATA_HOME"), variable(env, "XDG_DATA_DIRS")
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

// cliConfig tells the engine to take providers from folders and from a mirror. A provider that is in a folder is taken
// from there only, whichever versions the mirror has, as the engine does it when nobody tells it anything.
//
// The engine may put into the lock file what the mirror says of other platforms than its own: the apply's pod may be on
// one of those.
func cliConfig(mirror string, folders []string) string {
	var text strings.Builder
	text.WriteString("provider_installation {\n")
	var there []string
	for _, folder := range folders {
		fmt.Fprintf(&text, "  filesystem_mirror {\n    path = %q\n  }\n", folder)
		there = append(there, providersIn(os.DirFS(folder))...)
	}
	fmt.Fprintf(&text, "  network_mirror {\n    url = %q\n    trust_all_hashes = true\n", mirror)
	if len(there) > 0 {
		slices.Sort(there)
		fmt.Fprintf(&text, "    exclude = [%s]\n", strings.Join(slices.Compact(there), ", "))
	}
	text.WriteString("  }\n}\n")
	return text.String()
}

// address is one of a provider that the engine takes as a pattern. It ends its work at any other.
var address = regexp.MustCompile(`^[0-9a-z]+([.-][0-9a-z]+)*(:[0-9]+)?(/[0-9a-z]+(-[0-9a-z]+)*){2}$`)

// providersIn gives the addresses, in quotes, of the providers that a folder has, packed or unpacked.
func providersIn(folder fs.FS) []string {
	var found []string
	for _, pattern := range []string{"*/*/*/terraform-provider-*_*_*_*.zip", "*/*/*/*/*_*"} {
		paths, _ := fs.Glob(folder, pattern)
		for _, path := range paths {
			if provider := strings.Join(strings.Split(path, "/")[:3], "/"); address.MatchString(provider) {
				found = append(found, `"`+provider+`"`)
			}
		}
	}
	return found
}
