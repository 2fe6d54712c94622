//go:build linux

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Image is a small image of files, enough to run a program of a test in a pod.
type Image struct {
	// Ref is its name with a registry, such as registry.local/probe:1: the kubelet reads names without one as Docker
	// Hub's.
	Ref string
	// Files maps paths in the image to paths on this machine. All users can read and execute them.
	Files map[string]string
	// Entrypoint is the command, which runs without a shell.
	Entrypoint []string
}

// Write writes the image as an OCI archive, for Load. The same files lead to the same image.
func (i Image) Write(path string) error {
	layer, err := i.layer()
	if err != nil {
		return fmt.Errorf("write image %s: %w", i.Ref, err)
	}
	type object = map[string]any
	var blobs [][]byte
	blob := func(mediaType string, content []byte) object {
		blobs = append(blobs, content)
		return object{"mediaType": mediaType, "digest": "sha256:" + digest(content), "size": len(content)}
	}
	document := func(mediaType string, o object) object {
		content, err := json.Marshal(o)
		if err != nil {
			panic(err) // strings and numbers
		}
		return blob(mediaType, content)
	}
	const media = "application/vnd.oci.image."
	manifest := document(media+"manifest.v1+json", object{
		"schemaVersion": 2,
		"mediaType":     media + "manifest.v1+json",
		"config": document(media+"config.v1+json", object{
			"os": "linux", "architecture": runtime.GOARCH,
			"config": object{"Entrypoint": i.Entrypoint},
			"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
		}),
		"layers": []object{blob(media+"layer.v1.tar", layer)},
	})
	manifest["annotations"] = object{"io.containerd.image.name": i.Ref}
	index, err := json.Marshal(object{"schemaVersion": 2, "manifests": []object{manifest}})
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	add := func(name string, content []byte) {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, wrong := w.Write(content)
		err = errors.Join(err, wrong)
	}
	add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	add("index.json", index)
	for _, content := range blobs {
		add("blobs/sha256/"+digest(content), content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("write image %s: %w", i.Ref, err)
	}
	return os.WriteFile(path, archive.Bytes(), 0o600)
}

// layer returns a layer with the files and a /tmp that all users can write to.
func (i Image) layer() ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777,
		ModTime: time.Unix(0, 0)}); err != nil {
		return nil, err
	}
	for _, name := range sorted(i.Files) {
		content, err := os.ReadFile(i.Files[name])
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(content)),
			ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return layer.Bytes(), w.Close()
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// writePause writes the image of pause.
func (n *Node) writePause() error {
	return Image{Ref: pauseImage, Files: map[string]string{"/pause": n.path("pause")},
		Entrypoint: []string{"/pause"}}.Write(n.path("pause.tar"))
}

// Build builds a Go package as a static program.
func Build(ctx context.Context, pkg, out string) error {
	// Not `run`, since this needs the environment with Go's caches and one more variable.
	_, err := run(ctx, "", "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
	if err != nil {
		return fmt.Errorf("build %s: %w", filepath.Base(out), err)
	}
	return nil
}

// registries is the folder with containerd's configuration of registries.
const registries = "registries"

// Plain configures the node to pull from a registry over HTTP.
func (n *Node) Plain(registry string) error {
	dir := filepath.Join(n.path(registries), registry)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "hosts.toml"),
		fmt.Appendf(nil, "server = \"http://%s\"\n\n[host.\"http://%s\"]\ncapabilities = [\"pull\", \"resolve\"]\n",
			registry, registry), 0o600)
}

// Load imports the images of an OCI or Docker archive into the node. A pod uses one by its name and pull policy Never
// or IfNotPresent.
func (n *Node) Load(ctx context.Context, archive string) error {
	out, err := n.ctr(ctx, "images", "import", "--local", archive)
	if err != nil {
		return err
	}
	// Only with --local, the output has the names: unpacking registry.local/pause:1 (sha256:8ef1...)...done
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, "unpacking ")
		if !ok {
			continue
		}
		ref, _, _ := strings.Cut(rest, " ")
		// The CRI plugin of containerd registers the image asynchronously, and sets a label.
		if err := n.await(ctx, "image "+ref, func() error {
			found, err := n.ctr(ctx, "images", "ls", "-q",
				fmt.Sprintf(`name==%q,labels."io.cri-containerd.image"==managed`, ref))
			if err == nil && strings.TrimSpace(found) == "" {
				err = errors.New("not there")
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
