package auth

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

// linkTime is how long a link signs somebody in.
const linkTime = 10 * time.Minute

// NewLink makes a path at which whoever opens it first is signed in with a token. The folder is one that only the server and who
// makes links can read; a file there has the token, and only the hash of the code that the path has.
func NewLink(folder, token string) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a link to sign in: %w", err)
	}
	code := rand.Text()
	name := filepath.Join(folder, linkFile(code))
	if err := os.WriteFile(name+".new", []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("make a link to sign in: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil { // whole or not at all
		return "", fmt.Errorf("make a link to sign in: %w", err)
	}
	return LinkPath + "?" + url.Values{"code": {code}}.Encode(), nil
}

func linkFile(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

var errLinkOver = errors.New("this link was used already, or is older than ten minutes: have a new one made")

// RedeemLink returns the token of a link, once.
func RedeemLink(folder, code string, now time.Time) (string, error) {
	if code == "" {
		return "", errLinkOver
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errLinkOver
	}
	if err != nil {
		return "", fmt.Errorf("open the folder of links: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	name := linkFile(code)
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errLinkOver
	}
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	defer func() { _ = f.Close() }()
	about, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	token, err := io.ReadAll(io.LimitReader(f, MaxToken))
	if err != nil {
		return "", fmt.Errorf("open a link: %w", err)
	}
	// Of two who come with it at once, one removes it.
	if err := root.Remove(name); errors.Is(err, fs.ErrNotExist) {
		return "", errLinkOver
	} else if err != nil {
		return "", fmt.Errorf("use a link up: %w", err)
	}
	if now.Sub(about.ModTime()) > linkTime {
		return "", errLinkOver
	}
	return string(token), nil
}

// LinkPath is the path of links that sign in once.
const LinkPath = "/signin/link"
