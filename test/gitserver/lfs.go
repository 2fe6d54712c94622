package gitserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

const (
	objectsPath = "/lfs-objects/"
	// signature is in the URL of a file, as object stores do it: whoever has the URL has the file.
	signature = "valid-for-a-while"
)

// PutLFS keeps a file in LFS and gives the pointer to commit in its place.
func (h *HTTP) PutLFS(content string) string {
	sum := sha256.Sum256([]byte(content))
	oid := hex.EncodeToString(sum[:])
	h.set(func() { h.objects[oid] = []byte(content) })
	return Pointer(oid, len(content))
}

// Pointer to a file in LFS, whether there is one or not.
func Pointer(oid string, size int) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, size)
}

// SpoilLFS replaces the content of all files in LFS, but not their names.
func (h *HTTP) SpoilLFS(content string) {
	h.set(func() {
		for oid := range h.objects {
			h.objects[oid] = []byte(content)
		}
	})
}

// ServeLFSFrom lets the files be fetched from another server, which gets them.
func (h *HTTP) ServeLFSFrom(other *HTTP) {
	h.set(func() {
		h.lfsURL = other.URL
		other.set(func() { other.objects = h.objects })
	})
}

func (h *HTTP) serveBatch(w http.ResponseWriter, r *http.Request) {
	type object struct {
		OID     string                    `json:"oid"`
		Size    int64                     `json:"size"`
		Actions map[string]map[string]any `json:"actions,omitempty"`
		Error   map[string]any            `json:"error,omitempty"`
	}
	var question, answer struct {
		Operation string   `json:"operation"`
		Objects   []object `json:"objects"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&question); err != nil ||
		question.Operation != "download" {
		http.Error(w, "not understood", http.StatusUnprocessableEntity)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range question.Objects {
		if _, ok := h.objects[o.OID]; ok {
			o.Actions = map[string]map[string]any{"download": {"href": h.lfsURL + objectsPath + o.OID + "?signature=" +
				signature}}
		} else {
			o.Error = map[string]any{"code": 404, "message": "no such object"}
		}
		answer.Objects = append(answer.Objects, o)
	}
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (h *HTTP) serveObject(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	content, ok := h.objects[strings.TrimPrefix(r.URL.Path, objectsPath)]
	stall := h.stall
	h.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if stall != nil {
		half := len(content) / 2
		_, _ = w.Write(content[:half])
		_ = http.NewResponseController(w).Flush()
		if !pass(r, stall) {
			return
		}
		content = content[half:]
	}
	_, _ = w.Write(content)
}
