package server

import (
	"crypto/tls"
	"sync"
)

// TLSConfig serves hosts with a certificate that is made in memory and renews itself.
func (k *Keys) TLSConfig(hosts []string) *tls.Config {
	s := &serving{keys: k, hosts: hosts}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate() },
	}
}

// serving holds the serving certificate of the moment and the authority that it is from.
type serving struct {
	keys  *Keys
	hosts []string

	mu   sync.Mutex
	leaf *tls.Certificate
	from *authority
}

// certificate makes a new one when the last is past its half, or when another authority signs by now.
func (s *serving) certificate() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, signing := s.keys.now(), s.keys.current().signing
	if s.leaf != nil && s.from == signing && now.Before(s.leaf.Leaf.NotAfter.Add(-leafLife/2)) {
		return s.leaf, nil
	}
	leaf, err := signing.leaf(now, s.hosts)
	if err != nil {
		return nil, err
	}
	s.leaf, s.from = leaf, signing
	return leaf, nil
}
