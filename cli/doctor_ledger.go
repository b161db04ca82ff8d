package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
)

// The oldest git that Deed reads facts from: see package workspace.
const (
	gitMajor = 2
	gitMinor = 38
)

// ask runs a git command that only answers, and returns its first line; "" for
// no answer.
func (d *doctor) ask(ctx context.Context, args ...string) string {
	env := d.childEnv()
	for _, entry := range d.env.Environ() {
		if strings.HasPrefix(entry, "HOME=") || strings.HasPrefix(entry, "XDG_CONFIG_HOME=") || strings.HasPrefix(entry, "GIT_CONFIG") {
			env = append(env, entry)
		}
	}
	out := runner.Run(ctx, d.env.Dir, runner.Check{ID: "git", Command: append([]string{"git"}, args...), Timeout: toolLimit}, env)
	if out.Result != runner.ResultPass {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.Output.Window()), "\n")
	return line
}

// git checks that there is a git, and that it is new enough.
func (d *doctor) git(ctx context.Context) {
	version := d.ask(ctx, "--version")
	var major, minor int
	n, _ := fmt.Sscanf(version, "git version %d.%d", &major, &minor)
	want := fmt.Sprintf("%d.%d or newer", gitMajor, gitMinor)
	switch {
	case version == "":
		d.say(found{"git", checkFail, "install git " + want}, "there is no git program that answers")
	case n == 2 && (major < gitMajor || major == gitMajor && minor < gitMinor):
		d.say(found{"git", checkFail, "install git " + want}, "%s is too old", version)
	default:
		d.say(found{"git", checkOK, ""}, "%s", version)
	}
}

// identity checks whom a commit made here would be of.
func (d *doctor) identity(ctx context.Context) {
	email := first(d.env.Getenv("GIT_AUTHOR_EMAIL"), d.ask(ctx, "config", "--get", "user.email"))
	if email == "" {
		d.say(found{"identity", checkWarn, "git config user.email ADDRESS"}, "git does not know under which address to commit here")
		return
	}
	if d.client == nil {
		return // the service's own check says why
	}
	g, err := d.registry(ctx)
	if err != nil {
		return
	}
	var names []string
	for _, a := range g.ByGitIdentity(email) {
		names = append(names, a.Name)
	}
	claimed := d.claimedName()
	switch {
	case len(names) == 0:
		do := "an admin maps it: deed actor map " + first(claimed, "ACTOR") + " --git " + wordOf(email)
		d.say(found{"identity", checkWarn, do}, "commits here are by %s, which is no actor's: a result with one needs a second reviewer", email)
	case claimed != "" && !slices.Contains(names, claimed):
		d.say(found{"identity", checkWarn, "git config user.email ADDRESS"}, "commits here are by %s, who is %s, not %s", email, strings.Join(names, " and "), claimed)
	default:
		d.say(found{"identity", checkOK, ""}, "commits here are by %s, who is %s", email, strings.Join(names, " and "))
	}
}

// invitations lists, for whoever keeps an admin's key here, those that nobody
// can claim any more.
func (d *doctor) invitations(g *projections.Registry, mine []string) {
	admin := slices.ContainsFunc(mine, func(name string) bool { return g.Actor(name).Has(events.RoleAdmin) && g.Actor(name).Signs() })
	if !admin {
		return
	}
	before := len(d.list)
	for _, a := range g.Actors {
		until, err := events.ParseTime(a.Expires)
		if a.TokenHash != "" && a.Revoked == 0 && a.Expires != "" && err == nil && !d.env.Now().Before(until) {
			d.say(found{"invited", checkWarn, "deed actor invite " + a.Name + " again, or deed actor revoke " + a.Name}, "the invitation of %s expired at %s, unclaimed", a.Name, a.Expires)
		}
	}
	if len(d.list) == before {
		d.say(found{"invited", checkOK, ""}, "no invitation has expired unclaimed")
	}
}

// keyStanding says where a key stands that is kept here and belongs to an
// actor.
func (d *doctor) keyStanding(name string, key signer.PublicKey, a *projections.Actor, g *projections.Registry) {
	id := string(key.ID())
	ended := slices.IndexFunc(a.Ended, func(k projections.EndedKey) bool { return k.ID == id })
	switch c := g.Compromised(id); {
	case a.Revoked != 0:
		d.say(found{"actors", checkWarn, "nothing can be signed with it any more"}, "key %s is of %s, who is revoked since position %d", name, a.Name, a.Revoked)
	case c != nil:
		d.say(found{"actors", checkWarn, "see whom it concerns: deed key affected " + id}, "key %s of %s is compromised since position %d and signs nothing more", name, a.Name, c.Since)
	case ended >= 0:
		d.say(found{"actors", checkWarn, "nothing can be signed with it any more"}, "key %s of %s was %s at position %d", name, a.Name, a.Ended[ended].Cause, a.Ended[ended].Position)
	default:
		d.say(found{"actors", checkOK, ""}, "key %s is of %s: %s", name, a.Name, joined(a.Roles))
	}
}

// attempts looks for those that nobody went on with in time.
func (d *doctor) attempts(tasks protocol.Tasks) {
	before := len(d.list)
	for _, t := range tasks.Tasks {
		if t.Attempt != "" && t.Actor == "" && t.Overdue > 0 {
			since := time.Duration(tasks.Clock - t.Since).Round(time.Minute)
			d.say(found{"attempts", checkWarn, "deed why " + t.Task}, "attempt %s of %s is %s for %v: it waits for %s", t.Attempt, t.Task, t.State, since, waitsFor(t.Waiting))
		}
	}
	if len(d.list) == before {
		d.say(found{"attempts", checkOK, ""}, "none is left behind")
	}
}
