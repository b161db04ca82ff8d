package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrRemote says that a folder is of a ledger whose service runs elsewhere: this
// machine joined it and holds no history of it.
var ErrRemote = errors.New("the ledger's service runs elsewhere")

// remote is the content of remote.json.
type remote struct {
	URL string `json:"url"`
}

// WriteRemote makes or completes the folder of a joined ledger: who it is, where
// its service listens and with what credential. Each file is replaced as a whole,
// so a process that dies meanwhile can do it again. It returns ErrLedgerExists for
// a folder that has a history of its own.
func WriteRemote(f Folder, url string, c Credential) error {
	f.Schema = folderSchema
	if err := hasStore(f); err == nil {
		return fmt.Errorf("join ledger %s in %s: %w", f.Ledger, f.Dir, ErrLedgerExists)
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("join ledger %s: %w", f.Ledger, err)
	}
	// ledger.json last: with it the folder is one.
	for _, file := range []struct {
		name    string
		content any
	}{{"remote.json", remote{URL: url}}, {"client.json", c}, {"ledger.json", f}} {
		if err := writeJSON(f.path(file.name), file.content); err != nil {
			return fmt.Errorf("join ledger %s: %w", f.Ledger, err)
		}
	}
	return nil
}

// Remote reports whether the folder's ledger was joined, and where its service
// listens.
func (f Folder) Remote() (url string, joined bool, err error) {
	var r remote
	err = readJSON(f.path("remote.json"), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return r.URL, err == nil, err
}

// local returns ErrRemote for the folder of a joined ledger.
func (f Folder) local() error {
	url, joined, err := f.Remote()
	if joined {
		return fmt.Errorf("folder %s: %w, at %s", f.Dir, ErrRemote, url)
	}
	return err
}
