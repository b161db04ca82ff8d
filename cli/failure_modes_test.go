package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// failureMode is one way in which delivery by agents goes wrong.
type failureMode struct {
	name string
	// contract changes the contract that the task begins with; nil for none.
	contract func(s *stage, c *events.Contract)
	// occurs lets it go wrong; it ends with the sign of it: the command that
	// notices, whose exit code is code.
	occurs func(s *stage) command
	code   int
	hint   string // part of what that command says
	// Then the task is here, waits for one of these, and has these events and
	// not those.
	state  projections.State
	waits  events.Role
	has    []string
	hasNot []string
	// mended is the long way out, with what holds at its end.
	mended func(s *stage)
}

// failureModes is the table of what goes wrong, its first sign, what is done at
// once, and the way out.
func failureModes() []failureMode {
	return []failureMode{
		{
			name:   "the requirement drifts while it is worked on",
			occurs: requirementDrifts, code: cli.ExitStale, hint: "contract",
			state: projections.Escalated, waits: events.RoleOwner,
			has: []string{"attempt.interrupted", "recovery.decided"}, hasNot: []string{"result.recorded"},
			mended: func(s *stage) {
				before := *s.state().Attempt()
				s.cmd("owner", "escalation", "resolve", task, "--action", "new-attempt", "--reason", "the goal is another").succeeds()
				s.cmd("impl-a", "attempt", "open", task).succeeds()
				after := s.state().Attempt()
				if after.ID == before.ID || after.Contract == before.Contract || after.Contract.Digest != s.state().Contract().Digest {
					s.t.Errorf("attempt %s on contract %v after %s on %v: want a new snapshot of the new contract", after.ID, after.Contract, before.ID, before.Contract)
				}
			},
		},
		{
			name:   "the agent changes what is outside the boundary",
			occurs: crossesBoundary, code: cli.ExitBoundary, hint: ".github/workflows/ci.yml",
			state: projections.Executing, waits: events.RoleImplementer,
			has: []string{"boundary.violated"}, hasNot: []string{"result.recorded", "receipt.recorded"},
			mended: func(s *stage) {
				s.cmd("ver-1", "receipt", "run", task).exits(cli.ExitState)
				s.git("rm", "-q", "--cached", ".github/workflows/ci.yml")
				s.git("commit", "-q", "--amend", "-m", "inside")
				must(s.t, os.RemoveAll(filepath.Join(s.repo, ".github")))
				s.cmd("impl-a", "result", "record", task, "--map", "*=A1").succeeds()
				s.cmd("ver-1", "receipt", "run", task).succeeds()
			},
		},
		{
			name:   "the author proves its own work",
			occurs: provesItself, code: cli.ExitRefused, hint: "separation",
			state: projections.AwaitingVerification, waits: events.RoleVerifier,
			has: []string{"result.recorded"}, hasNot: []string{"receipt.recorded", "approval.recorded"},
			mended: func(s *stage) {
				s.cmd("ver-1", "receipt", "run", task).succeeds()
				if got := s.state().State; got != projections.AwaitingReview {
					s.t.Errorf("an independent receipt led to %s", got)
				}
			},
		},
		{
			name:     "noise of the environment looks like a fault of the code",
			contract: needsService,
			occurs: func(s *stage) command {
				s.handsOver()
				return s.cmd("ver-1", "receipt", "run", task)
			}, code: cli.ExitPending, hint: "environment_failure",
			state: projections.AwaitingVerification, waits: events.RoleVerifier,
			has: []string{"receipt.recorded"}, hasNot: []string{"repair.requested"},
			mended: func(s *stage) {
				s.cmd("control-1", "repair", "request", task, "--item", "A1", "--reason", "it failed").exits(cli.ExitRefused)
				must(s.t, os.WriteFile(filepath.Join(s.world, "up"), nil, 0o600))
				s.cmd("ver-1", "receipt", "run", task).succeeds()
			},
		},
		{
			name:   "an interrupted deployment is to run again",
			occurs: deploysAgain, code: cli.ExitEffect, hint: "unknown",
			state: projections.Escalated, waits: events.RoleOwner,
			has: []string{"effect.dispatched", "recovery.decided"}, hasNot: []string{"effect.confirmed"},
			mended: func(s *stage) {
				s.cmd("owner", "effect", "settle", task, s.newest().Intent.Key, "--outcome", "confirmed", "--external-id", "id-1", "--evidence", "it is in the console").succeeds()
				s.cmd("owner", "escalation", "resolve", task, "--action", "resume", "--reason", "it is there").succeeds()
				s.work("impl-b")
				s.cmd("impl-b", s.effectArgs()...)
				if n := s.count("calls"); n != 1 {
					s.t.Errorf("%d deployments, want one", n)
				}
			},
		},
		{
			name:   "what is recorded leaks",
			occurs: leaks, code: cli.ExitSecret, hint: "result.recorded /summary",
			state: projections.Executing, waits: events.RoleImplementer,
			has: []string{"artifact.quarantined", "finding.recorded"}, hasNot: []string{"result.recorded"},
			mended: func(s *stage) {
				why := s.cmd("owner", "why", task).succeeds()
				if !strings.Contains(why.stdout, "names a customer") {
					s.t.Errorf("the owner is not told:\n%s", why.stdout)
				}
			},
		},
		{
			name:   "too much runs by itself",
			occurs: automatesTooMuch, code: cli.ExitRefused, hint: "policy/automation",
			state: projections.Executing, waits: events.RoleImplementer,
			hasNot: []string{"effect.intended"},
			mended: func(s *stage) { s.cmd("impl-a", s.effectArgs()...).succeeds() }, // a preview is a draft
		},
	}
}

// TestFailureModes lets each happen to a task of its own, and holds the ledger
// to its answer.
func TestFailureModes(t *testing.T) {
	for _, mode := range failureModes() {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			s := newStageOf(t, mode.contract)
			s.invite("ver-1", events.RoleVerifier)
			s.git("switch", "-qc", "work")
			sign := mode.occurs(s).exits(mode.code)
			if !strings.Contains(sign.stdout+sign.stderr, mode.hint) {
				t.Errorf("deed %v does not say %q:\n%s%s", sign.args, mode.hint, sign.stdout, sign.stderr)
			}
			if now := s.state(); now.State != mode.state || !slices.Contains(now.Waiting().Roles, mode.waits) {
				t.Errorf("%s, waits for %v; want %s, waiting for %s", now.State, now.Waiting().Roles, mode.state, mode.waits)
			}
			told := s.told()
			for _, name := range mode.has {
				if !slices.Contains(told, name) {
					t.Errorf("no %s in %v", name, told)
				}
			}
			for _, name := range mode.hasNot {
				if slices.Contains(told, name) {
					t.Errorf("%s in %v", name, told)
				}
			}
			mode.mended(s)
		})
	}
}

// told returns the short types of the task's events.
func (s *stage) told() []string {
	s.t.Helper()
	var list []string
	out := s.cmd("owner", "log", task, "-o", "json").succeeds()
	for line := range strings.Lines(out.stdout) {
		if _, rest, ok := strings.Cut(line, `"type":"dev.deed.`); ok {
			name, _, _ := strings.Cut(rest, `.v1"`)
			list = append(list, name)
		}
	}
	return list
}

// handsOver makes a change inside the boundary and records it as a result.
func (s *stage) handsOver() {
	s.t.Helper()
	s.work("impl-a")
	s.write("a.txt", "b\n")
	s.git("commit", "-qm", "a change")
	s.cmd("impl-a", "result", "record", task, "--map", "*=A1").succeeds()
}

func requirementDrifts(s *stage) command {
	s.work("impl-a")
	changed := s.contract()
	changed.Version, changed.Goal = 2, "publish something else"
	s.say("owner", changed, "", 0)
	s.accept()
	s.write("a.txt", "b\n")
	s.git("commit", "-qm", "for the old goal")
	noticed := s.cmd("impl-a", "result", "record", task, "--map", "*=A1")
	s.interrupt()
	s.cmd("control-1", "recover", task)
	return noticed
}

func crossesBoundary(s *stage) command {
	s.work("impl-a")
	must(s.t, os.MkdirAll(filepath.Join(s.repo, ".github", "workflows"), 0o700))
	s.write("a.txt", "b\n")
	s.write(".github/workflows/ci.yml", "on: push\n")
	s.git("commit", "-qm", "skip the checks")
	return s.cmd("impl-a", "result", "record", task, "--map", "*=A1")
}

func provesItself(s *stage) command {
	// The same person by another name, which has the role.
	key := s.newKey("twin")
	s.registry("owner", &events.Invitation{Actor: "twin", Kind: events.KindAgent, Principal: "p-impl-a", Roles: []events.Role{events.RoleVerifier}, TokenHash: events.Sum([]byte("twin")).String()})
	s.registry("twin", &events.KeyClaim{Actor: "twin", Key: key.Public().String(), Token: "twin"})
	s.handsOver()
	s.cmd("impl-a", "receipt", "run", task).exits(cli.ExitRefused)
	return s.cmd("twin", "receipt", "run", task)
}

// needsService adds a service that is down until the file "up" is there, and a
// check that needs it.
func needsService(s *stage, c *events.Contract) {
	up := filepath.Join(s.world, "up")
	c.Services = []events.Service{{Name: "database", Command: []string{"test", "-e", up}, TimeoutSeconds: 5}}
	c.Acceptance[0].Checks[0].Command = []string{"test", "-e", up}
}

func deploysAgain(s *stage) command {
	s.work("impl-a")
	s.mode("acted-error")
	must(s.t, os.WriteFile(filepath.Join(s.world, "blind"), nil, 0o600))
	s.cmd("impl-a", s.effectArgs()...).exits(cli.ExitEffect)
	s.interrupt()
	s.cmd("control-1", "recover", task)
	s.cmd("impl-b", "lease", "claim", task, "--purpose", "work").exits(cli.ExitState)
	return s.cmd("impl-a", s.effectArgs()...)
}

func leaks(s *stage) command {
	s.work("impl-a")
	file := filepath.Join(s.world, "transcript.txt")
	must(s.t, os.WriteFile(file, []byte("what a customer wrote\n"), 0o600))
	s.cmd("impl-a", "artifact", "put", file, task).succeeds()
	digest := events.Sum([]byte("what a customer wrote\n")).String()
	s.cmd("impl-b", "artifact", "get", digest).succeeds()
	// Whoever quarantines it is killed before the owner is told.
	s.say("ver-1", &events.Quarantine{Digest: digest, Reason: "it names a customer"}, s.state().Attempt().ID, 0)
	s.cmd("ver-1", "artifact", "quarantine", digest, task, "--reason", "it names a customer").succeeds()
	s.cmd("ver-1", "artifact", "quarantine", digest, task, "--reason", "it names a customer").exits(cli.ExitState)
	s.cmd("impl-b", "artifact", "get", digest).exits(cli.ExitRefused)
	s.write("a.txt", "b\n")
	s.git("commit", "-qm", "a change")
	return s.cmd("impl-a", "result", "record", task, "--map", "*=A1", "--summary", "used "+"ghp"+"_0123456789abcdefghijABCDEFGHIJ012345")
}

func automatesTooMuch(s *stage) command {
	policy := filepath.Join(s.world, "none.cedar")
	must(s.t, os.WriteFile(policy, nil, 0o600))
	s.work("impl-a")
	s.cmd("owner", "policy", "publish", policy, "--automation", "preview=draft", "--reason", "only drafts").succeeds()
	return s.cmd("impl-a", s.migrateArgs()...)
}
