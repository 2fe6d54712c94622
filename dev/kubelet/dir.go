package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// podDir is the folder of a pod.
type podDir string

func (d podDir) containers() string           { return filepath.Join(string(d), "containers") }
func (d podDir) container(name string) string { return filepath.Join(d.containers(), name) }
func (d podDir) log(container string) string  { return filepath.Join(d.container(container), "log") }
func (d podDir) workDir(container string) string {
	return filepath.Join(d.container(container), "work")
}
func (d podDir) tmpDir(container string) string { return filepath.Join(d.container(container), "tmp") }

// started says whether a container of the pod was ever started, also by an earlier kubelet.
func (d podDir) started() bool {
	_, err := os.Stat(d.containers())
	return err == nil
}

// place puts a volume's files into its folder. Files that are there are replaced, each at once.
func (d podDir) place(pod *corev1.Pod, files map[string][]file) error {
	for volume, at := range layout(&pod.Spec) {
		dir := filepath.Join(string(d), at)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume, err)
		}
		for _, f := range files[volume] {
			if err := f.write(dir); err != nil {
				return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume, err)
			}
		}
	}
	return nil
}

// unmount removes all volumes, with what is in them.
func (d podDir) unmount() error {
	return errors.Join(os.RemoveAll(filepath.Join(string(d), "fs")), os.RemoveAll(filepath.Join(string(d), "volumes")))
}

func (f file) write(dir string) error {
	if !filepath.IsLocal(f.path) { // the API server has refused it
		return fmt.Errorf("path %q leads out of the volume", f.path)
	}
	path := filepath.Join(dir, f.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, f.data, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(next, f.mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}
