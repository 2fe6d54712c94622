package kubelet

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// file is one file of a volume.
type file struct {
	path string // below the volume
	data []byte
	mode fs.FileMode
}

// filesOf are the files of a volume: a pure function of the pod and what it refers to. The errors are those of a real kubelet.
func filesOf(pod *corev1.Pod, v *corev1.Volume, in *inputs, tokens map[tokenRequest]string) ([]file, error) {
	switch {
	case v.Secret != nil:
		return secretFiles(in, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, modeOf(v.Secret.DefaultMode))
	case v.ConfigMap != nil:
		return configMapFiles(in, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, modeOf(v.ConfigMap.DefaultMode))
	case v.DownwardAPI != nil:
		return fieldFiles(pod, v.DownwardAPI.Items, modeOf(v.DownwardAPI.DefaultMode))
	case v.Projected != nil:
		return projectedFiles(pod, v.Projected, in, tokens)
	}
	return nil, nil // emptyDir
}

func projectedFiles(pod *corev1.Pod, p *corev1.ProjectedVolumeSource, in *inputs, tokens map[tokenRequest]string) ([]file, error) {
	var all []file
	mode := modeOf(p.DefaultMode)
	for _, s := range p.Sources {
		var files []file
		var err error
		switch {
		case s.Secret != nil:
			files, err = secretFiles(in, s.Secret.Name, s.Secret.Items, s.Secret.Optional, mode)
		case s.ConfigMap != nil:
			files, err = configMapFiles(in, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional, mode)
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

func secretFiles(in *inputs, name string, items []corev1.KeyToPath, optional *bool, mode fs.FileMode) ([]file, error) {
	s, err := in.secret(name, optional)
	if err != nil {
		return nil, err
	}
	return keyFiles(s.Data, items, isTrue(optional), mode, "references non-existent secret key: %s")
}

func configMapFiles(in *inputs, name string, items []corev1.KeyToPath, optional *bool, mode fs.FileMode) ([]file, error) {
	cm, err := in.configMap(name, optional)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, cm.BinaryData)
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	return keyFiles(data, items, isTrue(optional), mode, "references non-existent config key: %s")
}

// keyFiles makes a file of each key, or of each item.
func keyFiles(data map[string][]byte, items []corev1.KeyToPath, optional bool, mode fs.FileMode, missing string) ([]file, error) {
	var files []file
	if len(items) == 0 {
		for _, k := range slices.Sorted(maps.Keys(data)) {
			files = append(files, file{k, data[k], mode})
		}
		return files, nil
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			if optional {
				continue
			}
			return nil, fmt.Errorf(missing, item.Key)
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
