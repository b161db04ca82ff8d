package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startTimeout bounds the wait for a server that has read its stream back, and
// readyStep is how often a failure to start is looked for meanwhile.
const (
	startTimeout = 30 * time.Second
	readyStep    = 50 * time.Millisecond
)

// serviceInbox is below what answers to the service are sent.
const serviceInbox = "_SERVICE"

// Server is a running server.
type Server struct {
	config Config
	nats   *server.Server
	lock   *lock
	log    *slog.Logger

	mu     sync.Mutex // guards what is below
	conns  []*nats.Conn
	closed bool
}

// Start runs a server until Close. [ErrInUse] if a server runs on the folder
// already, journal.ErrRefused for a bad Config.
func Start(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if err := os.MkdirAll(c.StoreDir, 0o700); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	l, err := takeLock(c.StoreDir)
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	s := &Server{config: c, lock: l, log: c.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), l.release())
	}
	return s, nil
}

func (s *Server) start() error {
	ns, err := server.NewServer(s.config.Options())
	if err != nil {
		return err
	}
	r := &relay{log: s.log}
	ns.SetLogger(r, false, false)
	ns.Start()
	for begun := time.Now(); !ns.ReadyForConnections(readyStep); {
		if r.failed() != "" || time.Since(begun) > startTimeout {
			break
		}
	}
	if reason := r.failed(); reason != "" || !ns.JetStreamEnabled() {
		ns.Shutdown()
		ns.WaitForShutdown()
		return fmt.Errorf("not ready: %s", reason)
	}
	s.nats = ns
	return nil
}

// URL returns where other processes connect, nats://host:port; empty if the
// server does not listen.
func (s *Server) URL() string {
	if s.config.Listen == "" {
		return ""
	}
	return "nats://" + s.nats.Addr().String()
}

// Connect makes a connection as the service user that does not leave the
// process. It ends with Close at the latest. Options may add to the connection,
// such as a name.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	// Clients may listen to every _INBOX; the answers to the service, the
	// acknowledgements of its appends among them, are none of their business.
	options = append([]nats.Option{nats.CustomInboxPrefix(serviceInbox)}, options...)
	return s.connect(nats.UserInfo(ServiceUser, s.config.ServicePassword), options...)
}

// ConnectClient is Connect as the client user.
func (s *Server) ConnectClient(options ...nats.Option) (*nats.Conn, error) {
	return s.connect(nats.UserInfo(ClientUser, s.config.ClientPassword), options...)
}

func (s *Server) connect(user nats.Option, options ...nats.Option) (*nats.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("connect: %w", server.ErrServerNotRunning)
	}
	all := []nats.Option{
		nats.InProcessServer(s.nats),
		user,
		nats.MaxReconnects(-1),
		// What cannot be sent now fails now: a message that goes out after its
		// append was given up is harmless, but late.
		nats.ReconnectBufSize(-1),
		// Without a handler the client writes to standard error.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.log.Warn("nats connection", "err", err)
		}),
	}
	nc, err := nats.Connect("", append(all, options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s.conns = append(s.conns, nc)
	return nc, nil
}

// Close closes the connections that Connect made, stops the server and gives up
// the folder. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, nc := range s.conns {
		nc.Close()
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return s.lock.release()
}
