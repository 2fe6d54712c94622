package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errNoProcess is the error of a signal without a process.
var errNoProcess = errors.New("it does not run")

// runnerOf finds the process of the runner in a pod whose runner comes through a door.
func (d *door) runnerOf(pod string) (int, error) {
	return processBy(func(dir string) bool {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(args, []byte("cairn-runner\x00run\x00--server="+d.url+"\x00")) {
			return false
		}
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00HOSTNAME="+pod+"\x00"))
	})
}

// processBy finds a process by its folder in /proc.
func processBy(is func(dir string) bool) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		if is(dir) {
			return strconv.Atoi(filepath.Base(dir))
		}
	}
	return 0, errNoProcess
}

// statOf reads the program, the state and the session of a process from the kernel.
func statOf(dir string) (program, state string, session int) {
	data, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", "", 0
	}
	// pid (program) state parent group session
	_, rest, _ := strings.Cut(string(data), "(")
	at := strings.LastIndex(rest, ") ")
	if at < 0 {
		return "", "", 0
	}
	fields := strings.Fields(rest[at+2:])
	if len(fields) < 4 {
		return "", "", 0
	}
	session, _ = strconv.Atoi(fields[3])
	return rest[:at], fields[0], session
}

// sessionGone reports whether all processes of a session have ended.
func sessionGone(leader int) bool {
	_, err := processBy(func(dir string) bool {
		_, state, session := statOf(dir)
		return session == leader && state != "Z"
	})
	return errors.Is(err, errNoProcess)
}

// signalAll sends a signal to all processes of a session, as for a frozen machine.
func signalAll(leader int, s syscall.Signal) error {
	var all []int
	if _, err := processBy(func(dir string) bool {
		if _, _, session := statOf(dir); session == leader {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			all = append(all, pid)
		}
		return false
	}); !errors.Is(err, errNoProcess) {
		return err
	}
	if len(all) == 0 {
		return errNoProcess
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// signedBy returns a certificate that a CA signs.
func signedBy(ca tls.Certificate, template *x509.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
