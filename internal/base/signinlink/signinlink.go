// Package signinlink has the links of `cairn dev` with which a browser signs in once: who creates one and the server
// share a folder.
package signinlink

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Path of the server at which a link signs in.
const Path = "/signin/link"

// longestToken is longer than any that a cluster issues, in bytes.
const longestToken = 16 << 10

// lifetime is how long a link can be used.
const lifetime = 10 * time.Minute

// New returns the path of a link with which the first user who opens it is signed in with a token. Only the server and
// the creator of the link may be able to read the folder: a file in it has the token, under the hash of the code in the
// path.
func New(folder, token string) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("create a sign-in link: %w", err)
	}
	code := rand.Text()
	name := filepath.Join(folder, fileName(code))
	if err := os.WriteFile(name+".new", []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("create a sign-in link: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil { // whole or not at all
		return "", fmt.Errorf("create a sign-in link: %w", err)
	}
	return Path + "?" + url.Values{"code": {code}}.Encode(), nil
}

func fileName(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// ErrExpired is the error of a link that was used, or is too old.
var ErrExpired = errors.New("this link was used already, or is older than ten minutes: create a new one")

// Take returns the token of a link, and invalidates the link.
func Take(folder, code string, now time.Time) (string, error) {
	if code == "" {
		return "", ErrExpired
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrExpired
	}
	if err != nil {
		return "", fmt.Errorf("open the folder of links: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	name := fileName(code)
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrExpired
	}
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	defer func() { _ = f.Close() }()
	about, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	token, err := io.ReadAll(io.LimitReader(f, longestToken))
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	// Of two who come with it at once, one removes it.
	if err := root.Remove(name); errors.Is(err, fs.ErrNotExist) {
		return "", ErrExpired
	} else if err != nil {
		return "", fmt.Errorf("use a link up: %w", err)
	}
	if now.Sub(about.ModTime()) > lifetime {
		return "", ErrExpired
	}
	return string(token), nil
}
