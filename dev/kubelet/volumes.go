package kubelet

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// file is one file of a volume.
type file struct {
	path string // below the volume
	data []byte
	mode fs.FileMode
}

// filesOf are the files of a volume: a pure function of the pod and what it refers to. The errors are those of a real
// kubelet.
func filesOf(pod *corev1.Pod, v *corev1.Volume, in *inputs, tokens map[tokenRequest]string) ([]file, error) {
	switch {
	case v.Secret != nil:
		of := reference{secret, v.Secret.SecretName}
		return objectFiles(in, of, v.Secret.Items, v.Secret.Optional, modeOf(v.Secret.DefaultMode))
	case v.ConfigMap != nil:
		of := reference{configMap, v.ConfigMap.Name}
		return objectFiles(in, of, v.ConfigMap.Items, v.ConfigMap.Optional, modeOf(v.ConfigMap.DefaultMode))
	case v.DownwardAPI != nil:
		return fieldFiles(pod, v.DownwardAPI.Items, modeOf(v.DownwardAPI.DefaultMode))
	case v.Projected != nil:
		return projectedFiles(pod, v.Projected, in, tokens)
	}
	return nil, nil // emptyDir
}

func projectedFiles(
	pod *corev1.Pod, p *corev1.ProjectedVolumeSource, in *inputs, tokens map[tokenRequest]string,
) ([]file, error) {
	var all []file
	mode := modeOf(p.DefaultMode)
	for _, s := range p.Sources {
		var files []file
		var err error
		switch {
		case s.Secret != nil:
			files, err = objectFiles(in, reference{secret, s.Secret.Name}, s.Secret.Items, s.Secret.Optional, mode)
		case s.ConfigMap != nil:
			files, err = objectFiles(in, reference{configMap, s.ConfigMap.Name}, s.ConfigMap.Items,
				s.ConfigMap.Optional, mode)
		case s.DownwardAPI != nil:
			files, err = fieldFiles(pod, s.DownwardAPI.Items, mode)
		case s.ServiceAccountToken != nil:
			token, ok := tokens[requestOf(s.ServiceAccountToken)]
			if !ok {
				return nil, fmt.Errorf("no token for audience %q", s.ServiceAccountToken.Audience)
			}
			files = []file{{s.ServiceAccountToken.Path, []byte(token), mode}}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// objectFiles makes a file of each key of an object, or of each item.
func objectFiles(
	in *inputs, of reference, items []corev1.KeyToPath, optional *bool, mode fs.FileMode,
) ([]file, error) {
	c, err := in.get(of, optional)
	if err != nil {
		return nil, err
	}
	data := maps.Clone(c.binary)
	if data == nil {
		data = map[string][]byte{}
	}
	maps.Copy(data, c.data)
	var files []file
	if len(items) == 0 {
		for _, k := range slices.Sorted(maps.Keys(data)) {
			files = append(files, file{k, data[k], mode})
		}
		return files, nil
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok && ptr.Deref(optional, false) {
			continue
		}
		if !ok {
			kind := map[string]string{secret: "secret", configMap: "config"}[of.kind]
			return nil, fmt.Errorf("references non-existent %s key: %s", kind, item.Key)
		}
		f := file{item.Path, content, mode}
		if item.Mode != nil {
			f.mode = modeOf(item.Mode)
		}
		files = append(files, f)
	}
	return files, nil
}

func fieldFiles(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode fs.FileMode) ([]file, error) {
	var files []file
	for _, item := range items {
		if item.FieldRef == nil {
			return nil, fmt.Errorf("file %s has a source that the kubelet of cairn dev does not know", item.Path)
		}
		value, ok := field(pod, item.FieldRef.FieldPath)
		if !ok {
			return nil, fmt.Errorf("unsupported fieldPath: %v", item.FieldRef.FieldPath)
		}
		f := file{item.Path, []byte(value), mode}
		if item.Mode != nil {
			f.mode = modeOf(item.Mode)
		}
		files = append(files, f)
	}
	return files, nil
}

// modeOf is a mode of the API, where 0644 is the default.
func modeOf(mode *int32) fs.FileMode {
	if mode == nil {
		return 0o644
	}
	return fs.FileMode(*mode) & fs.ModePerm
}
