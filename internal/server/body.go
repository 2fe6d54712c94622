package server

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the engine's protocol; it guards against broken transports, not people
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"golang.org/x/sync/semaphore"
)

const (
	// bodyMemory is how much of large bodies is in memory at a time; further ones wait.
	bodyMemory = 1 << 30
	// largeBody is the size from which a body counts against that.
	largeBody = 8 << 20
)

// body reads a request's body of at most limit bytes into memory. The returned function gives the memory back.
func (s *Server) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, func(), error) {
	return readBody(w, r, limit, s.memory)
}

// readBody is body for one that counts against some memory.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, memory *semaphore.Weighted) ([]byte, func(), error) {
	size := r.ContentLength
	if size > limit {
		return nil, nil, refusef(http.StatusRequestEntityTooLarge, "%d bytes, at most %d are taken", size, limit)
	}
	free := func() {}
	if size < 0 {
		size = limit
	}
	if size > largeBody {
		if err := memory.Acquire(r.Context(), size); err != nil {
			return nil, nil, err
		}
		free = func() { memory.Release(size) }
	}
	var data bytes.Buffer
	data.Grow(int(min(max(r.ContentLength, 0), largeBody)) + bytes.MinRead)
	if _, err := data.ReadFrom(http.MaxBytesReader(w, r.Body, limit)); err != nil {
		free()
		return nil, nil, fmt.Errorf("read the body: %w", err)
	}
	return data.Bytes(), free, nil
}

// jsonBody reads a request's body as JSON.
func (s *Server) jsonBody(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	data, free, err := s.body(w, r, limit)
	if err != nil {
		return err
	}
	defer free()
	if err := json.Unmarshal(data, v); err != nil {
		return refusef(http.StatusBadRequest, "the body is not what was expected: %v", err)
	}
	return nil
}

// checkMD5 compares the body with the header that the engine sends along.
func checkMD5(r *http.Request, data []byte) error {
	want := r.Header.Get("Content-MD5")
	if want != "" && want != contentMD5(data) {
		return refusef(http.StatusBadRequest, "the body was changed on its way: Content-MD5 does not match")
	}
	return nil
}

func contentMD5(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // the engine's protocol; it guards against broken transports, not people
	return base64.StdEncoding.EncodeToString(sum[:])
}
