package release

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cairn.dev/cairn/internal/engine"
)

// shelf stores verified programs: <folder of the product>/<version>/<os>_<arch>/<sha256 in hex>, and with the digest of
// the list of checksums after the platform where that replaced the signature. The name of a file is the digest of its
// content, and a file gets that name only once all of it is written.
type shelf struct {
	root *os.Root
	dir  string
}

const (
	draftPrefix = ".draft-"
	// draftAge is when a draft is of a process that is gone. It is more than a download may take.
	draftAge = time.Hour
)

func openShelf(dir string, now time.Time) (shelf, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return shelf{}, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return shelf{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return shelf{}, err
	}
	s := shelf{root: root, dir: dir}
	if err := s.removeDrafts(now); err != nil {
		return shelf{}, errors.Join(err, root.Close())
	}
	return s, nil
}

// removeDrafts removes the files of a process that was killed during a download.
func (s shelf) removeDrafts(now time.Time) error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), draftPrefix) && now.Sub(info.ModTime()) > draftAge {
			err = s.root.Remove(e.Name())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// find returns the program that is kept.
func (s shelf) find(m engine.Release, w wanted) (Program, bool, error) {
	at := path.Join(m.Folder, w.folder())
	entries, err := fs.ReadDir(s.root.FS(), at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Program{}, false, fmt.Errorf("find %s %s: %w", w.product, w.version, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !hexDigest.MatchString(e.Name()) {
			continue
		}
		return Program{
			Path:     filepath.Join(s.dir, filepath.FromSlash(at), e.Name()),
			Digest:   "sha256:" + e.Name(),
			Size:     info.Size(),
			Version:  w.version,
			Unsigned: w.pin != "",
		}, true, nil
	}
	return Program{}, false, nil
}

// versions are those of a product that have a program here, for whatever platform.
func (s shelf) versions(m engine.Release) []string {
	kept, err := fs.Glob(s.root.FS(), m.Folder+"/*/*/*")
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range kept {
		if hexDigest.MatchString(path.Base(name)) {
			names = append(names, path.Base(path.Dir(path.Dir(name))))
		}
	}
	return names
}

// draft is a file that is not yet visible as a program.
func (s shelf) draft() (*os.File, error) {
	return s.root.OpenFile(draftPrefix+rand.Text(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// discard closes a draft, and removes it if it is still one.
func (s shelf) discard(draft *os.File) error {
	err := s.root.Remove(filepath.Base(draft.Name()))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(draft.Close(), err)
}

// keep turns a draft into the program.
func (s shelf) keep(draft *os.File, sum string, m engine.Release, w wanted) error {
	at := path.Join(m.Folder, w.folder())
	if err := s.root.MkdirAll(at, 0o750); err != nil {
		return err
	}
	if err := errors.Join(draft.Chmod(0o555), draft.Sync()); err != nil {
		return err
	}
	return s.root.Rename(filepath.Base(draft.Name()), path.Join(at, sum))
}

// Program is a program that was verified and is kept.
type Program struct {
	// Path of the program. It can be executed.
	Path string
	// Digest of the program: sha256: and hex.
	Digest string
	// Size in bytes.
	Size int64
	// Version without a v. Example: 1.12.6.
	Version string
	// Unsigned: it has no signature, and was accepted by the digest in Options.Unsigned.
	Unsigned bool
}

// Open opens the program after it has read all of it and found it to be what was verified. One that has changed is
// removed, and the error is ErrDamaged. The caller closes the file.
func (p Program) Open() (*os.File, error) {
	file, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err == nil && "sha256:"+hex.EncodeToString(hash.Sum(nil)) != p.Digest {
		err = errors.Join(fmt.Errorf("%w: %s", ErrDamaged, p.Path), os.Remove(p.Path))
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
