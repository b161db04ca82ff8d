// Package deploy holds what an operator installs: a NATS configuration and a systemd unit. Its tests hold both against the code.
package deploy

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// maxEventBytes is what one event may measure in all: NATS intermediaries forward CloudEvents up to 64 KiB.
const maxEventBytes = 64 << 10

func readConf(t *testing.T, path string) *server.Options {
	t.Helper()
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	return opts
}

// lossy lists why a server with these options could lose an acknowledged event, take a foreign one or refuse a legal one.
func lossy(opts *server.Options) []string {
	var why []string
	say := func(bad bool, text string) {
		if bad {
			why = append(why, text)
		}
	}
	say(!opts.JetStream, "jetstream is off")
	say(!opts.SyncAlways, "sync_interval is not always: acknowledged before the disk has it")
	say(!filepath.IsAbs(opts.StoreDir), "store_dir is relative to wherever the server was started")
	say(opts.StoreDir != "" && strings.HasPrefix(filepath.Clean(opts.StoreDir), os.TempDir()), "store_dir is temporary")
	ip := net.ParseIP(opts.Host)
	say(ip == nil || !ip.IsLoopback(), "listens beyond loopback")
	say(opts.HTTPPort != 0 || opts.HTTPSPort != 0, "opens a monitoring port")
	say(opts.MaxPayload < maxEventBytes, "max_payload is below the largest event")
	say(opts.MaxPayload > 1<<20, "max_payload is above the server's tested default of 1 MiB")
	say(opts.JetStreamMaxStore <= 0, "max_file_store is unlimited: a full disk is met by the server before by us")
	say(opts.JetStreamMaxMemory <= 0, "max_memory_store is unlimited")
	say(opts.NoJetStreamStrict, "strict API checks are off: an unknown setting would be ignored")
	return why
}

func TestConfKeepsAcknowledgedEvents(t *testing.T) {
	for _, why := range lossy(readConf(t, "nats.conf")) {
		t.Errorf("nats.conf: %s", why)
	}
}

// Each line of the file that a promise rests on is changed once, and the check must see it.
func TestConfCheckSeesEachLoss(t *testing.T) {
	text, err := os.ReadFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to string }{
		{"sync_interval: always", "sync_interval: 2m"},
		{"sync_interval: always", ""},
		{"sync_interval: always", "sync_interval: always\n  enabled: false"},
		{"sync_interval: always", "sync_interval: always\n  strict: false"},
		{`store_dir: "/var/lib/deed/nats"`, `store_dir: "nats"`},
		{`store_dir: "/var/lib/deed/nats"`, `store_dir: "` + filepath.Join(os.TempDir(), "nats") + `"`},
		{`store_dir: "/var/lib/deed/nats"`, ""},
		{`listen: "127.0.0.1:4222"`, `listen: "0.0.0.0:4222"`},
		{`listen: "127.0.0.1:4222"`, `listen: "192.0.2.1:4222"`},
		{`listen: "127.0.0.1:4222"`, ""},
		{"max_payload: 1MB", "max_payload: 4KB"},
		{"max_payload: 1MB", "max_payload: 8MB"},
		{"max_payload: 1MB", "max_payload: 1MB\nhttp: \"127.0.0.1:8222\""},
		{"max_file_store: 64GB", ""},
		{"max_memory_store: 64MB", ""},
	} {
		if strings.Count(string(text), change.from) != 1 {
			t.Errorf("nats.conf holds %q %d times, want once", change.from, strings.Count(string(text), change.from))
			continue
		}
		path := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), change.from, change.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if len(lossy(readConf(t, path))) == 0 {
			t.Errorf("%q instead of %q was not seen", change.to, change.from)
		}
	}
}
