package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// inMemory is the size up to which PutHashed holds the bytes in memory, which saves two of three requests.
const inMemory = 1 << 20

// PutHashed stores what r returns under dir/sha256:<digest> and returns that digest. The name is known only when
// all was read, so what does not fit in a little memory is written under a temporary name first.
func (b *Bucket) PutHashed(ctx context.Context, dir string, r io.Reader, limit int64) (string, error) {
	prefix, err := folder(dir)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	bounded := &capped{r: io.TeeReader(r, sum), left: limit}
	head, err := io.ReadAll(io.LimitReader(bounded, inMemory))
	if err != nil {
		return "", fmt.Errorf("keep in %s: %w", dir, err)
	}
	digest := func() string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }
	if len(head) < inMemory {
		return digest(), b.PutOnce(ctx, prefix+digest(), head)
	}
	passing := prefix + "upload-" + rand.Text()
	if err := b.PutFrom(ctx, passing, io.MultiReader(bytes.NewReader(head), bounded)); err != nil {
		return "", err
	}
	if err := b.rename(ctx, prefix+digest(), passing); err != nil {
		return "", errors.Join(err, b.Delete(context.WithoutCancel(ctx), passing))
	}
	// The bytes are kept; a name that stays behind is garbage, and goes with its folder.
	_ = b.Delete(ctx, passing)
	return digest(), nil
}

// rename stores under one key what is stored under another. The bytes pass through this process, since an object is
// bound to its name.
func (b *Bucket) rename(ctx context.Context, to, from string) error {
	r, err := b.Read(ctx, from)
	if err != nil {
		return err
	}
	return errors.Join(b.PutFrom(ctx, to, r), r.Close())
}

// capped fails once more than left bytes were read, where io.LimitedReader would call that the end.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
