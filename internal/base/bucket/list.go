package bucket

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"gocloud.dev/blob"
)

// List returns the keys below a folder, in order. The folder need not exist.
func (b *Bucket) List(ctx context.Context, dir string) ([]string, error) {
	all, err := b.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, hidden), nil
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
	b.young.looked.Remove(key)
	release, err := b.claim(ctx, key, nil)
	if err != nil {
		return err
	}
	defer release()
	began := time.Now()
	err = b.result(opDelete, key, began, b.blobs.Delete(ctx, key))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (b *Bucket) list(ctx context.Context, dir string) (keys []string, err error) {
	err = b.walk(ctx, dir, func(o Object) error {
		keys = append(keys, o.Key)
		return nil
	})
	return keys, err
}

// Object is an entry of a list.
type Object struct {
	// Key of it.
	Key string
	// Size in bytes as it is kept, which is more than what was put.
	Size int64
	// At is when it was last written, by the clock of the bucket.
	At time.Time
}

// Walk calls visit for each object below a folder, in the order of their keys, and ends with its first error. It
// holds one page of the list at a time. visit may delete what it is called for.
func (b *Bucket) Walk(ctx context.Context, dir string, visit func(Object) error) error {
	return b.walk(ctx, dir, func(o Object) error {
		if hidden(o.Key) {
			return nil
		}
		return visit(o)
	})
}

func (b *Bucket) walk(ctx context.Context, dir string, visit func(Object) error) error {
	prefix, err := folder(dir)
	if err != nil {
		return err
	}
	return b.walkPrefix(ctx, dir, prefix, visit)
}

// WalkAll calls visit for each object of the bucket, as Walk does for those below a folder.
func (b *Bucket) WalkAll(ctx context.Context, visit func(Object) error) error {
	return b.walkPrefix(ctx, "the bucket", "", func(o Object) error {
		if checkKey(o.Key) != nil { // nothing of Cairn, as the folder lost+found of a volume
			return nil
		}
		return visit(o)
	})
}

func (b *Bucket) walkPrefix(ctx context.Context, dir, prefix string, visit func(Object) error) error {
	for token := blob.FirstPageToken; ; {
		page, next, err := b.page(ctx, token, dir, prefix)
		if err != nil {
			return err
		}
		for _, o := range page {
			if err := visit(Object{o.Key, o.Size, o.ModTime}); err != nil {
				return err
			}
		}
		if len(next) == 0 {
			return nil
		}
		token = next
	}
}

// page returns a page of a list. The driver of folders fails when a file is deleted while it reads the folder, as
// happens to objects and to the temporary files of writes: then it is called again.
func (b *Bucket) page(
	ctx context.Context, token []byte, dir, prefix string,
) (objects []*blob.ListObject, next []byte, err error) {
	for range listTries {
		began := time.Now()
		objects, next, err = b.blobs.ListPage(ctx, token, pageSize, &blob.ListOptions{Prefix: prefix})
		moved := errors.Is(err, fs.ErrNotExist)
		if err = b.result(opList, dir, began, err); !moved {
			break
		}
	}
	return objects, next, err
}

// listTries is how often a folder is read again that changes meanwhile.
const listTries = 50

// pageSize is how many objects a page of a list has.
const pageSize = 1000
