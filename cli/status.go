package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// statusData is the data of "deed status".
type statusData struct {
	protocol.Status
	// Root is the root of the signed head.
	Root string `json:"root"`
	URL  string `json:"url"`
	PID  int    `json:"pid"`
	Dir  string `json:"dir"`
	// Frozen says that, and why, the ledger takes almost nothing.
	Frozen *projections.Frozen `json:"frozen,omitempty"`
}

// newStatusCommand builds "deed status".
func newStatusCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the ledger and its service", Args: cobra.NoArgs,
		Long: `Show which ledger is in use, where its service listens and how far it is. The
service's signed head is held against the newest one that was seen from here: a
history that was cut or rewritten ends with exit code 10. The head is remembered.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.status(ctx) }),
	}
}

func (s *session) status(ctx context.Context) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	running, err := s.folder.Running()
	if err != nil {
		return err
	}
	head, err := s.openHead(status.Head)
	if err != nil {
		return err
	}
	data := statusData{Status: status, Root: head.Root.String(), URL: running.URL, PID: running.PID, Dir: s.folder.Dir}
	if status.Broken == "" {
		g, err := c.Registry(ctx)
		if err != nil {
			return err
		}
		data.Frozen = g.Registry.Frozen
	}
	err = s.answer(status.Position, "status", data, func(w *textWriter) {
		w.line("ledger    %s", status.Ledger)
		w.line("identity  %s", status.Identity)
		w.line("position  %d", status.Position)
		w.line("tasks     %d", status.Tasks)
		w.line("head      %d %s", head.Size, data.Root)
		if data.PID == 0 {
			w.line("service   %s (on another machine, version %s)", data.URL, status.Version)
		} else {
			w.line("service   %s (process %d, version %s)", data.URL, data.PID, status.Version)
		}
		w.line("folder    %s", data.Dir)
		if z := data.Frozen; z != nil {
			w.line("frozen    since position %d by %s: %s", z.Position, z.Actor, z.Reason)
			w.line("          an admin lets it go on: deed ledger unfreeze --reason TEXT")
		}
	})
	if err == nil && status.Broken != "" {
		err = told{&ledger.Refusal{Class: ledger.Corrupt, Code: ledger.CodeDamage, Rule: "service", Text: "it takes no more events: " + status.Broken}}
	}
	return err
}

// openHead verifies a signed head of the session's ledger.
func (s *session) openHead(text string) (evidence.Head, error) {
	identity, err := events.ParseHash(s.folder.Identity)
	if err != nil {
		return evidence.Head{}, fmt.Errorf("read %s: %w", s.folder.Dir, err)
	}
	key, err := s.folder.ServiceKey()
	if err != nil {
		return evidence.Head{}, err
	}
	return evidence.OpenHead([]byte(text), s.folder.Ledger, identity, key)
}
