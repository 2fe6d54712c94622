package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"
	"gocloud.dev/blob"
)

// Put keeps bytes under a key, in place of what was there. When it returns they are durable; when it fails what was
// there before still is.
func (b *Bucket) Put(ctx context.Context, key string, data []byte) error {
	return b.PutFrom(ctx, key, bytes.NewReader(data))
}

// PutFrom is Put for bytes that are not in memory. When reading them fails, nothing is kept.
func (b *Bucket) PutFrom(ctx context.Context, key string, r io.Reader) error {
	return b.write(ctx, key, r, true)
}

// PutOnce is Put for a key that contains the digest of the bytes: what is there already is what would be written.
func (b *Bucket) PutOnce(ctx context.Context, key string, data []byte) error {
	there, err := b.Exists(ctx, key)
	if err != nil || there {
		return err
	}
	return b.Put(ctx, key, data)
}

// PutLoose is Put without the wait for the disk, for what may be lost with the machine: logs.
func (b *Bucket) PutLoose(ctx context.Context, key string, data []byte) error {
	return b.write(ctx, key, bytes.NewReader(data), false)
}

// write encrypts r into a key. The driver shows a key only after a Close that was not canceled, so canceling first is
// what keeps half a write from being seen.
func (b *Bucket) write(ctx context.Context, key string, r io.Reader, durable bool) error {
	if err := checkKey(key); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // the temporary file, when the bucket is a folder
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream",
		BeforeWrite: func(as func(any) bool) error { as(&file); return nil },
	})
	if err != nil {
		return explain("write", key, err)
	}
	err = b.encrypt(w, r)
	if err == nil && durable && file != nil {
		err = file.Sync()
	}
	if err != nil {
		cancel()
		return fmt.Errorf("write %s: %w", key, errors.Join(err, discard(w)))
	}
	if err := w.Close(); err != nil {
		return explain("write", key, err)
	}
	if durable && file != nil {
		return syncFolder(filepath.Dir(file.Name()))
	}
	return nil
}

func (b *Bucket) encrypt(w io.Writer, r io.Reader) error {
	sealed, err := age.Encrypt(w, b.keys.Recipient)
	if err != nil {
		return err
	}
	if _, err := io.Copy(sealed, r); err != nil {
		return err
	}
	return sealed.Close()
}

// discard closes a writer whose context is canceled. That it says so is no news.
func discard(w *blob.Writer) error {
	if err := w.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// syncFolder makes a rename survive a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
