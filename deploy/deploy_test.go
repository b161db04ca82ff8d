// Package deploy holds what an operator installs: a NATS configuration and a systemd unit. Its tests hold both against the code.
package deploy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/deedledger/deed/journal/jetstream/embedded"
)

// maxEventBytes is what one event may measure in all: NATS intermediaries forward CloudEvents up to 64 KiB.
const maxEventBytes = 64 << 10

// readConf parses a file as nats-server does, with the two passwords set.
func readConf(t *testing.T, path string) *server.Options {
	t.Helper()
	t.Setenv("DEED_NATS_SERVICE_PASSWORD", strings.Repeat("s1", 16))
	t.Setenv("DEED_NATS_CLIENT_PASSWORD", strings.Repeat("c2", 16))
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	return opts
}

// built is what the code runs for the ledger that the file is written for.
func built(t *testing.T) *server.Options {
	t.Helper()
	config := embedded.Config{
		Ledger:          "main",
		StoreDir:        "/var/lib/deed/main/nats",
		Listen:          "127.0.0.1:4222",
		ServicePassword: strings.Repeat("s1", 16),
		ClientPassword:  strings.Repeat("c2", 16),
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	return config.Options()
}

// ofProcess are options that say how a server lives in its process, not what it keeps or allows.
func ofProcess() map[string]string {
	return map[string]string{
		"ConfigFile":             "only a file has one",
		"Accounts":               "compared as text: see TestConfIsWhatTheCodeRuns",
		"SyncInterval":           "the default until the server starts; SyncAlways, which is compared, makes it idle",
		"NoSigs":                 "embedded, the process handles signals; on its own, the server does",
		"NoLog":                  "embedded, a logger is set after the start",
		"DisableJetStreamBanner": "embedded, nothing is printed",
	}
}

// differences lists every exported option that is not the same.
func differences(file, code *server.Options) []string {
	var found []string
	a, b := reflect.ValueOf(*file), reflect.ValueOf(*code)
	for i := range a.NumField() {
		field := a.Type().Field(i)
		if _, skip := ofProcess()[field.Name]; skip || !field.IsExported() {
			continue
		}
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if field.Name == "Users" {
			x, y = describe(file.Users), describe(code.Users)
		}
		if !reflect.DeepEqual(x, y) {
			found = append(found, fmt.Sprintf("%s is %v in the file and %v in the code", field.Name, x, y))
		}
	}
	return found
}

// describe writes users with their rights in a fixed order.
func describe(users []*server.User) []string {
	var list []string
	for _, u := range users {
		line := fmt.Sprintf("%s/%s", u.Username, u.Password)
		if u.Account != nil {
			line += " of " + u.Account.Name
		}
		if p := u.Permissions; p != nil {
			line += fmt.Sprintf(" publish %s subscribe %s responses %v", rights(p.Publish), rights(p.Subscribe), p.Response)
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

func rights(p *server.SubjectPermission) string {
	if p == nil {
		return "everything"
	}
	return fmt.Sprintf("%q but not %q", slices.Sorted(slices.Values(p.Allow)), slices.Sorted(slices.Values(p.Deny)))
}

// lossy lists why a server with these options could lose an acknowledged event, take a foreign one or refuse a legal one. It asks
// the same of the file and of the code: two equal mistakes are still mistakes.
func lossy(opts *server.Options) []string {
	var why []string
	say := func(bad bool, text string) {
		if bad {
			why = append(why, text)
		}
	}
	ip := net.ParseIP(opts.Host)
	say(!opts.JetStream, "jetstream is off")
	say(!opts.SyncAlways, "sync_interval is not always: acknowledged before the disk has it")
	say(!filepath.IsAbs(opts.StoreDir), "store_dir is relative to wherever the server was started")
	say(within(os.TempDir(), opts.StoreDir), "store_dir is temporary")
	say(ip == nil || !ip.IsLoopback(), "listens beyond loopback")
	say(opts.HTTPPort != 0 || opts.HTTPSPort != 0, "opens a monitoring port")
	say(opts.Cluster.Port != 0 || opts.LeafNode.Port != 0 || opts.Websocket.Port != 0 || opts.MQTT.Port != 0, "opens another port")
	say(opts.MaxPayload < maxEventBytes, "max_payload is below the largest event")
	say(opts.NoJetStreamStrict, "strict API checks are off: an unknown setting would be ignored")
	say(opts.NoAuthUser != "" || len(opts.Users) != 2, "somebody without a password gets in")
	for _, u := range opts.Users {
		say(u.Account == nil || (u.Account.Name == embedded.ServiceAccount) != (u.Username == embedded.ServiceUser), u.Username+" is in the wrong account")
		say(u.Password == "", u.Username+" has no password")
		say(u.Username != embedded.ServiceUser && mayPublish(u, "deed.main.ev.task.T1"), u.Username+" may publish to event subjects")
		say(u.Username != embedded.ServiceUser && mayPublish(u, "$JS.API.STREAM.DELETE.DEED_main"), u.Username+" may delete the stream")
	}
	return why
}

func within(root, name string) bool {
	rel, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(rel)
}

// mayPublish reports whether a user without a right to deny may publish to the subject.
func mayPublish(u *server.User, subject string) bool {
	if u.Permissions == nil || u.Permissions.Publish == nil {
		return true
	}
	return slices.ContainsFunc(u.Permissions.Publish.Allow, func(allow string) bool { return server.SubjectsCollide(allow, subject) })
}

func TestConfIsWhatTheCodeRuns(t *testing.T) {
	file, code := readConf(t, "nats.conf"), built(t)
	text, err := os.ReadFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if accounts := embedded.Accounts("main", "$DEED_NATS_SERVICE_PASSWORD", "$DEED_NATS_CLIENT_PASSWORD"); !strings.HasSuffix(string(text), accounts) {
		t.Errorf("nats.conf does not end with the accounts that the code runs:\n%s", accounts)
	}
	for _, d := range differences(file, code) {
		t.Error(d)
	}
	for _, why := range lossy(file) {
		t.Errorf("nats.conf: %s", why)
	}
	for _, why := range lossy(code) {
		t.Errorf("embedded.Config.Options: %s", why)
	}
}

// change is one edit of a file that must be noticed.
type change struct{ from, to string }

func edit(t *testing.T, text string, c change) string {
	t.Helper()
	if strings.Count(text, c.from) != 1 {
		t.Fatalf("the file holds %q %d times, want once", c.from, strings.Count(text, c.from))
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(strings.Replace(text, c.from, c.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each line that a promise rests on is changed once; both checks must see it, as either may be what is left one day.
func TestConfChecksSeeEachLoss(t *testing.T) {
	text, err := os.ReadFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	const sync, dir, listen = "sync_interval: always", `store_dir: "/var/lib/deed/main/nats"`, `listen: "127.0.0.1:4222"`
	for _, c := range []change{
		{sync, "sync_interval: 2m"},
		{sync, ""},
		{sync, sync + "\n  enabled: false"},
		{sync, sync + "\n  strict: false"},
		{dir, `store_dir: "nats"`},
		{dir, `store_dir: "` + filepath.Join(os.TempDir(), "nats") + `"`},
		{dir, ""},
		{listen, `listen: "0.0.0.0:4222"`},
		{listen, `listen: "192.0.2.1:4222"`},
		{listen, ""},
		{"max_payload: 1MB", "max_payload: 4KB"},
		{"max_payload: 1MB", "max_payload: 1MB\nhttp: \"127.0.0.1:8222\""},
		{"max_payload: 1MB", "max_payload: 1MB\nleafnodes { port: 7422 }"},
		{"allow: [\n              \"deed.main.v1.>\"", "allow: [\n              \"deed.>\""},
		{"allow: [\n              \"deed.main.v1.>\"", "allow: [\n              \"deed.main.*.task.T1\""},
		{"allow: [\n", "allow: [\n              \"$JS.API.>\"\n"},
		{"        password: $DEED_NATS_CLIENT_PASSWORD\n", ""},
		{"user: client\n", "user: client2\n        permissions { publish: \">\" }\n      }\n      {\n        user: client\n"},
		{"users: [ { user: service,", "users: [ { user: third, password: \"0123456789abcdef0123456789abcdef\" }, { user: service,"},
	} {
		opts := readConf(t, edit(t, string(text), c))
		if len(lossy(opts)) == 0 {
			t.Errorf("%q instead of %q: no loss seen", c.to, c.from)
		}
		if len(differences(opts, built(t))) == 0 {
			t.Errorf("%q instead of %q: no difference seen", c.to, c.from)
		}
	}
	for _, c := range []change{
		{listen, `listen: "127.0.0.1:4223"`},
		{"server_name: deed", "server_name: other"},
		{"max_payload: 1MB", "max_payload: 8MB"},
		{"max_payload: 1MB", "max_payload: 1MB\nmax_connections: 10"},
		{`subscribe { allow: ["_INBOX.>"] }`, `subscribe { allow: [">"] }`},
		{"              \"$SRV.>\"\n", "              \"$SRV.PING\"\n"},
		{sync, sync + "\n  max_file_store: 1GB"},
	} {
		if len(differences(readConf(t, edit(t, string(text), c)), built(t))) == 0 {
			t.Errorf("%q instead of %q: no difference seen", c.to, c.from)
		}
	}
}

// Without a password in the environment the server must not start with an empty one.
func TestConfNeedsPasswords(t *testing.T) {
	for _, name := range []string{"DEED_NATS_SERVICE_PASSWORD", "DEED_NATS_CLIENT_PASSWORD"} {
		t.Setenv("DEED_NATS_SERVICE_PASSWORD", "x")
		t.Setenv("DEED_NATS_CLIENT_PASSWORD", "y")
		os.Unsetenv(name)
		if _, err := server.ProcessConfigFile("nats.conf"); err == nil {
			t.Errorf("parsed without %s", name)
		}
	}
}
