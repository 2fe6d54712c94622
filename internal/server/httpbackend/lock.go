package httpbackend

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state"
)

// checkMD5 compares the body with the header that the engine sends along.
func CheckMD5(r *http.Request, data []byte) error {
	want := r.Header.Get("Content-MD5")
	if want != "" && want != ContentMD5(data) {
		return httpapi.Errorf(http.StatusBadRequest, "the body was changed on its way: Content-MD5 does not match")
	}
	return nil
}

func ContentMD5(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // the engine's protocol; it guards against broken transports, not people
	return base64.StdEncoding.EncodeToString(sum[:])
}

func WriteState(w http.ResponseWriter, data []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, err := w.Write(data)
	return err
}

// maxLockText is how long what an engine says of a lock may be.
const MaxLockText = 253

// largestLockInfo is more than any that an engine sends.
const MaxLockInfo = 64 << 10

// lockInfo is the engines' description of a lock.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

func ParseLockInfo(data []byte) (LockInfo, error) {
	var info LockInfo
	if err := json.Unmarshal(data, &info); err != nil || info.ID == "" || len(info.ID) > MaxLockText {
		return LockInfo{}, httpapi.Errorf(http.StatusBadRequest, "the body has to be a lock's info with an ID")
	}
	return info, nil
}

// inTheWay says in the engines' words why a lock is not to be had. What is in the way need not be a lock. An engine
// that may wait for it (-lock-timeout) wants an ID all the same, and of an answer Terraform 1.5 shows nothing else to
// its user.
func LockConflict(refused *state.Refusal, path string) LockInfo {
	lock := refused.Lock
	if lock == nil {
		return LockInfo{ID: refused.Message, Path: path}
	}
	return LockInfo{
		ID: lock.ID, Info: refused.Message, Who: cmp.Or(lock.By, lock.Who), Created: lock.Since.UTC(), Path: path,
	}
}
