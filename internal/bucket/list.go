package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
)

// List returns the keys below a folder, in order. The folder need not exist.
func (b *Bucket) List(ctx context.Context, dir string) ([]string, error) {
	all, err := b.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	keys := all[:0]
	for _, key := range all {
		if !hidden(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Delete removes what is kept under a key. That there is nothing is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return b.remove(ctx, key)
}

// DeletePrefix removes all that is kept below a folder, what an interrupted write left behind too.
func (b *Bucket) DeletePrefix(ctx context.Context, dir string) error {
	keys, err := b.list(ctx, dir)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := b.remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) remove(ctx context.Context, key string) error {
	err := b.blobs.Delete(ctx, key)
	if err == nil {
		return nil
	}
	if err = explain("delete", key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (b *Bucket) list(ctx context.Context, dir string) ([]string, error) {
	prefix, err := folder(dir)
	if err != nil {
		return nil, err
	}
	var keys []string
	for it := b.blobs.List(&blob.ListOptions{Prefix: prefix}); ; {
		obj, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return keys, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		keys = append(keys, obj.Key)
	}
}
