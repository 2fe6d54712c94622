package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/server/pki"
)

const (
	// StacksANamespace is the number of Stacks per namespace.
	StacksANamespace = 100
	// mostPods is how many finished pods a cluster retains; its pod garbage collector deletes others.
	mostPods = 12_500

	firstNamespace = "first-namespace"
	firstStack     = "first-stack"
	// firstSize is the value of its variable, which is searched for in its objects.
	firstSize = 424_242_000
	settings  = "settings"
)

// NamespaceOf returns the namespace of the i-th Stack.
func NamespaceOf(i int) string { return fmt.Sprintf("team-%d", i/StacksANamespace) }

// NameOf returns the name of the i-th Stack.
func NameOf(i int) string { return fmt.Sprintf("stack-%d", i) }

// Stack returns a typical Stack.
func Stack(namespace, name string, size, history int) *v1alpha1.Stack {
	kept := int32(history)
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"team": namespace, "env": "prod"},
		},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{Inline: map[string]string{"main.tf": `variable "size" {}
variable "token" {}
resource "terraform_data" "disk" { input = var.size }
output "size" { value = terraform_data.disk.output }
`}},
			Variables: []v1alpha1.Variable{
				{Name: "size", Value: number(size)},
				{Name: "token", ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: settings, Key: "token"}}},
			},
			Apply: v1alpha1.ApplyAutomatic, RunHistoryLimit: &kept,
		},
	}
}

func number(n int) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: strconv.AppendInt(nil, int64(n), 10)}
}

// NewNamespace creates a namespace with the objects that Stacks read, and waits for the ServiceAccount of their pods.
func (i *Install) NewNamespace(name string) *corev1.Secret {
	i.Helper()
	ctx := context.Background()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: settings},
		StringData: map[string]string{"token": name}}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, secret} {
		if err := i.Create(ctx, o); err != nil {
			i.Fatal(err)
		}
	}
	i.Until("ServiceAccount of "+name, func() bool {
		return i.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return secret
}

// A History is a Stack with its Runs as stored in etcd.
type History struct {
	i       *Install
	entries []keyValue
	doc     inputs.Document
	digest  string
	uids    []string
	secret  string
	bucket  *bucket.Bucket
	// copies is the number of copies so far.
	copies int
}

// Live creates one Stack, waits for a number of Runs, which needs an operator and a server, and reads its objects.
func (i *Install) Live(runs int) *History {
	i.Helper()
	secret := i.First(runs)
	h := &History{i: i, secret: versionOf(secret)}
	h.read(runs)
	return h
}

// First creates one Stack and waits for a number of its Runs. It returns the Secret that the Stack reads.
func (i *Install) First(runs int) *corev1.Secret {
	i.Helper()
	secret := i.NewNamespace(firstNamespace)
	if err := i.Create(context.Background(), Stack(firstNamespace, firstStack, firstSize+1, runs)); err != nil {
		i.Fatal(err)
	}
	i.untilRun(1)
	for n := 2; n <= runs; n++ {
		i.Again(n)
	}
	return secret
}

// Again changes the first Stack and waits for its Run of that number.
func (i *Install) Again(run int) {
	i.Helper()
	if err := i.Resize(context.Background(), firstNamespace, firstStack, firstSize+run); err != nil {
		i.Fatal(err)
	}
	i.untilRun(run)
}

// untilRun waits for the end of a Run of the first Stack and of its pod.
func (i *Install) untilRun(n int) {
	i.Helper()
	i.Until(fmt.Sprintf("Run %d of the first Stack", n), func() bool {
		return i.Applied(firstNamespace, firstStack) && i.Node.Ended() >= n
	})
}

func versionOf(o client.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }

// read reads all entries of the first Stack from etcd.
func (h *History) read(runs int) {
	i := h.i
	i.Helper()
	ctx := context.Background()
	s := &v1alpha1.Stack{}
	if err := i.Get(ctx, client.ObjectKey{Namespace: firstNamespace, Name: firstStack}, s); err != nil {
		i.Fatal(err)
	}
	keys, err := pki.LoadKeys(ctx, pki.KeysOptions{
		Client: i, Secret: types.NamespacedName{Namespace: systemNamespace, Name: "cairn-keys"},
		BucketURL: i.bucketURL(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		i.Fatal(err)
	}
	if h.bucket, err = bucket.Open(ctx, i.bucketURL(), keys.Bucket()); err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { _ = h.bucket.Close() })
	h.digest = s.Status.InputsDigest
	if h.doc, err = inputs.NewStore(h.bucket).Get(ctx, h.digest); err != nil {
		i.Fatal(err)
	}
	db := newEtcd(i.Data)
	for _, prefix := range []string{"cairn.dev/stacks", "cairn.dev/runs", "cairn.dev/states", "secrets", "pods"} {
		more, err := db.prefix(ctx, "/registry/"+prefix+"/"+firstNamespace+"/")
		if err != nil {
			i.Fatal(err)
		}
		h.entries = append(h.entries, slices.DeleteFunc(more, func(kv keyValue) bool {
			name := string(kv.Key[bytes.LastIndexByte(kv.Key, '/')+1:])
			last := fmt.Sprintf("%s-%d-plan-1", firstStack, runs)
			return name == settings || prefix == "pods" && name != last
		})...)
	}
	for n, kv := range h.entries {
		if h.entries[n].Value, err = plain(kv.Value); err != nil {
			i.Fatal(err)
		}
	}
	found := map[string]bool{}
	for _, kv := range h.entries {
		for _, uid := range uidPattern.FindAllString(string(kv.Value), -1) {
			found[uid] = true
		}
	}
	for uid := range found {
		h.uids = append(h.uids, uid)
	}
}

var (
	uidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	coded      = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	codedMark  = []byte("k8s\x00")
)

// plain returns an entry as JSON. The API server stores its built-in types as protobuf, and reads both.
func plain(value []byte) ([]byte, error) {
	if !bytes.HasPrefix(value, codedMark) {
		return value, nil
	}
	o, kind, err := coded.Decode(value, nil, nil)
	if err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(o)
}

// etcdForm returns the entry as the API server would write it.
func etcdForm(key string, value []byte) ([]byte, error) {
	var o kruntime.Object
	switch {
	case strings.HasPrefix(key, "/registry/secrets/"):
		o = &corev1.Secret{}
	case strings.HasPrefix(key, "/registry/pods/"):
		o = &corev1.Pod{}
	default:
		return value, nil
	}
	if err := json.Unmarshal(value, o); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := coded.Encode(o, &out)
	return out.Bytes(), err
}

// Size returns the number of objects of a Stack and their size in etcd.
func (h *History) Size() (objects, bytes int) {
	for _, kv := range h.entries {
		value, err := etcdForm(string(kv.Key), kv.Value)
		if err != nil {
			h.i.Fatal(err)
		}
		bytes += len(kv.Key) + len(value)
	}
	return len(h.entries), bytes
}

// Fill adds copies until there are n Stacks.
func (h *History) Fill(n int) {
	i := h.i
	i.Helper()
	db := newEtcd(i.Data)
	versions := sync.Map{}
	var g errgroup.Group
	g.SetLimit(8)
	for ns := h.copies / StacksANamespace; ns <= (n-1)/StacksANamespace; ns++ {
		if ns*StacksANamespace < h.copies {
			secret := &corev1.Secret{}
			if err := i.Get(context.Background(), client.ObjectKey{Namespace: NamespaceOf(h.copies), Name: settings},
				secret); err != nil {
				i.Fatal(err)
			}
			versions.Store(NamespaceOf(h.copies), versionOf(secret))
			continue
		}
		g.Go(func() error {
			name := NamespaceOf(ns * StacksANamespace)
			versions.Store(name, versionOf(i.NewNamespace(name)))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		i.Fatal(err)
	}
	g = errgroup.Group{}
	g.SetLimit(runtime.NumCPU())
	for at := h.copies; at < n; at++ {
		g.Go(func() error {
			version, _ := versions.Load(NamespaceOf(at))
			entries, err := h.copy(at, version.(string))
			if err != nil {
				return err
			}
			return db.put(context.Background(), entries)
		})
	}
	if err := g.Wait(); err != nil {
		i.Fatal(err)
	}
	h.copies = n
}

// SizeOf returns the variable of the i-th Stack after Fill.
func SizeOf(i int) int { return i }

// copy returns the entries of the i-th Stack.
func (h *History) copy(i int, secret string) ([]keyValue, error) {
	doc := h.doc
	doc.Variables = slices.Clone(doc.Variables)
	first := string(doc.Variables[0].Value.Raw)
	doc.Variables[0].Value = number(SizeOf(i))
	doc.Versions = map[string]string{}
	for key, version := range h.doc.Versions {
		if version != h.secret {
			return nil, fmt.Errorf("%s has version %s, but %s was created", key, version, h.secret)
		}
		doc.Versions[key] = secret
	}
	data, digest, err := doc.Encode()
	if err != nil {
		return nil, err
	}
	if err := h.bucket.PutOnce(context.Background(), "inputs/"+digest, data); err != nil {
		return nil, err
	}
	swaps := []string{firstNamespace, NamespaceOf(i), firstStack, NameOf(i), h.digest, digest, `"value":` + first,
		fmt.Sprintf(`"value":%d`, SizeOf(i))}
	for _, uid := range h.uids {
		swaps = append(swaps, uid, string(uuid.NewUUID()))
	}
	swap := strings.NewReplacer(swaps...)
	var copies []keyValue
	for _, kv := range h.entries {
		key := swap.Replace(string(kv.Key))
		if i >= mostPods && strings.HasPrefix(key, "/registry/pods/") {
			continue
		}
		value, err := etcdForm(key, []byte(swap.Replace(string(kv.Value))))
		if err != nil {
			return nil, err
		}
		copies = append(copies, keyValue{[]byte(key), value})
	}
	return copies, nil
}
