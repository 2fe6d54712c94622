// Package convert has the commands that write the objects of Cairn from those of other systems, or from code: `cairn migrate` and `cairn generate`.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/migrate"
	"cairn.dev/cairn/internal/migrate/convert"
	"cairn.dev/cairn/internal/migrate/manifest"
)

// migrating are the flags of migrate.
type migrating struct {
	files                             []string
	fromCluster, everywhere, keepRule bool
	format                            string
}

func migrateCommand(s *session.Session) *cobra.Command {
	var m migrating
	cmd := &cobra.Command{
		Use:   "migrate (-f FILE... | --from-cluster)",
		Short: "Convert objects of another system to Stacks",
		Long: `Makes Stacks and Repositories of objects of ` + migrate.Systems() + `, and changes nothing: manifests go to standard
output, and to standard error what each field became, or why it became nothing and what to do. States stay where they are wherever the engine can
reach them there.

The Stacks are safe for the day of moving: a plan that has changes waits (apply: Manual), and deleting a Stack leaves all that it made
(deletionPolicy: Orphan). --keep-apply keeps what the objects said.

Values of Secrets are never read: of a Secret in a file only the names of its keys are looked at, and --from-cluster reads no Secrets at all. It lists the
kinds above that the cluster has, and gets the sources and ConfigMaps that they name. What is wrong in an input ends it: then nothing is printed.`,
		Example: s.Examples(`
			cairn migrate -f terraform.yaml > stacks.yaml
			cairn migrate -f manifests/ -n infra 2> notes.txt
			kubectl get terraforms -A -o yaml | cairn migrate -f -
			cairn migrate --from-cluster -A
			cairn migrate --from-cluster -n infra --keep-apply | kubectl apply -f -`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := session.CheckFormat(m.format, session.FormatJSON, session.FormatYAML); err != nil {
				return err
			}
			return convertObjects(cmd.Context(), s, m)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringArrayVarP(&m.files, "filename", "f", nil, "file with objects, folder of *.yaml, *.yml and *.json files with all below it, or - for standard input")
	f.BoolVar(&m.fromCluster, "from-cluster", false, "take the objects that are in the cluster")
	f.BoolVarP(&m.everywhere, "all-namespaces", "A", false, "with --from-cluster: of all namespaces")
	f.BoolVar(&m.keepRule, "keep-apply", false, "keep what the objects say of applying and of deleting, in place of Manual and Orphan")
	f.StringVarP(&m.format, "output", "o", "", "json or yaml: one document with objects and notes on standard output")
	cmd.MarkFlagsOneRequired("filename", "from-cluster")
	cmd.MarkFlagsMutuallyExclusive("filename", "from-cluster")
	return cmd
}

func convertObjects(ctx context.Context, s *session.Session, m migrating) error {
	var objects []unstructured.Unstructured
	var err error
	if m.fromCluster {
		objects, err = othersObjects(ctx, s, m.everywhere)
	} else {
		objects, err = readObjects(ctx, s, m.files)
	}
	if err != nil {
		return err
	}
	result, err := migrate.Convert(objects)
	if err != nil {
		return err
	}
	if !m.keepRule {
		result.Hold()
	}
	if len(objects) == 0 {
		s.Note("There is nothing to convert.")
	}
	return printMigration(s, result, m.format)
}

// printMigration prints manifests and, beside them, notes; or both as one document.
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
	var wrong []error
	for _, name := range names {
		found, err := readNamed(ctx, s, name)
		if err != nil {
			wrong = append(wrong, err)
		}
		objects = append(objects, found...)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if namespace := s.Overrides.Context.Namespace; namespace != "" {
		migrate.InNamespace(objects, namespace)
	}
	return objects, nil
}

// largestManifest is how many bytes of manifests are read of one file.
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
	var wrong []error
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		found, err := readManifest(path)
		if err != nil {
			wrong = append(wrong, err)
		}
		objects = append(objects, found...)
		return nil
	})
	return objects, errors.Join(append(wrong, err)...)
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
		return nil, fmt.Errorf("%s: more than %d MiB: give it in parts", name, largestManifest>>20)
	}
	objects, err := manifest.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return objects, nil
}

// pageOfObjects is how many objects are asked for at once.
const pageOfObjects = 250

// othersObjects are the objects of other systems in the cluster, with the sources and ConfigMaps that they name. Secrets are not read.
func othersObjects(ctx context.Context, s *session.Session, everywhere bool) ([]unstructured.Unstructured, error) {
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
		s.Note("No object of %s is in %s.", migrate.Systems(), where)
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
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // the notes say what is missing for it
			s.Note("%s %s/%s is not read: %v", ref.GroupKind.Kind, ref.Namespace, ref.Name, err)
		default:
			return nil, s.Explain(err)
		}
	}
	return objects, nil
}

// servedVersion is the best version of a kind that is known and that the cluster has; empty when it has none.
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
func listAll(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(pageOfObjects), client.Continue(next)); err != nil {
			return nil, err
		}
		objects = append(objects, list.Items...)
		if next = list.GetContinue(); next == "" {
			return objects, nil
		}
	}
}

// Commands are the commands that create Stacks from what a user has: objects of other systems, and code.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{migrateCommand(s), generateCommand(s)}
}
