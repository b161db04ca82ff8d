package tidy

import (
	"fmt"
	"slices"
	"strings"
)

// shellFile is a file in a pure package that is allowed to touch the world.
type shellFile struct {
	path string
	why  string
}

// purePackages are pure but for the files that shellFiles names.
func purePackages() []string {
	return []string{"events", "schemas", "signer", "boundary", "projections", "evidence", "ledger"}
}

// shellFiles lists the shell of packages whose core is pure.
func shellFiles() []shellFile {
	return []shellFile{
		{"evidence/headfile.go", "keeps the last head that a client saw in a file"},
		{"evidence/headlog.go", "keeps the heads that the service signed in a file"},
		{"ledger/standby.go", "the shell of a second instance: follows the journal, and begins and ends to lead"},
		{"ledger/reach.go", "lets a reader wait until the writer has come to a position"},
		{"ledger/writer.go", "the shell of admission: one goroutine, its ticker, the operators' log; what it decides comes from the rules"},
		{"signer/keyfile.go", "keeps private keys in files: reads the disk, draws keys"},
		{"signer/kms.go", "runs the program that holds a private key, for a bounded time"},
	}
}

// admittedImport lets one pure file import one worldly package, for the part of it that is pure.
type admittedImport struct {
	path string
	imp  string
	why  string
}

// admittedImports are read in review: the clock calls below stay forbidden in these files too.
func admittedImports() []admittedImport {
	return []admittedImport{
		{"events/profile.go", "time", "checks the one spelling of the time attribute; never asks for the time"},
		{"ledger/audit.go", "context", "hands it to the journal that it reads"},
		{"ledger/create.go", "context", "hands it to the journal that it appends to"},
		{"ledger/create.go", "time", "takes the instant as an argument"},
		{"ledger/order.go", "context", "an append that was begun is settled whatever its client does"},
		{"ledger/heartbeat.go", "context", "waits for the writer's turn; what it decides takes none"},
		{"ledger/lease.go", "time", "terms and deadlines over instants that are arguments"},
		{"ledger/policy_grid.go", "time", "names the weekday of an instant that is an argument"},
		{"ledger/question.go", "time", "splits an admission stamp into date, weekday and hour in UTC"},
		{"signer/envelope.go", "context", "the DSSE library's signer takes one; nothing waits on it"},
	}
}

// worldly lists what a pure file must not import.
func worldly() map[string]string {
	const (
		world = "replay gives the same bytes on every machine: no disk, no process"
		wire  = "replay gives the same bytes on every machine: no network"
		dice  = "randomness is handed in as a value"
		talk  = "a decision is returned; the shell logs it"
	)
	return map[string]string{
		"time": "every rule that needs time takes the writer's stamp from the event", "context": "a pure function cannot be cancelled",
		"os": world, "os/exec": world, "os/signal": world, "os/user": world, "syscall": world, "io/ioutil": world,
		"net": wire, "net/http": wire, "net/rpc": wire,
		"math/rand": dice, "math/rand/v2": dice, "crypto/rand": dice, "github.com/google/uuid": dice,
		"log": talk, "log/slog": talk, "testing": "test support stays out of the product",
	}
}

// clockCalls read or wait for a clock, or read the machine's time zone.
func clockCalls() []string {
	return []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}
}

// checkPure reports pure files that touch the world, and stale rows of the lists.
func checkPure(t *tree) []finding {
	const rule = "pure packages"
	var found []finding
	for _, f := range t.files {
		if f.test || !slices.Contains(purePackages(), f.dir()) || listed(shellFiles(), f.path) {
			continue
		}
		for _, im := range f.imports() {
			why, bad := worldly()[im.path]
			if bad && !admitted(f.path, im.path) {
				found = append(found, finding{rule, f.at(im.spec.Pos()), "pure file imports " + im.path, why})
			}
		}
		for _, pos := range f.uses("time", clockCalls()...) {
			found = append(found, finding{rule, f.at(pos), "pure file uses a clock", "the same log gives the same state at any time"})
		}
	}
	return found
}

func admitted(file, imp string) bool {
	return slices.ContainsFunc(admittedImports(), func(a admittedImport) bool { return a.path == file && a.imp == imp })
}

func listed(rows []shellFile, name string) bool {
	return slices.ContainsFunc(rows, func(r shellFile) bool { return r.path == name })
}

// environmentReaders may read the environment besides cmd.
func environmentReaders() []shellFile {
	return []shellFile{
		{"runner", "builds the environment of a check or an effect from a short list, PATH first: it passes on, it does not decide"},
	}
}

// processEnders may end the process besides cmd.
func processEnders() []shellFile {
	return []shellFile{
		{"bench/report", "a program of its own, never part of deed"},
	}
}

// checkProcess reports who reads the environment or ends the process outside cmd.
func checkProcess(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		if f.test || within(f.dir(), "cmd") {
			continue
		}
		if !listed(environmentReaders(), f.dir()) {
			reads := f.uses("os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir")
			reads = append(reads, f.uses("syscall", "Getenv", "Environ")...)
			for _, pos := range reads {
				found = append(found, finding{"environment", f.at(pos), "reads the environment",
					"only cmd does: a setting that is not a flag or a field cannot be seen or tested"})
			}
		}
		if !listed(processEnders(), f.dir()) {
			ends := append(f.uses("os", "Exit"), f.uses("log", "Fatal", "Fatalf", "Fatalln")...)
			ends = append(ends, f.uses("syscall", "Exit")...)
			for _, pos := range ends {
				found = append(found, finding{"exit", f.at(pos), "ends the process",
					"only cmd does: an exit skips what was deferred and cannot be tested"})
			}
		}
	}
	return found
}

// strictJSON are the packages whose bytes are signed.
func strictJSON() []string {
	return []string{"events", "schemas", "signer", "evidence", "projections", "ledger"}
}

// checkStrictJSON reports the lenient decoder where signed bytes are read or written.
func checkStrictJSON(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		if f.test || !slices.Contains(strictJSON(), f.dir()) {
			continue
		}
		for _, im := range f.imports() {
			if im.path == "encoding/json" || strings.HasPrefix(im.path, "encoding/gob") {
				found = append(found, finding{"strict JSON", f.at(im.spec.Pos()), fmt.Sprintf("%s imports %s", f.dir(), im.path),
					"it folds the case of names and takes the last duplicate: use go-json-experiment/json on anything signed"})
			}
		}
	}
	return found
}
