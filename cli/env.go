package cli

import (
	"errors"
	"io"
	"path/filepath"
	"time"
)

// Env is everything that commands take from the outside. Only package main
// fills it from the process.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Args is the command line without the program's name.
	Args []string
	// Getenv reads an environment variable; Environ lists all of them, for the
	// minimal environments of child processes.
	Getenv  func(string) string
	Environ func() []string
	// Dir is the working directory, Executable the path of this binary, PID
	// this process, Host the machine's name.
	Dir        string
	Executable string
	PID        int
	Host       string
	// Terminal says whether Stdout is one; Prompt asks on a terminal without
	// echo, nil where there is none.
	Terminal bool
	Prompt   func(label string) ([]byte, error)
	Now      func() time.Time
	NewID    func() string
	Random   io.Reader
	Version  string
}

// places are the folders that deed uses for one person on one machine.
type places struct {
	Config string // contexts and keys
	State  string // remembered heads
	Data   string // ledgers
}

// places returns the folders: below DEED_HOME when it is set, else where the
// XDG base directory specification puts them.
func (e *Env) places() (places, error) {
	if home := e.Getenv("DEED_HOME"); home != "" {
		return places{Config: filepath.Join(home, "config"), State: filepath.Join(home, "state"), Data: filepath.Join(home, "data")}, nil
	}
	home := e.Getenv("HOME")
	dir := func(variable, fallback string) string {
		if v := e.Getenv(variable); filepath.IsAbs(v) {
			return filepath.Join(v, "deed")
		}
		return filepath.Join(home, fallback, "deed")
	}
	if home == "" {
		return places{}, errors.New("find folders: neither DEED_HOME nor HOME is set")
	}
	return places{
		Config: dir("XDG_CONFIG_HOME", ".config"), State: dir("XDG_STATE_HOME", ".local/state"), Data: dir("XDG_DATA_HOME", ".local/share"),
	}, nil
}

// KeyPath returns where the private key with a name lies.
func (p places) KeyPath(name string) string { return filepath.Join(p.Config, "keys", name+".key") }

// ContextPath returns where the context with a name lies.
func (p places) ContextPath(name string) string {
	return filepath.Join(p.Config, "contexts", name+".json")
}

// SelectedPath returns the file that names the selected context.
func (p places) SelectedPath() string { return filepath.Join(p.Config, "context") }

// LedgerDir returns the default folder of a ledger.
func (p places) LedgerDir(name string) string { return filepath.Join(p.Data, "ledgers", name) }

// JoinedDir returns the folder of a ledger that this machine joined.
func (p places) JoinedDir(ledger, identity string) string {
	return filepath.Join(p.Data, "joined", ledger+"-"+identity[:min(16, len(identity))])
}

// HeadPath returns the file that remembers a ledger's newest head.
func (p places) HeadPath(ledger, identity string) string {
	return filepath.Join(p.State, "heads", ledger+"-"+identity[:min(16, len(identity))])
}
