package planfile

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"cairn.dev/cairn/internal/engine"
)

// leftover is an object that a replacement left, which no drift of an engine lists.
type leftover struct{ address, key string }

// goneLeftovers returns the leftovers in the state before the plan that the state after it does not have any longer:
// the apply of a plan with -refresh-only removes them, and engines do not show it.
func goneLeftovers(archive *zip.Reader) ([]leftover, error) {
	before, err := leftovers(archive, "tfstate-prev")
	if err != nil {
		return nil, err
	}
	after, err := leftovers(archive, "tfstate")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(before, func(l leftover) bool { return slices.Contains(after, l) }), nil
}

// leftovers are those of a state in a plan file.
func leftovers(archive *zip.Reader, name string) ([]leftover, error) {
	files := slices.DeleteFunc(slices.Clone(archive.File), func(f *zip.File) bool { return f.Name != name })
	if len(files) != 1 {
		return nil, fmt.Errorf("it has %d times %s", len(files), name)
	}
	file, err := files[0].Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	var state struct {
		Resources []struct {
			Module    string `json:"module"`
			Type      string `json:"type"`
			Name      string `json:"name"`
			Instances []struct {
				Key     any    `json:"index_key"`
				Deposed string `json:"deposed"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err := json.NewDecoder(io.LimitReader(file, Largest)).Decode(&state); err != nil {
		return nil, fmt.Errorf("its %s cannot be read, or has more than %d MiB", name, Largest>>20)
	}
	var all []leftover
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			if i.Deposed == "" {
				continue
			}
			address := r.Type + "." + r.Name
			if r.Module != "" {
				address = r.Module + "." + address
			}
			switch key := i.Key.(type) {
			case string:
				address += "[" + engine.Quote(key) + "]"
			case float64:
				address += fmt.Sprintf("[%d]", int64(key))
			}
			all = append(all, leftover{address, i.Deposed})
		}
	}
	return all, nil
}
