package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
)

// The collection of logs: what earlier versions of Deed stored, and the states
// that they read from it. A log and its states are added with
//
//	go test ./server -run TestLogs -record FOLDER -as NAME
//
// from the folder of a stopped ledger, by the version that wrote it, and never
// change again.
var (
	record   = flag.String("record", "", "add the log of this stopped ledger's folder to the collection")
	recordAs = flag.String("as", "", "the name of the log to add")
)

const logs = "../testdata/logs"

// storedLine is a stored message as the collection keeps it.
type storedLine struct {
	Position events.Position     `json:"position"`
	Subject  string              `json:"subject"`
	Header   map[string][]string `json:"header"`
	Data     string              `json:"data"` // the body is JSON, hence text
}

// TestLogs reads every log of the collection and wants the very states that
// the version which wrote it had.
func TestLogs(t *testing.T) {
	if *record != "" {
		addLog(t, *record, filepath.Join(logs, *recordAs))
	}
	names, err := filepath.Glob(filepath.Join(logs, "*.log.gz"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no logs in %s: %v", logs, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			want, err := os.ReadFile(name[:len(name)-len("log.gz")] + "states.json")
			if err != nil {
				t.Fatal(err)
			}
			l := readLog(t, name)
			if got := states(t, l); !bytes.Equal(got, want) {
				t.Errorf("the states differ from those of the version that wrote the log:\n%s\nwant\n%s", got, want)
			}
			l.records[len(l.records)/2].Data[0] ^= 1
			if _, audit, err := ledger.Verify(t.Context(), l, l.ledger(), nil, 0); err != nil || audit.Fault == nil {
				t.Errorf("a changed log passes: %v", err)
			}
		})
	}
}

// states returns the RFC 8785 form of everything that a log means.
func states(t *testing.T, l *storedLog) []byte {
	t.Helper()
	book, audit, err := ledger.Verify(t.Context(), l, l.ledger(), nil, 0)
	if err != nil || audit.Fault != nil {
		t.Fatalf("verify: %v, %+v", err, audit.Fault)
	}
	form, err := events.Canonical(map[string]any{
		"root": audit.Root, "digests": audit.Digests, "registry": &book.State.Registry, "tasks": book.State.Tasks,
		"keys": maps.Clone(book.State.Keys), "keyring": book.Keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(form, '\n')
}

// addLog keeps the log in a stopped ledger's folder, and its states.
func addLog(t *testing.T, folder, name string) {
	t.Helper()
	r, err := server.OpenReader(t.Context(), server.Options{Dir: folder, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	err = r.Replay(t.Context(), 1, func(s journal.Record) error {
		line, err := json.Marshal(storedLine{s.Position, s.Subject, s.Header, string(s.Data)}, json.Deterministic(true))
		if err == nil {
			_, err = z.Write(append(line, '\n'))
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.WriteFile(name+".log.gz", b.Bytes(), 0o644)
	}
	if err == nil {
		err = os.WriteFile(name+".states.json", states(t, readLog(t, name+".log.gz")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// storedLog is a log of the collection as a journal to read.
type storedLog struct {
	journal.Reader // whatever a replay does not need
	records        []journal.Record
}

func readLog(t *testing.T, name string) *storedLog {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	l := &storedLog{}
	for line := range bytes.Lines(text) {
		var s storedLine
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		l.records = append(l.records, journal.Record{Position: s.Position, Subject: s.Subject, Header: s.Header, Data: []byte(s.Data)})
	}
	if len(l.records) == 0 {
		t.Fatal("an empty log")
	}
	return l
}

// ledger returns the name in "deed.<ledger>.ev.…".
func (l *storedLog) ledger() string {
	var name string
	if parts := bytes.Split([]byte(l.records[0].Subject), []byte(".")); len(parts) > 1 {
		name = string(parts[1])
	}
	return name
}

func (l *storedLog) Stream() string { return journal.StreamName(l.ledger()) }

func (l *storedLog) Last(context.Context) (events.Position, error) {
	return l.records[len(l.records)-1].Position, nil
}

func (l *storedLog) Replay(_ context.Context, from events.Position, handle func(journal.Record) error) error {
	at := slices.IndexFunc(l.records, func(r journal.Record) bool { return r.Position >= from })
	for _, r := range l.records[max(at, 0):] {
		if err := handle(r); err != nil {
			return fmt.Errorf("position %d: %w", r.Position, err)
		}
	}
	return nil
}
