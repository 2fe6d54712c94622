package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder is a certificate authority that users trust and runners do not, and a folder that its certificates are put
// into.
type folder struct {
	*testing.T
	*install
	dir  string
	ca   *authority
	cert *HostCertificate
}

func newFolder(t *testing.T) *folder {
	i := newInstall(t)
	ca, err := newAuthority(i.clock)
	if err != nil {
		t.Fatal(err)
	}
	w := &folder{T: t, install: i, ca: ca, dir: t.TempDir()}
	w.cert = NewHostCertificate(w.dir, "cairn.example.com", slog.New(slog.DiscardHandler))
	w.cert.again = time.Millisecond
	i.tls = w.cert.Wrap(i.tls)
	done := make(chan error)
	go func() { done <- w.cert.Start(t.Context()) }()
	t.Cleanup(func() { // t.Context() is done by now
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// put writes a certificate as the kubelet does: the files of a Secret are links into a folder that is swapped at once,
// and the one from before goes.
func (w *folder) put(host, version string) {
	w.T.Helper()
	leaf, err := w.ca.leaf(w.clock, []string{host})
	if err != nil {
		w.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		w.Fatal(err)
	}
	before, _ := os.Readlink(filepath.Join(w.dir, "..data")) // none the first time
	folder := filepath.Join(w.dir, version)
	must := func(err error) {
		w.T.Helper()
		if err != nil && !os.IsExist(err) {
			w.Fatal(err)
		}
	}
	must(os.Mkdir(folder, 0o700))
	must(os.WriteFile(filepath.Join(folder, "tls.crt"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}), 0o600))
	must(os.WriteFile(filepath.Join(folder, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		0o600))
	must(os.Symlink(version, filepath.Join(w.dir, "next")))
	must(os.Rename(filepath.Join(w.dir, "next"), filepath.Join(w.dir, "..data")))
	for _, name := range []string{"tls.crt", "tls.key"} {
		must(os.Symlink("..data/"+name, filepath.Join(w.dir, name)))
	}
	if before != "" {
		must(os.RemoveAll(filepath.Join(w.dir, before)))
	}
}

// sees returns the certificate that a client receives which asks for a host and trusts one side: the folder's
// authority, or the server's own.
func (w *folder) sees(host string, bundle []byte) *x509.Certificate {
	w.T.Helper()
	cert, err := w.dial(bundle, host, &tls.Config{MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil
	}
	return cert
}

func (w *folder) eventually(what string, ok func() bool) {
	w.T.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatal("never: ", what)
		}
	}
}

func TestPublicHostUsesTheCertificateOfTheFolder(t *testing.T) {
	w := newFolder(t)
	own, everybodys := w.keys.Bundle(), encodeCerts([]*x509.Certificate{w.ca.cert})
	if w.sees("cairn.example", own) == nil {
		t.Error("the server's own certificate is not shown while there is no other")
	}
	if w.sees("cairn.example.com", everybodys) != nil {
		t.Error("a certificate that is not there is shown")
	}

	w.put("cairn.example.com", "1")
	w.eventually("the certificate of the folder for the public host", func() bool {
		return w.sees("cairn.example.com", everybodys) != nil
	})
	if w.sees("CAIRN.example.com", everybodys) == nil {
		t.Error("a host is another one in capitals")
	}
	if w.sees("cairn.example", own) == nil || w.sees("127.0.0.1", own) == nil {
		t.Error("runners, who ask for another host or for none, are not shown the server's own certificate")
	}

	first := w.sees("cairn.example.com", everybodys)
	w.put("cairn.example.com", "2")
	w.eventually("another certificate after it changed", func() bool {
		now := w.sees("cairn.example.com", everybodys)
		return now != nil && !now.Equal(first)
	})
}

func TestUnreadableCertificateKeepsThePreviousOne(t *testing.T) {
	w := newFolder(t)
	everybodys := encodeCerts([]*x509.Certificate{w.ca.cert})
	w.put("cairn.example.com", "1")
	w.eventually("the certificate of the folder", func() bool { return w.sees("cairn.example.com", everybodys) != nil })
	if err := os.WriteFile(filepath.Join(w.dir, "1", "tls.crt"), []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.cert.watcher.Load().ReadCertificate(); err == nil {
		t.Fatal("half a file is a certificate")
	}
	if w.sees("cairn.example.com", everybodys) == nil {
		t.Error("the last certificate is not shown any more")
	}
}
