package embedded_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneServerPerFolder(t *testing.T) {
	config := natstest.Config(t)
	config.StoreDir = filepath.Join(config.StoreDir, "new", "folder")
	first := natstest.Start(t, config)
	for range 3 {
		if _, err := embedded.Start(config); !errors.Is(err, embedded.ErrInUse) {
			t.Fatalf("second server: %v", err)
		}
	}
	if info, err := os.Stat(config.StoreDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, error %v", info.Mode(), err)
	}
	// The first one is none the worse.
	ctx := natstest.Within(t)
	j, err := jetstream.Create(ctx, natstest.Connect(t, first), natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, j, 3)
	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Connect(); err == nil {
		t.Error("connected to a closed server")
	}
	second := natstest.Start(t, config)
	j, err = jetstream.Open(ctx, natstest.Connect(t, second), natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	if last, err := j.Last(ctx); err != nil || last != 3 {
		t.Errorf("last position %d, error %v", last, err)
	}
}

func TestLedgersOnTwoFolders(t *testing.T) {
	a, b := natstest.Start(t, natstest.Config(t)), natstest.Start(t, natstest.Config(t))
	ctx := natstest.Within(t)
	if _, err := jetstream.Create(ctx, natstest.Connect(t, a), natstest.Settings()); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Open(ctx, natstest.Connect(t, b), natstest.Settings()); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("open on another server: %v", err)
	}
}

func TestConfigIsRefused(t *testing.T) {
	for name, change := range map[string]func(*embedded.Config){
		"no ledger":          func(c *embedded.Config) { c.Ledger = "" },
		"wildcard ledger":    func(c *embedded.Config) { c.Ledger = "*" },
		"dotted ledger":      func(c *embedded.Config) { c.Ledger = "a.b" },
		"no folder":          func(c *embedded.Config) { c.StoreDir = "" },
		"relative folder":    func(c *embedded.Config) { c.StoreDir = "store" },
		"every address":      func(c *embedded.Config) { c.Listen = "0.0.0.0:4222" },
		"every address, v6":  func(c *embedded.Config) { c.Listen = "[::]:4222" },
		"no host":            func(c *embedded.Config) { c.Listen = ":4222" },
		"a name":             func(c *embedded.Config) { c.Listen = "localhost:4222" },
		"another host":       func(c *embedded.Config) { c.Listen = "192.0.2.1:4222" },
		"no port":            func(c *embedded.Config) { c.Listen = "127.0.0.1" },
		"port too large":     func(c *embedded.Config) { c.Listen = "127.0.0.1:65536" },
		"negative port":      func(c *embedded.Config) { c.Listen = "127.0.0.1:-1" },
		"no password":        func(c *embedded.Config) { c.ServicePassword = "" },
		"short password":     func(c *embedded.Config) { c.ClientPassword = "secret" },
		"the same passwords": func(c *embedded.Config) { c.ClientPassword = c.ServicePassword },
	} {
		c := natstest.Config(t)
		change(&c)
		_, err := embedded.Start(c)
		if !errors.Is(err, journal.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && c.ServicePassword != "" && strings.Contains(err.Error(), c.ServicePassword) {
			t.Errorf("%s: the error has a password", name)
		}
	}
}

// TestStartFails: a start that cannot succeed fails at once and gives the folder
// up again.
func TestStartFails(t *testing.T) {
	t.Run("port in use", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := natstest.Config(t)
		c.Listen = l.Addr().String()
		if s, err := embedded.Start(c); err == nil {
			t.Error("started", s.Close())
		}
		c.Listen = ""
		natstest.Start(t, c)
	})
	t.Run("store is a file", func(t *testing.T) {
		c := natstest.Config(t)
		if err := os.WriteFile(filepath.Join(c.StoreDir, "jetstream"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := embedded.Start(c); err == nil {
			t.Error("started", s.Close())
		}
	})
	t.Run("folder is a file", func(t *testing.T) {
		c := natstest.Config(t)
		c.StoreDir = filepath.Join(c.StoreDir, "file")
		if err := os.WriteFile(c.StoreDir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := embedded.Start(c); err == nil {
			t.Error("started", s.Close())
		}
	})
}

// buffer is a writer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestReportsOnlyToTheLog also tries a wrong password and a forbidden subject.
func TestReportsOnlyToTheLog(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = f, f
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()

	var log buffer
	c := natstest.Config(t)
	c.Listen = "127.0.0.1:0"
	c.ServicePassword = "service-0123456789abcdef0123456789abcdef"
	c.ClientPassword = "client-0123456789abcdef0123456789abcdef"
	c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := embedded.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	const wrong = "wrong-0123456789abcdef0123456789abcdef"
	for _, option := range []nats.Option{
		nats.UserInfo(embedded.ClientUser, wrong),
		nats.UserInfo(embedded.ServiceUser, c.ClientPassword),
		nats.UserInfo("", ""),
		nats.Token(wrong),
		nats.Name("no user"),
	} {
		if nc, err := nats.Connect(s.URL(), option); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("connect: %v", err)
		}
	}
	nc, err := s.ConnectClient()
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish("forbidden.subject", nil); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out); err != nil || len(b) > 0 {
		t.Errorf("standard output: %q, error %v", b, err)
	}
	got := log.String()
	for _, want := range []string{"Server is ready", "authentication error", "forbidden.subject"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{c.ServicePassword, c.ClientPassword, wrong} {
		if strings.Contains(got, secret) {
			t.Error("the log has a password")
		}
	}
}

func TestListensOnlyWhereTold(t *testing.T) {
	c := natstest.Config(t)
	if s := natstest.Start(t, c); s.URL() != "" {
		t.Errorf("listens at %s", s.URL())
	}
	c = natstest.Config(t)
	c.Listen = "127.0.0.1:0"
	s := natstest.Start(t, c)
	if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") || strings.HasSuffix(s.URL(), ":0") {
		t.Errorf("listens at %q", s.URL())
	}
}

func TestOptions(t *testing.T) {
	c := natstest.Config(t)
	c.Lazy = false
	o := c.Options()
	if !o.SyncAlways || !o.JetStream || !o.NoSigs || !o.DontListen || o.NoAuthUser != "" || o.HTTPPort != 0 || o.ProfPort != 0 ||
		o.Cluster.Port != 0 || o.StoreDir != c.StoreDir || len(o.Users) != 2 {
		t.Errorf("options %+v", o)
	}
	for _, u := range o.Users { // in no order
		service := u.Username == embedded.ServiceUser
		if service != (u.Permissions == nil) || service != (u.Account.Name == embedded.ServiceAccount) {
			t.Errorf("user %s of account %s has permissions %+v", u.Username, u.Account.Name, u.Permissions)
		}
	}
	c.Lazy, c.Listen = true, "[::1]:4333"
	if o := c.Options(); o.SyncAlways || o.DontListen || o.Host != "::1" || o.Port != 4333 {
		t.Errorf("options %+v", o)
	}
}

// TestStoreIsPrivate: nothing in the folder can be read by another user.
func TestStoreIsPrivate(t *testing.T) {
	c := natstest.Config(t)
	c.StoreDir = filepath.Join(c.StoreDir, "store")
	j, err := jetstream.Create(natstest.Within(t), natstest.Connect(t, natstest.Start(t, c)), natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, j, 3)
	info, err := os.Stat(c.StoreDir)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("folder has mode %v, error %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(c.StoreDir, "jetstream")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the stream is elsewhere")
	}
}
