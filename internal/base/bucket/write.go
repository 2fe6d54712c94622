package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

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
	source := &failing{r: r}
	return b.write(ctx, key, nil, source, true, b.encrypted(key, source))
}

// PutOnce is Put for a key that contains the digest of the bytes: an existing object has the bytes to be written,
// and is left alone while it is young (see RenewAfter) and can be read.
func (b *Bucket) PutOnce(ctx context.Context, key string, data []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	letGo, err := b.young.hold(ctx, key)
	if err != nil {
		return err
	}
	defer letGo()
	object, err := b.stat(ctx, key)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case err == nil && !b.young.old(object):
		if err := b.Verify(ctx, key); !IsLost(err) {
			return err
		}
	}
	return b.Put(ctx, key, data)
}

// Verify reads what is stored under a key. An object that is damaged, or encrypted with a lost key, is an error, and
// Renew reports it as not found from then on: another process may have found that it cannot be read.
func (b *Bucket) Verify(ctx context.Context, key string) error {
	r, err := b.Read(ctx, key)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err == nil {
		b.young.lost.Remove(key)
	}
	return err
}

// PutLoose is Put without the wait for the disk, for what may be lost with the machine: logs.
func (b *Bucket) PutLoose(ctx context.Context, key string, data []byte) error {
	source := &failing{r: bytes.NewReader(data)}
	return b.write(ctx, key, nil, source, false, b.encrypted(key, source))
}

// write keeps under a key what fill writes, from source, in place of that version unless it is nil. The driver shows a
// key only after a Close that was not canceled, so canceling first is what keeps half a write from being seen.
func (b *Bucket) write(
	ctx context.Context, key string, over *version, source *failing, durable bool, fill func(io.Writer) error,
) (err error) {
	if err := checkKey(key); err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		if source.err == nil { // otherwise it was not the bucket that failed
			b.metrics.count(opWrite, began, err)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File // the temporary file, when the bucket is a folder
	w, err := b.blobs.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream",
		BeforeWrite: func(as func(any) bool) error {
			if as(&file) {
				return nil
			}
			return over.require(as)
		},
	})
	if err != nil {
		return explain(opWrite, key, err)
	}
	err = fill(w)
	if err == nil && durable && file != nil {
		err = b.sync(file)
	}
	release := func() {}
	if err == nil {
		release, err = b.claim(ctx, key, over)
	}
	if err != nil {
		cancel()
		return explain(opWrite, key, errors.Join(err, discard(w)))
	}
	err = w.Close()
	release()
	if err != nil {
		return explain(opWrite, key, err)
	}
	b.young.lost.Remove(key)
	if durable && file != nil {
		return b.syncFolder(filepath.Dir(file.Name()))
	}
	return nil
}

// encrypted encrypts what r returns as the object of a key.
func (b *Bucket) encrypted(key string, r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		sealed, err := age.Encrypt(w, named{b.keys(), key})
		if err != nil {
			return err
		}
		if _, err := io.Copy(sealed, r); err != nil {
			return err
		}
		return sealed.Close()
	}
}

// failing remembers how reading failed.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// discard closes a writer whose context is canceled, which is the error that it returns.
func discard(w *blob.Writer) error {
	if err := w.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// syncFolder lets a rename survive a power cut.
func (b *Bucket) syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(b.sync(d), d.Close())
}
