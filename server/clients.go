package server

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/deedledger/deed/client"
)

// Entrance is how clients get into an operator's NATS that keeps a ledger.
type Entrance struct {
	URL string `json:"url"`
	client.Access
}

// WriteEntrance keeps, in the folder of a ledger, how clients of this machine
// get to its service: clients.json. A folder that holds no history and no
// service's key is one of a joined ledger, see [WriteRemote].
func WriteEntrance(f Folder, e Entrance) error {
	if err := client.CheckURL(e.URL); err != nil {
		return fmt.Errorf("keep entrance of ledger %s: %w", f.Ledger, err)
	}
	if err := hasStore(f); err == nil {
		return fmt.Errorf("keep entrance of ledger %s in %s: %w", f.Ledger, f.Dir, ErrNotExternal)
	}
	return writeJSON(f.path("clients.json"), e)
}

// Entrance returns how clients get to the folder's service; ok is false where
// the folder does not say.
func (f Folder) Entrance() (e Entrance, ok bool, err error) {
	err = readJSON(f.path("clients.json"), &e)
	if errors.Is(err, fs.ErrNotExist) {
		return Entrance{}, false, nil
	}
	return e, err == nil, err
}

// WriteOutside makes the folder of a ledger that an operator's NATS keeps, for
// clients of this machine. ErrLedgerExists for a folder with a history.
func WriteOutside(f Folder, e Entrance) error {
	if err := client.CheckURL(e.URL); err != nil {
		return fmt.Errorf("join ledger %s: %w", f.Ledger, err)
	}
	if err := WriteRemote(f, e.URL, Credential{}); err != nil {
		return err
	}
	return WriteEntrance(f, e)
}
