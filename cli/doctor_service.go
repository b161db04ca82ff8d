package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
)

// skewLimit is how far the clock here may be from the service's before it is
// worth a word.
const skewLimit = 5 * time.Second

// service checks what the ledger's service says, and what only it knows. Its
// head is held against the one that was seen last from here.
func (d *doctor) service(ctx context.Context, f *server.Folder) {
	c, err := d.dial()
	var status protocol.Status
	sent := d.env.Now()
	if err == nil {
		status, err = c.Status(ctx)
	}
	switch o := classify(err); {
	case errors.Is(err, errNoService), errors.Is(err, server.ErrNotRunning):
		d.say(found{"service", checkWarn, "deed up"}, "no service of ledger %s runs", f.Ledger)
		return
	case err != nil:
		d.say(found{"service", checkFail, o.hint}, "%v", err)
		return
	case status.Broken != "":
		d.say(found{"service", checkFail, "deed audit verify"}, "it takes no more events: %s", status.Broken)
		return
	case status.Identity != f.Identity:
		d.say(found{"service", checkFail, "append nothing"}, "it serves ledger %s, the folder is of %s", status.Identity, f.Identity)
		return
	case status.Version != d.env.Version:
		d.say(found{"service", checkWarn, "deed down && deed up"}, "it has version %s, this command %s", status.Version, d.env.Version)
	default:
		d.say(found{"service", checkOK, ""}, "ledger %s at position %d; its head continues what was seen here", f.Ledger, status.Position)
	}
	d.clock(sent, time.Unix(0, status.Clock))
	d.registered(ctx)
	d.orphans(ctx)
}

// clock compares the clock here with the service's admission clock. The
// answer took some time, which is no skew.
func (d *doctor) clock(sent, theirs time.Time) {
	skew := time.Duration(0)
	switch now := d.env.Now(); {
	case theirs.Before(sent):
		skew = sent.Sub(theirs)
	case theirs.After(now):
		skew = theirs.Sub(now)
	}
	if skew > skewLimit {
		d.say(found{"clock", checkWarn, "set the clocks by NTP"}, "the service's admission clock is %v from the clock here", skew.Round(time.Second))
		return
	}
	d.say(found{"clock", checkOK, ""}, "within %v of the service's admission clock", skewLimit)
}

// registered holds the public keys that are kept here against the registry.
func (d *doctor) registered(ctx context.Context) {
	p, errPlaces := d.env.places()
	g, err := d.registry(ctx)
	if err = errors.Join(err, errPlaces); err != nil {
		d.say(found{"actors", checkFail, ""}, "%v", err)
		return
	}
	var mine []string                         // actors whose keys are kept here
	files, _ := filepath.Glob(p.KeyPath("*")) // the pattern is well formed
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".key")
		key, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(file))
		if err != nil {
			d.say(found{"actors", checkWarn, ""}, "the public half of key %s cannot be read: %v", name, err)
			continue
		}
		i := slices.IndexFunc(g.Actors, func(a *projections.Actor) bool { return slices.Contains(a.Keys, key.String()) })
		if i < 0 {
			d.say(found{"actors", checkWarn, "deed actor claim, with an invitation by an admin"}, "key %s belongs to no actor of this ledger", name)
			continue
		}
		d.keyStanding(name, key, g.Actors[i], g)
		mine = append(mine, g.Actors[i].Name)
	}
	d.invitations(g, mine)
}

// orphans looks for leases that nobody can or does use any more.
func (d *doctor) orphans(ctx context.Context) {
	tasks, err := d.client.Tasks(ctx)
	g, errRegistry := d.registry(ctx)
	if err = errors.Join(err, errRegistry); err != nil {
		d.say(found{"leases", checkFail, ""}, "%v", err)
		return
	}
	before := len(d.list)
	for _, t := range tasks.Tasks {
		holder := g.Actor(t.Actor)
		switch {
		case t.Actor == "":
		case holder == nil || holder.Revoked != 0:
			d.say(found{"leases", checkWarn, "a controller ends it: deed attempt interrupt " + t.Task}, "%s holds the lease of %s and is revoked", t.Actor, t.Task)
		case tasks.Clock-t.Heard >= int64(stuckDefault):
			d.say(found{"leases", checkWarn, "ask the holder, or deed attempt interrupt " + t.Task}, "%s holds the lease of %s and has recorded nothing for %v", t.Actor, t.Task, time.Duration(tasks.Clock-t.Heard).Round(time.Minute))
		}
	}
	if len(d.list) == before {
		d.say(found{"leases", checkOK, ""}, "every lease has a holder who is at work")
	}
	d.attempts(tasks)
}
