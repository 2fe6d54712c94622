package convert

import (
	"fmt"
	"regexp"
	"strings"
)

// Notes on Secrets that the user has to create have commands without values: these read a value from a file, or from
// the Secret that has it.

// safeWord needs no quotes in a shell.
var safeWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// Quote returns a text as one word of a shell, whatever is in it.
func Quote(text string) string {
	if safeWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Kubectl is a command of kubectl in the namespace of an object.
func Kubectl(namespace, format string, args ...any) string {
	return inNamespace("kubectl", namespace, format, args...)
}

// Cairn is a command of cairn in the namespace of an object: in another one there may be a Stack of the same name.
func Cairn(namespace, format string, args ...any) string {
	return inNamespace("cairn", namespace, format, args...)
}

func inNamespace(program, namespace, format string, args ...any) string {
	if namespace != "" {
		program += " -n " + Quote(namespace)
	}
	return program + " " + fmt.Sprintf(format, args...)
}

// FileFromSecret is a process substitution that reads a key of a Secret; the value is on no command line.
func FileFromSecret(namespace, secret, key string) string {
	return "<(" + Kubectl(namespace, "get secret %s -o go-template=%s", Quote(secret),
		Quote(fmt.Sprintf("{{index .data %q | base64decode}}", key))) + ")"
}

// CreateSecret is the command that creates a Secret from files.
func CreateSecret(namespace, name string, files ...string) string {
	var out strings.Builder
	out.WriteString(Kubectl(namespace, "create secret generic %s", Quote(name)))
	for i := 0; i+1 < len(files); i += 2 {
		from := files[i+1]
		if !strings.HasPrefix(from, "<(") {
			from = Quote(from)
		}
		out.WriteString(" --from-file=" + Quote(files[i]) + "=" + from)
	}
	return out.String()
}

// KnownHosts is where the keys of an SSH server come from.
func KnownHosts(host string) string { return "<(ssh-keyscan " + Quote(host) + ")" }
