// Package httpbackend has the parts of the engines' http backend protocol that runners and users share.
package httpbackend

import (
	"cmp"
	"crypto/md5" //nolint:gosec // the protocol of the engine; it detects broken transports, not attackers
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

// CheckMD5 compares a body with the checksum that the engine sends with it.
func CheckMD5(r *http.Request, data []byte) error {
	want := r.Header.Get("Content-MD5")
	if want != "" && want != ContentMD5(data) {
		return httpapi.Errorf(http.StatusBadRequest, "the body was changed on its way: Content-MD5 does not match")
	}
	return nil
}

// ContentMD5 returns the value of the header Content-MD5.
func ContentMD5(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // the engine's protocol; it guards against broken transports, not attackers
	return base64.StdEncoding.EncodeToString(sum[:])
}

// WriteState sends a state.
func WriteState(w http.ResponseWriter, data []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, err := w.Write(data)
	return err
}

// MaxLockText is the largest length of an ID or a name in a lock.
const MaxLockText = 253

// MaxLockInfo is the largest size of a LockInfo; engines send less.
const MaxLockInfo = 64 << 10

// LockInfo is the engines' description of a lock.
type LockInfo struct {
	ID        string
	Operation string
	Info      string
	Who       string
	Version   string
	Created   time.Time
	Path      string
}

// ParseLockInfo parses the body of a LOCK or UNLOCK.
func ParseLockInfo(data []byte) (LockInfo, error) {
	var info LockInfo
	if err := json.Unmarshal(data, &info); err != nil || info.ID == "" || len(info.ID) > MaxLockText {
		return LockInfo{}, httpapi.Errorf(http.StatusBadRequest, "the body has to be a lock's info with an ID")
	}
	return info, nil
}

// LockConflict describes in the form of engines why a lock was rejected. That need not be another lock. An engine that
// may wait (-lock-timeout) requires an ID all the same, and Terraform 1.5 shows nothing else of the answer to its user.
func LockConflict(refused *decision.Rejection, path string) LockInfo {
	lock := refused.Lock
	if lock == nil {
		return LockInfo{ID: refused.Message, Path: path}
	}
	return LockInfo{
		ID: lock.ID, Info: refused.Message, Who: cmp.Or(lock.By, lock.Who), Created: lock.Since.UTC(), Path: path,
	}
}
