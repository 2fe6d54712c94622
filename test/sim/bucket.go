package sim

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"cairn.dev/cairn/internal/base/bucket"
)

// memory is a bucket in memory, safe for concurrent reads.
type memory struct {
	mu   sync.Mutex
	keys []string // sorted
	data map[string][]byte
}

func newMemory() *memory { return &memory{data: map[string][]byte{}} }

func (m *memory) Put(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.data[key]; !there {
		at, _ := slices.BinarySearch(m.keys, key)
		m.keys = slices.Insert(m.keys, at, key)
	}
	m.data[key] = slices.Clone(data)
	return nil
}

func (m *memory) PutOnce(ctx context.Context, key string, data []byte) error {
	return m.Put(ctx, key, data)
}

func (m *memory) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, there := m.data[key]; there {
		return data, nil
	}
	return nil, bucket.ErrNotFound
}

func (m *memory) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	data, err := m.Get(ctx, key, 0)
	return io.NopCloser(bytes.NewReader(data)), err
}

func (m *memory) List(_ context.Context, dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, _ := slices.BinarySearch(m.keys, dir+"/")
	end := at
	for end < len(m.keys) && strings.HasPrefix(m.keys[end], dir+"/") {
		end++
	}
	return slices.Clone(m.keys[at:end]), nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, there := slices.BinarySearch(m.keys, key); there {
		m.keys = slices.Delete(m.keys, at, at+1)
		delete(m.data, key)
	}
	return nil
}

func (m *memory) DeletePrefix(ctx context.Context, dir string) error {
	keys, _ := m.List(ctx, strings.TrimSuffix(dir, "/"))
	for _, key := range keys {
		_ = m.Delete(ctx, key)
	}
	return nil
}

// Verify reports whether a key exists.
func (m *memory) Verify(ctx context.Context, key string) error { return m.Renew(ctx, key) }

// Renew reports whether a key exists.
func (m *memory) Renew(_ context.Context, key string) error {
	_, err := m.Get(context.Background(), key, 0)
	return err
}
