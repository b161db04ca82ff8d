package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// script writes a program into the outside world and returns its path.
func (s *stage) script(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.world, name)
	must(s.t, os.WriteFile(path, []byte("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 1\n"+text), 0o700))
	return path
}

// lines returns the lines of a file of the outside world.
func (s *stage) lines(name string) []string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.world, name))
	must(s.t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// statuses returns what is known of each part of the task's only effect.
func (s *stage) statuses() (list []projections.Status) {
	s.t.Helper()
	for _, p := range s.state().Effects[0].Parts {
		list = append(list, p.Status)
	}
	return list
}

// TestOnlyWhatIsMissing: a call ended with an error after two of five parts
// were out. The same command again publishes the other three, and nothing that
// is out already.
func TestOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work("impl-a")
	act := s.script("publish", `echo "$DEED_EFFECT_PARTS" >> asked
for p in $DEED_EFFECT_PARTS; do
  [ "$p" = 3 ] && [ ! -e well ] && exit 22
  : > "out-$p"
done
`)
	probe := s.script("look", `if [ -e "out-$DEED_EFFECT_PART" ]; then
  printf '{"status":"found","externalId":"part-%s","digest":"%s"}' "$DEED_EFFECT_PART" "$DEED_PAYLOAD_DIGEST"
else
  printf '{"status":"absent","complete":true}'
fi
`)
	args := []string{"effect", "run", task, "--kind", "preview", "--target", "p", "--payload", strings.Repeat("a", 64), "--probe", probe,
		"--part", "1", "--part", "2", "--part", "3", "--part", "4", "--part", "5", "--", act}
	s.cmd("impl-a", args...).exits(cli.ExitEffect)
	if got, want := s.statuses(), []projections.Status{"confirmed", "confirmed", "failed", "failed", "failed"}; !slices.Equal(got, want) {
		t.Fatalf("parts %v, want %v", got, want)
	}
	must(t, os.WriteFile(filepath.Join(s.world, "well"), nil, 0o600))
	s.cmd("impl-a", args...).succeeds()
	s.cmd("impl-a", args...).succeeds()
	if got, want := s.lines("asked"), []string{"1 2 3 4 5", "3 4 5"}; !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
}

// TestAlreadyThere: the provider has something of that name. With our digest
// it is ours; with another it is somebody's; with none that can be read nobody
// knows, and neither of the last two is called again.
func TestAlreadyThere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work("impl-a")
	act := s.script("publish", "echo called >> calls\necho 'already exists' >&2\nexit 1\n")
	probe := s.script("look", `case "$DEED_EFFECT_PART" in
broken) printf '{"status":"found","externalId":"p-broken","digest":"sha256:zz"}' ;;
other) printf '{"status":"found","externalId":"p-other","digest":"`+strings.Repeat("b", 64)+`"}' ;;
same) printf '{"status":"found","externalId":"p-same","digest":"%s"}' "$DEED_PAYLOAD_DIGEST" ;;
unread) printf '{"status":"found","externalId":"p-unread"}' ;;
esac
`)
	args := []string{"effect", "run", task, "--kind", "preview", "--target", "p", "--payload", strings.Repeat("a", 64), "--probe", probe,
		"--part", "same", "--part", "other", "--part", "unread", "--part", "broken", "--", act}
	s.cmd("impl-a", args...).exits(cli.ExitEffect)
	want := []projections.Status{"unknown", "conflict", "confirmed", "unknown"} // in order of name
	if got := s.statuses(); !slices.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	for range 2 {
		s.cmd("impl-a", args...).exits(cli.ExitEffect)
	}
	if s.count("calls") != 1 || len(s.state().Effects[0].Tries) != 1 {
		t.Errorf("%d calls, %d tries", s.count("calls"), len(s.state().Effects[0].Tries))
	}
}

// TestSeenLate: the call succeeds and the provider shows nothing for a while.
// In between nothing is recorded as failed and nothing is called; the outcome
// says when the effect was seen first.
func TestSeenLate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work("impl-a")
	act := s.script("publish", "echo called >> calls\n")
	probe := s.script("look", `echo asked >> asked
if [ "$(wc -l < asked)" -gt 4 ]; then
  printf '{"status":"found","externalId":"late-1","token":"%s"}' "$DEED_TOKEN"
else
  printf '{"status":"absent"}'
fi
`)
	args := []string{"effect", "run", task, "--kind", "preview", "--target", "p", "--probe", probe, "--", act}
	s.cmd("impl-a", args...).exits(cli.ExitEffect)
	first := s.state()
	key := first.Effects[0].Intent.Key
	for range 3 {
		s.cmd("impl-a", args...).exits(cli.ExitEffect)
		s.cmd("control-1", "effect", "probe", task, key, "--allow-probe", "--record").exits(cli.ExitEffect)
	}
	if now := s.state(); now.Sequence != first.Sequence || now.Effects[0].Status() != projections.StatusUnknown || s.count("calls") != 1 {
		t.Fatalf("sequence %d after %d, effect %s, %d calls", now.Sequence, first.Sequence, now.Effects[0].Status(), s.count("calls"))
	}
	before := time.Now().Add(-time.Second)
	s.cmd("control-1", "effect", "probe", task, key, "--allow-probe", "--record").succeeds()
	s.cmd("impl-a", args...).succeeds()
	part := s.state().Effects[0].Parts[0]
	if part.Status != projections.StatusConfirmed || part.ExternalID != "late-1" || s.count("calls") != 1 {
		t.Errorf("part %+v, %d calls", part, s.count("calls"))
	}
	at := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).FindString(part.Evidence)
	if seen, err := events.ParseTime(at); err != nil || seen.Before(before) || seen.After(time.Now()) {
		t.Errorf("the evidence does not say when it was seen: %q, %v", part.Evidence, err)
	}
}

// TestReplyThenNothing: the call replied with an id, which counts; a provider
// that does not show it yet takes nothing back.
func TestReplyThenNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work("impl-a")
	probe := s.script("look", `printf '{"status":"absent"}'`+"\n")
	args := []string{"effect", "run", task, "--kind", "preview", "--target", "p", "--probe", probe, "--", filepath.Join(s.world, "act")}
	s.cmd("impl-a", args...).succeeds()
	key := s.state().Effects[0].Intent.Key
	for range 3 {
		s.cmd("control-1", "effect", "probe", task, key, "--allow-probe", "--record").exits(cli.ExitEffect)
		s.cmd("impl-a", args...).succeeds()
	}
	if part := s.state().Effects[0].Parts[0]; part.Status != projections.StatusConfirmed || s.count("calls") != 1 {
		t.Errorf("part %+v, %d calls", part, s.count("calls"))
	}
}

// TestAnswerToAnOlderCall: a provider that knows the key from a history that
// was purged answers with what it did then. That is no answer to this call.
func TestAnswerToAnOlderCall(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work("impl-a")
	act := s.script("dedupe", "echo called >> calls\nprintf '{\"externalId\":\"old-1\",\"token\":\"old\",\"digest\":\"\"}' > \"$DEED_RESULT_FILE\"\n")
	probe := s.script("look", `printf '{"status":"found","externalId":"old-1","token":"old"}'`+"\n")
	args := []string{"effect", "run", task, "--kind", "migrate", "--target", "p", "--probe", probe, "--", act}
	for range 3 {
		s.cmd("impl-a", args...).exits(cli.ExitEffect)
	}
	if got := s.effectStatus(); got != projections.StatusConflict || s.count("calls") != 1 {
		t.Errorf("effect %s after %d calls", got, s.count("calls"))
	}
}
