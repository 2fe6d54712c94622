package kubelet

import "strings"

// expand replaces $(NAME) by a variable's value as Kubernetes does it: a name that is not there stays as it is written,
// and $$ is an escaped $, so that $$(NAME) comes out as $(NAME).
func expand(s string, vars map[string]string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "("):
			name, rest, closed := strings.Cut(after[1:], ")")
			value, known := vars[name]
			switch {
			case !closed:
				b.WriteString("$(")
				rest = after[1:]
			case known:
				b.WriteString(value)
			default:
				b.WriteString("$(" + name + ")")
			}
			s = rest
		default:
			b.WriteByte('$')
			s = after
		}
	}
}
