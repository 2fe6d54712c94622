package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/gitprovider"
)

const hookSecret = "correct horse battery staple"

var hookTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func hookHeaders(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {gitprovider.JSONType}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// hmacOf is the HMAC with SHA-256 of a body, in hex.
func hmacOf(key, body string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

// example is a body that a Git provider sends.
func example(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../source/gitprovider/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
