package server

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Errors of ledger folders.
var (
	// ErrNoLedger says that a folder holds no ledger.
	ErrNoLedger = errors.New("folder holds no ledger")
	// ErrLedgerExists says that a folder holds a ledger already, or the
	// beginning of one.
	ErrLedgerExists = errors.New("folder holds a ledger already")
	// ErrOtherLedger says that a folder and its history are not of one ledger.
	ErrOtherLedger = errors.New("history is of another ledger")
	// ErrNotRunning says that no service runs on a folder.
	ErrNotRunning = errors.New("no service runs on this folder")
)

// folderSchema is the version of ledger.json.
const folderSchema = "deed.folder/v1"

// Folder is a ledger's folder.
type Folder struct {
	Dir string `json:"-"`
	// Schema is the version of this file.
	Schema string `json:"schema"`
	Ledger string `json:"ledger"`
	// Identity is the eventhash of the genesis event.
	Identity string `json:"identity"`
	// Service is the service's public key as text.
	Service string `json:"service"`
}

// Credential is what a client shows to the embedded server.
type Credential struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// Running says where a service listens.
type Running struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// StoreDir is where the embedded server keeps the stream.
func (f Folder) StoreDir() string { return f.path("store") }

// HeadsPath is the log of retained heads.
func (f Folder) HeadsPath() string { return f.path("heads") }

// KeyPath is the service's private key.
func (f Folder) KeyPath() string { return f.path("service.key") }

// LogPath is where a service in the background writes its log.
func (f Folder) LogPath() string { return f.path("service.log") }

// OpenFolder reads what ledger a folder holds. ErrNoLedger without one.
func OpenFolder(dir string) (Folder, error) {
	f, err := ReadPin(filepath.Join(dir, "ledger.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Folder{}, fmt.Errorf("open folder %s: %w", dir, ErrNoLedger)
	}
	if err != nil {
		return Folder{}, fmt.Errorf("open folder %s: %w", dir, err)
	}
	f.Dir = dir
	return f, nil
}

// ReadPin reads what ledger a file like ledger.json names; Dir stays empty.
func ReadPin(path string) (Folder, error) {
	var f Folder
	if err := readJSON(path, &f); err != nil {
		return Folder{}, err
	}
	if f.Schema != folderSchema || !events.ValidLedger(f.Ledger) {
		return Folder{}, fmt.Errorf("ledger.json has schema %q and ledger %q", f.Schema, f.Ledger)
	}
	_, errID := events.ParseHash(f.Identity)
	_, errKey := f.ServiceKey()
	if err := errors.Join(errID, errKey); err != nil {
		return Folder{}, fmt.Errorf("ledger.json: %w", err)
	}
	return f, nil
}

// ServiceKey parses the service's public key.
func (f Folder) ServiceKey() (signer.PublicKey, error) { return signer.ParsePublicKey(f.Service) }

// Running returns where the folder's service listens; PID is 0 when that is
// elsewhere, see [WriteRemote]. ErrNotRunning when there is no run.json; whether
// the process still lives is not looked at.
func (f Folder) Running() (Running, error) {
	if url, joined, err := f.Remote(); joined || err != nil {
		return Running{URL: url}, err
	}
	var r Running
	err := readJSON(f.path("run.json"), &r)
	if e, ok, eerr := f.Entrance(); ok && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		r.URL = e.URL // whoever runs, it is asked there
		return r, nil
	} else if eerr != nil {
		return Running{}, eerr
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Running{}, fmt.Errorf("folder %s: %w", f.Dir, ErrNotRunning)
	}
	return r, err
}

// InUse reports whether a process has the folder's history open: a service, or
// a [Reader]. It ends with that process, however it ends.
func (f Folder) InUse() (bool, error) {
	busy, err := embedded.InUse(f.StoreDir())
	if err != nil || busy {
		return busy, err
	}
	return embedded.InUse(f.Dir) // the lock of a ledger that is kept elsewhere
}

// Credential reads the clients' connection credential.
func (f Folder) Credential() (Credential, error) {
	var c Credential
	if err := readJSON(f.path("client.json"), &c); err != nil {
		return Credential{}, fmt.Errorf("read credential: %w", err)
	}
	return c, nil
}

// newCredential makes and writes a random credential.
func (f Folder) newCredential(random io.Reader, user string) error {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(random, secret); err != nil {
		return fmt.Errorf("make credential: %w", err)
	}
	return writeJSON(f.path("client.json"), Credential{User: user, Password: hex.EncodeToString(secret)})
}

// maxFile bounds the small files of a folder.
const maxFile = 64 << 10

func readJSON(path string, v any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(text, v, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces a small file as a whole, durably, mode 0600.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v, jsontext.Multiline(true))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, io.MultiReader(bytes.NewReader(text), bytes.NewReader([]byte("\n"))))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames and new files in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
