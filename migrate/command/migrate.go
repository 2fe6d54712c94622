package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/migration"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/migrate"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

func convertObjects(ctx context.Context, s *session.Session, o migration.MigrateOptions) error {
	var objects []unstructured.Unstructured
	var err error
	if o.FromCluster {
		objects, err = clusterObjects(ctx, s, o.AllNamespaces)
	} else {
		objects, err = readObjects(ctx, s, o.Files)
	}
	if err != nil {
		return err
	}
	result, err := migrate.Convert(objects)
	if err != nil {
		return err
	}
	if !o.KeepApply {
		result.Hold()
	}
	if len(objects) == 0 {
		s.Note("There is nothing to convert.")
	}
	return printMigration(s, result, o.Format)
}

// printMigration prints manifests to standard output and notes to standard error, or both as one document.
func printMigration(s *session.Session, result convert.Result, format string) error {
	if format != "" {
		objects, err := result.Objects()
		if err != nil {
			return err
		}
		return s.PrintValue(format, struct {
			Objects []map[string]any `json:"objects"`
			Notes   []manifest.Note  `json:"notes"`
		}{objects, result.Notes})
	}
	text, err := result.Manifests()
	if err != nil {
		return err
	}
	fmt.Fprint(s.ErrOut, manifest.Text(result.Notes))
	_, err = s.Out.Write(text)
	return err
}

// readObjects reads the objects of files.
func readObjects(ctx context.Context, s *session.Session, names []string) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	var errs []error
	for _, name := range names {
		found, err := readNamed(ctx, s, name)
		if err != nil {
			errs = append(errs, err)
		}
		objects = append(objects, found...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if namespace := s.Overrides.Context.Namespace; namespace != "" {
		migrate.InNamespace(objects, namespace)
	}
	return objects, nil
}

// largestManifest is the limit of a file with manifests, in bytes.
const largestManifest = 64 << 20

func readNamed(ctx context.Context, s *session.Session, name string) ([]unstructured.Unstructured, error) {
	if name == "-" {
		text, err := s.ReadInput(ctx, largestManifest+1)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return readText(text, "standard input")
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readManifest(name)
	}
	var objects []unstructured.Unstructured
	var errs []error
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		found, err := readManifest(path)
		if err != nil {
			errs = append(errs, err)
		}
		objects = append(objects, found...)
		return nil
	})
	return objects, errors.Join(append(errs, err)...)
}

func readManifest(path string) (objects []unstructured.Unstructured, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := io.ReadAll(io.LimitReader(file, largestManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return readText(text, path)
}

func readText(text []byte, name string) ([]unstructured.Unstructured, error) {
	if len(text) > largestManifest {
		return nil, fmt.Errorf("%s is larger than %d MiB: split it", name, largestManifest>>20)
	}
	objects, err := migrate.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return objects, nil
}

// pageSize is the number of objects in a page of a list.
const pageSize = 250

// clusterObjects returns the objects of other systems in the cluster, with the sources and ConfigMaps that they name.
// It reads no Secrets.
func clusterObjects(ctx context.Context, s *session.Session, everywhere bool) ([]unstructured.Unstructured, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	namespace := ""
	if !everywhere {
		if namespace, err = s.Namespace(); err != nil {
			return nil, err
		}
	}
	var objects []unstructured.Unstructured
	for _, kind := range migrate.Kinds() {
		served, err := servedVersion(s, c, kind)
		if err != nil {
			return nil, err
		}
		if served == "" {
			continue
		}
		found, err := listAll(ctx, c, kind.GroupKind.WithVersion(served), namespace)
		if err != nil {
			return nil, s.Explain(fmt.Errorf("list %s.%s: %w", kind.Resource, kind.Group, err))
		}
		objects = append(objects, found...)
	}
	if len(objects) == 0 {
		where := "namespace " + namespace
		if everywhere {
			where = "the cluster"
		}
		s.Note("No object of %s is in %s.", migration.Systems, where)
	}
	for _, ref := range migrate.References(objects) {
		served, err := servedVersion(s, c, ref.Kind)
		if err != nil || served == "" {
			continue
		}
		o := unstructured.Unstructured{}
		o.SetGroupVersionKind(ref.GroupKind.WithVersion(served))
		switch err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &o); {
		case err == nil:
			objects = append(objects, o)
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // the notes list what is missing
			s.Note("%s %s/%s is not read: %v", ref.GroupKind.Kind, ref.Namespace, ref.Name, err)
		default:
			return nil, s.Explain(err)
		}
	}
	return objects, nil
}

// servedVersion returns the preferred version of a kind that the cluster serves; empty if it serves none.
func servedVersion(s *session.Session, c client.Client, kind convert.Kind) (string, error) {
	for _, version := range kind.Versions {
		mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind, version)
		switch {
		case err == nil:
			return mapping.GroupVersionKind.Version, nil
		case !apimeta.IsNoMatchError(err):
			return "", s.Explain(err)
		}
	}
	return "", nil
}

// listAll lists the objects of a kind, a page at a time.
func listAll(
	ctx context.Context, c client.Client, gvk schema.GroupVersionKind, namespace string,
) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return nil, err
		}
		objects = append(objects, list.Items...)
		if next = list.GetContinue(); next == "" {
			return objects, nil
		}
	}
}
