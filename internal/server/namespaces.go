package server

import (
	"slices"
)

func (s *Server) serves(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}
