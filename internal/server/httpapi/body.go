package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"cairn.dev/cairn/internal/server/tenant"
)

// ReadBody reads a body of at most limit bytes. It waits first until the semaphore has weight times its size for the
// namespace. The returned function releases that.
func ReadBody(w http.ResponseWriter, r *http.Request, memory *tenant.Semaphore, namespace string, limit, weight,
	beside int64) ([]byte, func(), error) {
	if err := fits(r, limit); err != nil {
		return nil, nil, err
	}
	size := r.ContentLength
	if size < 0 { // unknown
		size = limit
	}
	free, err := memory.Acquire(r.Context(), namespace, weight*size+beside)
	if err != nil {
		return nil, nil, err
	}
	data, err := read(w, r, limit, r.ContentLength)
	if err != nil {
		free()
		return nil, nil, err
	}
	return data, free, nil
}

// fits rejects a body whose declared length is more than limit bytes.
func fits(r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return Errorf(http.StatusRequestEntityTooLarge, "%d bytes, at most %d are taken", r.ContentLength, limit)
	}
	return nil
}

// ReadAll reads a body of at most limit bytes.
func ReadAll(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if err := fits(r, limit); err != nil {
		return nil, err
	}
	return read(w, r, limit, min(r.ContentLength, LargeBody))
}

// read reads a body of at most limit bytes into memory for size bytes, which it exceeds if the body is larger.
func read(w http.ResponseWriter, r *http.Request, limit, size int64) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(int(max(size, 0)) + bytes.MinRead)
	if _, err := data.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	return data.Bytes(), nil
}

// DecodeJSON decodes a body. Its error is a bad request.
func DecodeJSON(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return Errorf(http.StatusBadRequest, "the body is not what was expected: %v", err)
	}
	return nil
}

// LargeBody is the size from which a body counts against the memory of all namespaces.
const LargeBody = 8 << 20
