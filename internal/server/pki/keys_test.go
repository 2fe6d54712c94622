package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"
)

// install is a server whose clock is moved by hand and whose keys are kept nowhere.
type install struct {
	*testing.T
	clock time.Time
	keys  *Keys
	tls   *tls.Config
}

func newInstall(t *testing.T) *install {
	i := &install{T: t, clock: time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)}
	i.keys = &Keys{now: func() time.Time { return i.clock }}
	i.renew()
	i.tls = i.keys.TLSConfig([]string{"cairn.example", "127.0.0.1"})
	return i
}

// renew is what every process does each hour, with the Secret's bytes in between.
func (i *install) renew() {
	i.Helper()
	ring, changed, err := i.keys.ring.renew(i.clock)
	if err != nil {
		i.Fatal(err)
	}
	if !changed {
		return
	}
	data, err := ring.data()
	if err != nil {
		i.Fatal(err)
	}
	if i.keys.ring, err = parseKeyring(data); err != nil {
		i.Fatal(err)
	}
}

// dial does a handshake as a pod that was given a bundle.
func (i *install) dial(bundle []byte, host string, config *tls.Config) (*x509.Certificate, error) {
	i.Helper()
	config.RootCAs, config.ServerName = x509.NewCertPool(), host
	config.Time = func() time.Time { return i.clock }
	if !config.RootCAs.AppendCertsFromPEM(bundle) {
		i.Fatal("no certificate in the bundle")
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", i.tls)
	if err != nil {
		i.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			err = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
		served <- err
	}()
	pod, err := tls.Dial("tcp", listener.Addr().String(), config)
	if err != nil {
		<-served
		return nil, err
	}
	defer pod.Close()
	if err := <-served; err != nil {
		return nil, err
	}
	return pod.ConnectionState().PeerCertificates[0], nil
}

func TestPodTrustsTheServerForAsLongAsItRuns(t *testing.T) {
	i := newInstall(t)
	type pod struct {
		started time.Time
		bundle  []byte
	}
	var pods []pod
	signers := map[string]bool{}
	const life = 30 * 24 * time.Hour
	for range 3 * 365 * 2 { // every twelve hours for three years
		pods = append(pods, pod{i.clock, i.keys.Bundle()})
		i.clock = i.clock.Add(12 * time.Hour)
		i.renew()
		if len(i.keys.Bundle()) > 8<<10 {
			t.Fatalf("a bundle of %d bytes", len(i.keys.Bundle()))
		}
		for len(pods) > 0 && i.clock.Sub(pods[0].started) > life {
			pods = pods[1:]
		}
		cert, err := i.dial(pods[0].bundle, "cairn.example", &tls.Config{})
		if err != nil {
			t.Fatalf("a pod started %s ago does not trust the store: %v", i.clock.Sub(pods[0].started), err)
		}
		signers[cert.Issuer.CommonName] = true
	}
	if len(signers) < 8 {
		t.Fatalf("%d authorities in three years", len(signers))
	}
}

func TestServerWithOlderKeysIsTrustedByNewPods(t *testing.T) {
	i := newInstall(t)
	behind := *i
	behind.keys = &Keys{now: i.keys.now, ring: i.keys.ring}
	behind.tls = behind.keys.TLSConfig([]string{"cairn.example"})
	i.clock = i.clock.Add(signFor + time.Hour)
	behind.clock = i.clock
	i.renew()
	if i.keys.ring.signing.cert.Equal(behind.keys.ring.signing.cert) {
		t.Fatal("nothing was rotated")
	}
	if _, err := behind.dial(i.keys.Bundle(), "cairn.example", &tls.Config{}); err != nil {
		t.Fatal(err)
	}
}

func TestServingCertificateRenewsItself(t *testing.T) {
	i := newInstall(t)
	first, err := i.dial(i.keys.Bundle(), "127.0.0.1", &tls.Config{})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := i.dial(i.keys.Bundle(), "127.0.0.1", &tls.Config{})
	if !first.Equal(again) {
		t.Error("a certificate for each handshake")
	}
	i.clock = i.clock.Add(leafLife/2 + time.Minute)
	second, err := i.dial(i.keys.Bundle(), "127.0.0.1", &tls.Config{})
	if err != nil || second.Equal(first) {
		t.Fatalf("the certificate of half a day ago: %v", err)
	}
	if second.NotAfter.Sub(i.clock) > leafLife {
		t.Errorf("valid for %s", second.NotAfter.Sub(i.clock))
	}
}

func TestOtherServersAreNotTrusted(t *testing.T) {
	i, other := newInstall(t), newInstall(t)
	var unknown x509.UnknownAuthorityError
	if _, err := i.dial(other.keys.Bundle(), "cairn.example", &tls.Config{}); !errors.As(err, &unknown) {
		t.Errorf("another install's bundle: %v", err)
	}
	var wrong x509.HostnameError
	if _, err := i.dial(i.keys.Bundle(), "other.example", &tls.Config{}); !errors.As(err, &wrong) {
		t.Errorf("another name: %v", err)
	}
	if _, err := i.dial(i.keys.Bundle(), "cairn.example", &tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was spoken")
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if _, err := i.dial(i.keys.Bundle(), "cairn.example",
			&tls.Config{MinVersion: version, MaxVersion: version}); err != nil {
			t.Errorf("version %x: %v", version, err)
		}
	}
}

func TestUnreadableKeyringIsNotReplaced(t *testing.T) {
	i := newInstall(t)
	for _, field := range []string{"identity.age", "fingerprint.key", "ca.crt", "ca.key", "next.crt", "next.key"} {
		data, err := i.keys.ring.data()
		if err != nil {
			t.Fatal(err)
		}
		data[field] = []byte("garbage")
		if _, err := parseKeyring(data); err == nil ||
			!strings.Contains(err.Error(), strings.SplitN(field, ".", 2)[0]) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestIdentityStaysAfterEveryRotation(t *testing.T) {
	i := newInstall(t)
	was := i.keys.Recipient()
	i.clock = i.clock.Add(10 * caLife)
	i.renew()
	if i.keys.Recipient() != was {
		t.Fatal("another identity: all that was encrypted is lost")
	}
	data, err := i.keys.ring.data()
	if err != nil || bytes.Count(data["identity.age"], []byte("AGE-SECRET-KEY-1")) != 1 {
		t.Fatalf("%v", err)
	}
}

func TestFingerprintIsStableForTheInstallation(t *testing.T) {
	i, other := newInstall(t), newInstall(t)
	was := i.keys.Fingerprint([]byte("x"))
	if len(was) != 32 || strings.Trim(was, "0123456789abcdef") != "" {
		t.Fatalf("%q", was)
	}
	if was == i.keys.Fingerprint([]byte("y")) || was == other.keys.Fingerprint([]byte("x")) {
		t.Error("another message or another install has the same one")
	}
	i.clock = i.clock.Add(10 * caLife)
	i.keys.ring.identities = other.keys.ring.identities // and all that was encrypted was encrypted anew
	i.renew()
	if now := i.keys.Fingerprint([]byte("x")); now != was {
		t.Errorf("%s, then %s", was, now)
	}
}

func TestDerivedKeyDependsOnItsPurpose(t *testing.T) {
	i := newInstall(t)
	derive := func(purpose string) string {
		key, err := i.keys.DeriveKey(purpose)
		if err != nil || len(key) != 32 {
			t.Fatalf("%d bytes, %v", len(key), err)
		}
		return string(key)
	}
	if derive("cairn session v1") == derive("cairn sign-in v1") {
		t.Error("two purposes have the same key")
	}
	if again := derive("cairn session v1"); again != derive("cairn session v1") {
		t.Error("one purpose has two keys")
	}
}
