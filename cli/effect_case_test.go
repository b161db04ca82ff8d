package cli_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// migrateArgs are the arguments of an effect that migrates.
func (s *stage) migrateArgs(flags ...string) []string {
	args := append([]string{"-o", "json", "effect", "run", task, "--kind", "migrate", "--target", "preview", "--probe", filepath.Join(s.world, "probe")}, flags...)
	return append(args, "--", filepath.Join(s.world, "act"))
}

// TestEffectKeys: a key that is too coarse, or reused, answers
// nothing.
func TestEffectKeys(t *testing.T) {
	t.Run("another input is another effect", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.work("impl-a")
		one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
		s.cmd("impl-a", s.migrateArgs("--input", one)...).succeeds()
		s.cmd("impl-a", s.migrateArgs("--input", one)...).succeeds()
		if s.count("calls") != 1 {
			t.Errorf("%d calls for one input", s.count("calls"))
		}
		// The second input's call is made; its provider answers with an id that
		// belongs to the first, which confirms nothing.
		s.cmd("impl-a", s.migrateArgs("--input", two)...).exits(cli.ExitEffect)
		if s.count("calls") != 2 {
			t.Errorf("%d calls for two inputs", s.count("calls"))
		}
		if got := s.state().Effects[1].Status(); got != projections.StatusConflict {
			t.Errorf("the second effect is %s by the id of the first", got)
		}
	})
	t.Run("another payload under the same key is an error", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.work("impl-a")
		s.cmd("impl-a", s.migrateArgs("--effect-key", "migrate-7")...).succeeds()
		before := s.state().Effects[0]
		c := s.cmd("impl-a", s.migrateArgs("--effect-key", "migrate-7", "--target", "previex")...).exits(cli.ExitRefused)
		if !strings.Contains(c.stderr, before.Payload) || !strings.Contains(c.stderr, "another payload") {
			t.Errorf("the error does not show both digests: %s", c.stderr)
		}
		after := s.state().Effects
		if len(after) != 1 || after[0].Position != before.Position || len(after[0].Tries) != 1 || s.count("calls") != 1 {
			t.Errorf("%d effects, %d calls", len(after), s.count("calls"))
		}
	})
	t.Run("failed with proof may be tried again", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.work("impl-a")
		s.mode("error")
		s.cmd("impl-a", s.migrateArgs()...).exits(cli.ExitUnavailable)
		if got := s.effectStatus(); got != projections.StatusFailed {
			t.Fatalf("status %s", got)
		}
		s.mode("reply")
		s.cmd("impl-a", s.migrateArgs()...).succeeds()
		tries := s.state().Effects[0].Tries
		if len(tries) != 2 || tries[0].Token == tries[1].Token || s.count("calls") != 1 {
			t.Errorf("%d tries, %d calls", len(tries), s.count("calls"))
		}
	})
	t.Run("an exit status without proof is unknown", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.work("impl-a")
		s.mode("error")
		must(t, os.WriteFile(filepath.Join(s.world, "blind"), nil, 0o600))
		s.cmd("impl-a", s.migrateArgs()...).exits(cli.ExitEffect)
		if got := s.effectStatus(); got != projections.StatusUnknown {
			t.Fatalf("status %s", got)
		}
		s.mode("reply")
		s.cmd("impl-a", s.migrateArgs()...).exits(cli.ExitEffect)
		if s.count("calls") != 0 {
			t.Errorf("%d calls while unknown", s.count("calls"))
		}
	})
	t.Run("another occurrence is another effect", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.work("impl-a")
		s.cmd("impl-a", s.migrateArgs("--dry-run")...).succeeds()
		s.cmd("impl-a", s.migrateArgs("--occurrence", "1", "--dry-run")...).succeeds()
		if len(s.state().Effects) != 0 || s.count("calls") != 0 {
			t.Error("a dry run wrote or called")
		}
		s.cmd("impl-a", s.migrateArgs()...).succeeds()
		s.cmd("impl-a", s.migrateArgs("--occurrence", "1")...)
		if effects := s.state().Effects; len(effects) != 2 || effects[0].Intent.Key == effects[1].Intent.Key {
			t.Errorf("%d effects", len(effects))
		}
	})
}

// TestErrorYetItHappened is the first half of an ambiguous answer: the call ends with an
// error, yet it acted; a success that says nothing proves nothing by itself.
func TestErrorYetItHappened(t *testing.T) {
	for _, mode := range []string{"acted-error", "silent"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work("impl-a")
			s.mode(mode)
			s.cmd("impl-a", s.effectArgs()...).succeeds()
			if e := s.state().Effects[0]; e.Status() != projections.StatusConfirmed || e.Parts[0].Basis != events.BasisProbe || s.count("probes") != 1 {
				t.Errorf("%s by %s, %d probes", e.Status(), e.Parts[0].Basis, s.count("probes"))
			}
		})
	}
}

// TestParts is the second half of an ambiguous answer: parts that are out already are
// confirmed, one with other content is a person's, and nothing else is
// published before that.
func TestParts(t *testing.T) {
	s := newStage(t)
	payload := strings.Repeat("a", 64)
	probe := filepath.Join(s.world, "part-probe")
	must(t, os.WriteFile(probe, []byte(`#!/bin/sh
case "$DEED_EFFECT_PART" in
1|2) printf '{"status":"found","externalId":"part-%s","digest":"%s"}' "$DEED_EFFECT_PART" "$DEED_PAYLOAD_DIGEST" ;;
3) printf '{"status":"found","externalId":"part-3","digest":"`+strings.Repeat("b", 64)+`"}' ;;
*) printf '{"status":"absent","complete":true}' ;;
esac
`), 0o700))
	s.mode("error")
	args := []string{"effect", "run", task, "--kind", "preview", "--target", "p", "--payload", payload, "--probe", probe}
	for _, p := range []string{"5", "4", "3", "2", "1"} {
		args = append(args, "--part", p)
	}
	args = append(args, "--", filepath.Join(s.world, "act"))
	s.work("impl-a")
	s.cmd("impl-a", args...).exits(cli.ExitEffect)
	var got []projections.Status
	for _, p := range s.state().Effects[0].Parts {
		got = append(got, p.Status)
	}
	want := []projections.Status{"confirmed", "confirmed", "conflict", "failed", "failed"}
	if !slices.Equal(got, want) {
		t.Fatalf("parts %v, want %v", got, want)
	}
	s.cmd("impl-a", args...).exits(cli.ExitEffect)
	if tries := s.state().Effects[0].Tries; len(tries) != 1 {
		t.Fatalf("%d tries while a part is in conflict", len(tries))
	}
	key := s.state().Effects[0].Intent.Key
	s.cmd("owner", "effect", "settle", task, key, "--part", "3", "--outcome", "failed", "--evidence", "unpublished by hand").succeeds()
	s.cmd("impl-a", args...)
	if tries := s.state().Effects[0].Tries; len(tries) != 2 {
		t.Errorf("%d tries after a person settled the conflict", len(tries))
	}
}

// TestApprovalAndWithdrawal: a kind that the contract does not list waits for
// an approval, and a withdrawn effect stays withdrawn.
func TestApprovalAndWithdrawal(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	args := slices.Clone(s.effectArgs())
	args[slices.Index(args, "--kind")+1] = "notify"
	s.cmd("impl-a", args...).exits(cli.ExitPending)
	key := s.state().Effects[0].Intent.Key
	s.cmd("impl-a", "effect", "approve", task, key).exits(cli.ExitRefused)
	s.cmd("owner", "effect", "approve", task, key[:3]).exits(cli.ExitNotFound)
	s.cmd("owner", "effect", "approve", task, key[:8]).succeeds()
	s.cmd("impl-a", args...).succeeds()
	s.cmd("impl-a", "effect", "withdraw", task, key, "--reason", "late").exits(cli.ExitState)

	other := slices.Insert(slices.Clone(args), 3, "--occurrence", "2")
	s.cmd("impl-a", other...).exits(cli.ExitPending)
	second := s.state().Effects[1].Intent.Key
	s.cmd("impl-a", "effect", "withdraw", task, second, "--reason", "not needed").succeeds()
	s.cmd("impl-a", other...).exits(cli.ExitState)
	s.cmd("impl-b", "effect", "run", task, "--kind", "preview", "--target", "x", "--", "true").exits(cli.ExitRefused)
	s.cmd("impl-a", "effect", "run", task, "--kind", "merge", "--target", "main", "--", "true").exits(cli.ExitRefused)
	s.cmd("impl-a", "effect", "run", task, "--kind", "dance", "--target", "x", "--", "true").exits(cli.ExitUsage)
	s.cmd("impl-a", "effect", "run", task, "--kind", "preview", "--target", "x").exits(cli.ExitUsage)
	if s.count("calls") != 1 {
		t.Errorf("%d calls", s.count("calls"))
	}
}

// TestNothingIsCalledThatCannotStart: a command that does not exist is proven
// not to have acted.
func TestNothingIsCalledThatCannotStart(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.cmd("impl-a", "effect", "run", task, "--kind", "preview", "--target", "x", "--", filepath.Join(s.world, "missing")).exits(cli.ExitUnavailable)
	if e := s.state().Effects[0]; e.Status() != projections.StatusFailed || e.Parts[0].Basis != events.BasisReply {
		t.Errorf("%s by %s", e.Status(), e.Parts[0].Basis)
	}
}

// TestLateFacts: what a fenced-out run saw is recorded, also where it
// contradicts what everybody took for known; it lets that run do nothing.
func TestLateFacts(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.mode("error")
	s.cmd("impl-a", s.effectArgs()...).exits(cli.ExitUnavailable)
	fence := s.state().Fence
	s.interrupt()
	s.recovers("control-1")
	s.work("impl-b")
	late := func(try int64, token, id string) error {
		c := s.dial(s.local.URL())
		e := s.state().Effects[0]
		p := &events.Confirmation{Key: e.Intent.Key, Try: try, ExternalID: id, Token: token, Basis: events.BasisReply, Evidence: "the reply came late"}
		sealed, err := evidence.Seal(s.taskEvent("impl-a", p, e.Attempt, fence), s.keys["impl-a"])
		must(t, err)
		_, err = c.Submit(t.Context(), sealed, false)
		return err
	}
	first := s.state().Effects[0].Tries[0]
	refused := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*ledger.Refusal](err); !ok {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	refused("another token", late(1, "guess", "id-0"))
	refused("a try that never was", late(2, first.Token, "id-0"))
	s.mode("reply")
	s.cmd("impl-b", s.effectArgs()...).succeeds()
	must(t, late(1, first.Token, "id-0"))
	if e := s.state().Effects[0]; e.Status() != projections.StatusConflict || !e.Parts[0].Late {
		t.Errorf("status %s, late %v: two tries happened", e.Status(), e.Parts[0].Late)
	}
	refused("a conflict again", late(1, first.Token, "id-0"))
	s.cmd("impl-a", s.effectArgs()...).exits(cli.ExitEffect)
	if s.count("calls") != 1 {
		t.Errorf("%d calls", s.count("calls"))
	}
}

// TestListShowsWhatIsKnown checks the machine form of the list.
func TestListShowsWhatIsKnown(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.cmd("impl-a", s.effectArgs()...).succeeds()
	var items []struct {
		Status string          `json:"status"`
		Open   *bool           `json:"open"`
		Intent json.RawMessage `json:"intent"`
	}
	s.cmd("owner", "-o", "json", "effect", "list", task).succeeds().data(&items)
	if len(items) != 1 || items[0].Status != "confirmed" || items[0].Open == nil || *items[0].Open || items[0].Intent == nil {
		t.Errorf("items %+v", items)
	}
	text := s.cmd("owner", "effect", "list", task).succeeds().stdout
	if !strings.Contains(text, "id-1") || !strings.Contains(text, "confirmed") {
		t.Errorf("list %q", text)
	}
}
