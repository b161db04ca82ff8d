package server_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// tether is a way to a server that can be cut at once, as when the process at its
// one end is gone: nothing is said to the other.
type tether struct {
	listener net.Listener
	target   string

	mu    sync.Mutex // guards what is below
	cut   bool
	conns []net.Conn
}

// newTether leads to the server at url until the test ends.
func newTether(t *testing.T, url string) *tether {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &tether{listener: listener, target: strings.TrimPrefix(url, "nats://")}
	t.Cleanup(func() { _ = listener.Close(); h.sever() })
	go h.run()
	return h
}

// url returns where it begins.
func (h *tether) url() string { return "nats://" + h.listener.Addr().String() }

func (h *tether) run() {
	for {
		near, err := h.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", h.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		if !h.keep(near, far) {
			continue
		}
		for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			}()
		}
	}
}

// keep notes two connections that sever closes; while it is cut, it closes them.
func (h *tether) keep(conns ...net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	h.conns = append(h.conns, conns...)
	return true
}

// sever cuts it: who is connected is cut off, and nobody gets through.
func (h *tether) sever() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = true
	for _, c := range h.conns {
		_ = c.Close()
	}
	h.conns = nil
}

// mend ends sever.
func (h *tether) mend() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = false
}
