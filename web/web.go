// Package web serves the web UI. `make web` builds it into dist; without that a placeholder shows how.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed all:dist
var embedded embed.FS

// Handler serves the page, and answers with it to every path that is no file of it: the page reads the address by
// itself.
func Handler() http.Handler {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // the folder is named above
	}
	return handler(dist)
}

// Built reports whether the program has the web UI, and not only the placeholder.
func Built() bool {
	_, err := fs.Stat(embedded, "dist/"+index)
	return err == nil
}

// policy lets the page load from nowhere else, run nothing that is not in its files, and be in no frame.
var policy = strings.Join([]string{
	"default-src 'self'",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"object-src 'none'",
}, "; ")

// headers of all that is answered here.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Referrer-Policy":              "same-origin",
	"X-Content-Type-Options":       "nosniff",
}

const (
	index = "index.html"
	// assets have a hash in their names, so what is in one never changes.
	assets = "assets/"
	// compressed is the ending of a file's form in brotli, which the build lays beside it.
	compressed = ".br"
)

// notBuilt is the page of a program without one.
var notBuilt = asset{kind: "text/html; charset=utf-8", body: []byte(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>Cairn</title>
<h1>Cairn</h1>
<p>This program was built without the web UI. <code>make web build</code> builds it with the web UI, which needs Node.</p>
<p>All that the page shows is in the API, at <a href="/api/v1/openapi.json">/api/v1</a>, and on the command line, <code>cairn</code>.</p>
</html>
`)}

// asset is a file of the page.
type asset struct {
	kind         string
	body, packed []byte
	tag          string
}

// handler serves the files of a folder.
func handler(dist fs.FS) http.Handler {
	files, err := read(dist)
	if err != nil {
		panic(err) // they are in this program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is only read: the API is at /api/v1", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		file, there := files[name]
		if !there && isFile(name) {
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, "the page has no such file", http.StatusNotFound)
			return
		}
		if !there {
			name, file = index, files[index]
		}
		w.Header().Set("Cache-Control", "no-cache")
		if strings.HasPrefix(name, assets) {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		file.serve(w, r)
	})
}

// isFile reports whether a path is that of a file, and not of a view of the web UI: a web UI that is older than the
// program asks for assets that are gone, and browsers for /favicon.ico. Deeper down a dot may be in the name of a
// Stack.
func isFile(name string) bool {
	return strings.HasPrefix(name, assets) || !strings.Contains(name, "/") && strings.Contains(name, ".")
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	body, tag := a.body, a.tag
	w.Header().Set("Content-Type", a.kind)
	if a.packed != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if accepts(r.Header.Get("Accept-Encoding"), "br") {
			body, tag = a.packed, tag+"-br"
			w.Header().Set("Content-Encoding", "br")
		}
	}
	w.Header().Set("ETag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts reports whether the header Accept-Encoding of a browser has an encoding.
func accepts(header, encoding string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.TrimSpace(name) != encoding {
			continue
		}
		q, weighed := strings.CutPrefix(strings.TrimSpace(quality), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		return !weighed || err == nil && weight > 0
	}
	return false
}

// read takes all files of a folder. Where there is no index, it is the page that says so.
func read(dist fs.FS) (map[string]asset, error) {
	files := map[string]asset{}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") || path.Ext(name) == compressed {
			return err
		}
		body, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		packed, err := fs.ReadFile(dist, name+compressed)
		if err != nil {
			packed = nil // it is not worth it for every file
		}
		files[name] = asset{kind: kind(name), body: body, packed: packed, tag: tag(body)}
		return nil
	})
	if _, built := files[index]; !built {
		none := notBuilt
		none.tag = tag(none.body)
		files = map[string]asset{index: none}
	}
	return files, err
}

func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// kinds are those of the page's files, whatever the machine has in its own list.
var kinds = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

func kind(name string) string {
	if known := kinds[path.Ext(name)]; known != "" {
		return known
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	return "application/octet-stream"
}
