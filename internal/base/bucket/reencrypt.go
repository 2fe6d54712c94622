package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	azure "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
)

var (
	// ErrChanged means that an object was written or deleted while it was encrypted again. What was written stays.
	ErrChanged = errors.New("it changed meanwhile")
	// ErrUnconditional means that an object could not be encrypted again without the risk to overwrite a newer one.
	ErrUnconditional = errors.New("the bucket has no conditional writes")
)

// Follow sets where the keys are from, which may change. reread reads them again, for an object that another process
// wrote with a key that this one does not have yet. It is called before the bucket is used.
func (b *Bucket) Follow(keys func() Keys, reread func(context.Context) error) {
	b.keys, b.reread = keys, reread
	if b.lockFile != "" {
		if file, err := lock(b.lockFile, os.O_CREATE, syscall.LOCK_SH); err == nil {
			_ = file.Close() // from now on there is a file that writers lock
		}
	}
}

// Keys returns the current keys.
func (b *Bucket) Keys() Keys { return b.keys() }

// largestHead is more than the version and the stanza of an object.
const largestHead = 512

// KeyID returns the ID of the key that an object is encrypted with, as its first bytes have it; empty if the object is
// not one of Cairn's.
func (b *Bucket) KeyID(ctx context.Context, key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	began := time.Now()
	r, err := b.blobs.NewRangeReader(ctx, key, 0, largestHead, nil)
	if err := b.result(opRead, key, began, err); err != nil {
		return "", err
	}
	head, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	_, stanza, _ := bytes.Cut(head, []byte("\n-> "+stanzaType+" "))
	id, _, _ := bytes.Cut(stanza, []byte(" "))
	return string(id), nil
}

// Reencrypt writes an object again with the current key. It is ErrChanged if another process writes or deletes the
// object at the same time: then that counts.
func (b *Bucket) Reencrypt(ctx context.Context, key string) (err error) {
	if err := checkKey(key); err != nil {
		return err
	}
	letGo, err := b.young.hold(ctx, key)
	if err != nil {
		return err
	}
	defer letGo()
	over, err := b.version(ctx, key)
	if err != nil {
		return err
	}
	r, err := b.Read(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }() // it keeps the file, so that no other has its number
	source := &failing{r: r}
	err = b.write(ctx, key, over, source, true, b.encrypted(key, source))
	if !errors.Is(err, ErrNoBucket) {
		return err
	}
	// S3 responds to a conditional write of a deleted object as to one of a bucket that does not exist.
	if there, missing := b.Exists(ctx, key); missing == nil && !there {
		return ErrChanged
	}
	return err
}

// CheckConditions returns ErrUnconditional if the bucket accepts a write on a condition that does not hold.
func (b *Bucket) CheckConditions(ctx context.Context) error {
	const probe = "probe/conditional-write"
	if err := b.Put(ctx, probe, nil); err != nil {
		return err
	}
	over, err := b.version(ctx, probe)
	if err == nil {
		err = b.Put(ctx, probe, nil)
	}
	if err == nil {
		source := &failing{r: bytes.NewReader(nil)}
		err = b.write(ctx, probe, over, source, true, b.encrypted(probe, source))
	}
	switch {
	case err == nil:
		err = ErrUnconditional
	case errors.Is(err, ErrChanged):
		err = nil
	}
	return errors.Join(err, b.Delete(ctx, probe))
}

// version identifies the bytes that are stored under a key.
type version struct {
	etag       string
	generation int64       // in Google Cloud Storage
	file       os.FileInfo // in a folder
}

func (b *Bucket) version(ctx context.Context, key string) (*version, error) {
	began := time.Now()
	found, err := b.blobs.Attributes(ctx, key)
	if err := b.result(opExists, key, began, err); err != nil {
		return nil, err
	}
	v := &version{etag: found.ETag}
	found.As(&v.file)
	var google storage.ObjectAttrs
	if found.As(&google) {
		v.generation = google.Generation
	}
	return v, nil
}

// require sets a version as the condition of a write. Writers to a folder exclude each other instead: see claim.
func (v *version) require(as func(any) bool) error {
	var (
		amazon      *transfermanager.UploadObjectInput
		google      **storage.ObjectHandle
		azureUpload *azblob.UploadStreamOptions
	)
	switch {
	case v == nil:
	case as(&amazon):
		amazon.IfMatch = &v.etag
	case as(&google):
		*google = (*google).If(storage.Conditions{GenerationMatch: v.generation})
	case as(&azureUpload):
		etag := azcore.ETag(v.etag)
		azureUpload.AccessConditions = &azure.AccessConditions{
			ModifiedAccessConditions: &azure.ModifiedAccessConditions{IfMatch: &etag},
		}
	default:
		return ErrUnconditional
	}
	return nil
}

// claim orders the changes of a folder, by a lock that its other processes see too: of those that have a condition,
// which is checked here, there is one at a time and no other. The lock is held for a rename.
func (b *Bucket) claim(ctx context.Context, key string, over *version) (release func(), err error) {
	if b.lockFile == "" {
		return func() {}, nil
	}
	create, how := 0, syscall.LOCK_SH
	if over != nil {
		create, how = os.O_CREATE, syscall.LOCK_EX
	}
	file, err := lock(b.lockFile, create, how)
	switch {
	case err != nil && over == nil: // no file, or a file system without locks: then nothing has a condition
		return func() {}, nil
	case err != nil:
		return func() {}, fmt.Errorf("%w: %w", ErrUnconditional, err)
	}
	release = func() { _ = file.Close() } // this releases the lock
	if over == nil {
		return release, nil
	}
	now, err := b.version(ctx, key)
	if err == nil && os.SameFile(now.file, over.file) && now.etag == over.etag {
		return release, nil
	}
	release()
	if err == nil || errors.Is(err, ErrNotFound) {
		err = ErrChanged
	}
	return func() {}, err
}

func lock(path string, create, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|create, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
