package state

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"cairn.dev/cairn/api/v1alpha1"
)

// packers are kept for the next state, since one takes most of a megabyte.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// pack compresses a state. Equal states give equal bytes.
func pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// unpack gives back the state of a version, and only that: other bytes are an error.
func unpack(packed []byte, v v1alpha1.StateVersion) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, v.Size+1))
	if err != nil {
		return nil, err
	}
	if got := digest(data); got != v.SHA256 {
		return nil, fmt.Errorf("the bytes are %s, the version is %s", got, v.SHA256)
	}
	return data, nil
}

// split cuts packed bytes into chunks that fit a Secret each.
func split(packed []byte, size int) [][]byte {
	var chunks [][]byte
	for len(packed) > size {
		chunks, packed = append(chunks, packed[:size]), packed[size:]
	}
	return append(chunks, packed)
}
