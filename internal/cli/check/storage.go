package check

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// schemes are those of buckets in object stores.
var schemes = []string{"s3", "gs", "azblob"}

// onVolume returns whether the bucket is a directory on a volume.
func onVolume(bucket string) bool { return bucket == "" || strings.HasPrefix(bucket, "file://") }

// endpointOf returns the HOST:PORT of the parameter endpoint in the URL of a bucket; empty if it has none.
func endpointOf(bucket string) string {
	u, err := url.Parse(bucket)
	if err != nil {
		return ""
	}
	to, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil || to.Hostname() == "" {
		return ""
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[to.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(to.Hostname(), port)
}

func storage(f Facts) Result {
	if !onVolume(f.Bucket) {
		return objectStore(f)
	}
	const check = "storage"
	if f.StorageClasses.Err != nil {
		return unread(check, f.StorageClasses.Err)
	}
	var names []string
	for _, c := range f.StorageClasses.Value {
		names = append(names, c.Name)
		switch {
		case !c.Default:
		case c.Manual:
			return Result{Warning, check, "volumes of the default StorageClass " + c.Name + " are created by hand",
				"create a PersistentVolume of 10Gi for it, or set another bucket: " + docs + "how-to/bucket.md"}
		default:
			return Result{Level: OK, Check: check, Message: "the default StorageClass is " + c.Name}
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		return Result{Error, check, "there is no default StorageClass, only " + strings.Join(names, ", "),
			"set bucket.persistence.storageClass to one of them, or another bucket: " + docs + "how-to/bucket.md"}
	}
	return Result{Error, check, "there is no StorageClass", "create one, or set an object store in bucket.url: " +
		docs + "how-to/bucket.md"}
}

// objectStore is the result for a bucket in an object store. Whether the credentials allow access is known to the pods
// alone, whose identity has it: they check it when they start.
func objectStore(f Facts) Result {
	const check, later = "bucket", "Cairn's pods check access when they start: read their log after the installation"
	u, err := url.Parse(f.Bucket)
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme):
		return Result{Error, check, fmt.Sprintf("the URL %q has an unknown scheme", f.Bucket),
			"use file:///var/lib/cairn, s3://, gs:// or azblob://: " + docs + "how-to/bucket.md"}
	case u.Host == "":
		return Result{Error, check, fmt.Sprintf("the URL %q has no name of a bucket", f.Bucket), "add it: " + docs +
			"how-to/bucket.md"}
	case f.Endpoint.Err != nil:
		return Result{Warning, check, fmt.Sprintf("not verified: this machine cannot connect to its endpoint: %v",
			f.Endpoint.Err),
			"check that the cluster can; " + later}
	case f.Endpoint.Value != "":
		return Result{Warning, check, "its endpoint " + f.Endpoint.Value +
			" accepts connections from this machine; access is not " +
			"verified", later}
	}
	return Result{Warning, check, "not verified: the credentials of Cairn's pods are not those of this machine", later}
}
