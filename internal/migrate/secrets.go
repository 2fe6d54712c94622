package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What a person has to make is said as commands that hold no value: they read it from a file, or from the Secret that has it.

// safeWord needs no quotes in a shell.
var safeWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=-]+$`)

// quote makes a text one word of a shell, whatever is in it.
func quote(text string) string {
	if safeWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// kubectl is a command in the namespace of an object.
func kubectl(namespace, format string, args ...any) string {
	command := fmt.Sprintf(format, args...)
	if namespace == "" {
		return "kubectl " + command
	}
	return "kubectl -n " + quote(namespace) + " " + command
}

// fromKey is what gives a file the value of a key of a Secret; the value is on no command line.
func fromKey(namespace, secret, key string) string {
	return "<(" + kubectl(namespace, "get secret %s -o go-template=%s", quote(secret),
		quote(fmt.Sprintf("{{index .data %q | base64decode}}", key))) + ")"
}

// makeSecret is the command that makes a Secret of files.
func makeSecret(namespace, name string, files ...string) string {
	var out strings.Builder
	out.WriteString(kubectl(namespace, "create secret generic %s", quote(name)))
	for i := 0; i+1 < len(files); i += 2 {
		from := files[i+1]
		if !strings.HasPrefix(from, "<(") {
			from = quote(from)
		}
		out.WriteString(" --from-file=" + quote(files[i]) + "=" + from)
	}
	return out.String()
}

// knownHosts is where the keys of an SSH server come from.
func knownHosts(host string) string { return "<(ssh-keyscan " + quote(host) + ")" }

// keys are the names of the keys of a Secret or ConfigMap of the input; ok is false when it is not in it. Values are not looked at.
func (c *conversion) keys(kind, namespace, name string) (keys []string, ok bool) {
	o := c.find("", kind, namespace, name)
	if o == nil {
		return nil, false
	}
	for _, part := range []string{"data", "stringData", "binaryData"} {
		values, _ := o.at(part).value.(map[string]any)
		for key := range values {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), true
}

// secretState has the backend's secret arguments come from a Secret, and says how to make it.
func (p *place) secretState(o *object, at field) {
	if len(p.Secrets) == 0 {
		return
	}
	name := backendSecret(o)
	p.configFrom(name)
	slices.Sort(p.Secrets)
	files := make([]string, 0, 2*len(p.Secrets))
	for _, argument := range p.Secrets {
		files = append(files, argument, "FILE_WITH_"+strings.ToUpper(argument))
	}
	at.todo("make Secret %s, whose keys are the backend's secret arguments (values are not copied): %s", name, makeSecret(o.ref.Namespace, name, files...))
}

// backendSecret is the Secret of a Stack's arguments of its backend.
func backendSecret(o *object) string { return shorten(o.stack, 190) + "-backend" }
