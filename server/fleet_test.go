package server_test

import (
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/server"
)

// start runs an instance, at the end of a tether where there is one server:
// those of a cluster name each other, and what was cut off from one finds the next.
func (f *fleet) start(i int) {
	f.Helper()
	o := f.outside
	var h *tether
	if !*linearCluster {
		h = newTether(f.T, o.URL)
		o.URL = h.url()
	}
	l, err := server.Run(servicetest.Within(f.T), servicetest.ExternalOptions(f.dirs[i], o))
	if err != nil {
		f.Fatalf("run instance: %v", err)
	}
	f.Cleanup(func() {
		if h != nil {
			h.mend() // one that was cut off would wait for answers to the end of their time
		}
		_ = l.Close()
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instances = slices.Clone(f.instances)
	f.instances[i], f.tethers[i] = l, h
}

// settle says of every operation whose outcome nobody told what became of it.
// The instances end first, so that nothing is on its way: what is in the stream
// was done at some time after it was asked for, what is not never will be.
func (f *fleet) settle() {
	f.Helper()
	for _, l := range f.instances {
		if err := l.Close(); err != nil {
			f.Fatal(err)
		}
	}
	c := servicetest.Dial(f.T, f.ledger.ExternalConfig(f.T, f.outside, ""))
	r, err := c.Reader(servicetest.Within(f.T))
	if err != nil {
		f.Fatal(err)
	}
	defer r.Close()
	stored := map[string]bool{}
	err = r.Replay(servicetest.Within(f.T), 1, func(m journal.Record) error {
		e, err := events.ParseStored(m.Header, m.Data)
		stored[e.ID] = true
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.all = slices.DeleteFunc(f.all, func(o porcupine.Operation) bool {
		return o.Output == nobodys && !stored[o.Input.(doing).id]
	})
	for i, o := range f.all {
		if o.Output == nobodys {
			f.all[i].Output = did
		}
	}
}
